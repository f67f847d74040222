"""Devices that fall ill, devices that others use, and machines without any."""

import json
import unittest

from moulin import Server, run_moulin, wait_for


class Devices(unittest.TestCase):
    def declare(self, server, uuid, what):
        folder = server.data / "simulated"
        folder.mkdir(exist_ok=True)
        beside = folder / f"{uuid}.new"
        beside.write_text(json.dumps(what))
        beside.rename(folder / f"{uuid}.json")

    def gpus(self, server):
        node = server.cli("node", "list", "--json").json["items"][0]
        return {gpu["uuid"]: gpu for gpu in node["gpus"]}

    def device_of(self, shown):
        return shown["placement"][0]["gpus"][0]["uuid"]

    def test_unhealthy_device_drains(self):
        with Server(simulate="2xH100-80GB") as server:
            program = "trap 'exit 0' TERM; while :; do sleep 0.05; done"
            workload = server.run("sh", "-c", program, options=["--gpu", "0.5"])
            ill = self.device_of(server.wait_for_state(workload, "running"))
            self.declare(server, ill, {"health": "unhealthy", "reason": "fan stopped"})
            moved = wait_for(lambda: (shown := server.show(workload))["state"] == "running"
                             and self.device_of(shown) != ill and shown, "the move", 15)
            self.assertEqual(moved["attempts"][0]["cause"], "unhealthy")
            self.assertEqual(moved["attempts"][0]["outcome"], "preempted")
            self.assertEqual(moved["retries"], 0)
            gpu = self.gpus(server)[ill]
            self.assertEqual(gpu["health"], "unhealthy")
            self.assertIn("fan stopped", gpu["health_reason"])
            self.assertEqual(gpu["holders"], [])
            self.assertEqual(server.cli("gpus", "--json").json["items"][0]["healthy"], 1)
            waits = server.run("true", options=["--gpu", "2"])
            self.assertEqual(server.state(waits), "waiting")
            (server.data / "simulated" / f"{ill}.json").unlink()
            server.cli("stop", workload)
            server.wait_for_state(waits, "succeeded")

    def test_fatal_xid_drains(self):
        with Server(simulate="1xH100-80GB") as server:
            uuid = next(iter(self.gpus(server)))
            self.declare(server, uuid, {"xids": [79]})
            gpu = wait_for(lambda: (gpu := self.gpus(server)[uuid])["health"] == "unhealthy" and gpu, "the verdict")
            self.assertIn("79", gpu["health_reason"])
            waits = server.run("true", options=["--gpu", "1"])
            why = server.cli("why", waits, "--json").json["reasons"]
            self.assertTrue(why, "it says why")
            self.assertEqual(server.state(waits), "waiting")
            server.cli("node", "forget-faults", server.cli("node", "list", "--json").json["items"][0]["name"], uuid)
            server.wait_for_state(waits, "succeeded")

    def test_foreign_process_is_shown_and_avoided(self):
        with Server(simulate="2xH100-80GB") as server:
            first = sorted(self.gpus(server))[0]
            self.declare(server, first, {"foreign": [{"pid": 4711, "name": "python", "memory": "70GiB"}]})
            gpu = wait_for(lambda: (gpu := self.gpus(server)[first])["foreign_processes"] and gpu, "the process")
            self.assertEqual((gpu["foreign_processes"], gpu["foreign_memory_bytes"]), (1, 70 << 30))
            self.assertEqual(gpu["health"], "healthy")
            workload = server.run("sleep", "60", options=["--gpu", "1"])
            self.assertNotEqual(self.device_of(server.wait_for_state(workload, "running")), first)

    def test_broken_declaration_is_said(self):
        with Server(simulate="1xH100-80GB") as server:
            uuid = next(iter(self.gpus(server)))
            self.declare(server, uuid, {"helth": "unhealthy"})
            gpu = wait_for(lambda: (gpu := self.gpus(server)[uuid])["health_reason"] and gpu, "the error")
            self.assertIn("helth", gpu["health_reason"])
            self.assertEqual(gpu["health"], "healthy")

    def test_drained_node_and_back(self):
        with Server(simulate="2x(1xH100-80GB)") as server:
            workload = server.run("sleep", "60", options=["--gpu", "1"])
            node = server.wait_for_state(workload, "running")["placement"][0]["node"]
            server.cli("node", "drain", node)
            moved = wait_for(lambda: (shown := server.show(workload))["state"] == "running"
                             and shown["placement"][0]["node"] != node and shown, "the move")
            self.assertEqual(moved["attempts"][0]["cause"], "drain")
            self.assertEqual(server.cli("node", "show", node, "--json").json["mode"], "draining")

    def test_no_gpu_at_all(self):
        with Server(simulate=None, env={"MOULIN_NVML_LIBRARY": "/nowhere/libnvidia-ml.so.1"}) as server:
            said = server.cli("gpus", "--json").json
            self.assertEqual((said["source"], said["items"]), ("none", []))
            self.assertTrue(said["note"])
            self.assertIn("GPU", server.log() + server.cli("doctor").out)
            self.assertEqual(server.cli("run", "--cpu", "1", "--memory", "64MiB", "--", "echo", "works").out, "works\n")
            answer = server.cli("run", "--gpu", "0.5", "--", "true", check=False)
            self.assertEqual(answer.code, 3, str(answer))
            self.assertIn("to do:", answer.err)

    def test_many_nodes(self):
        with Server(simulate="500x(8xH100-80GB)+1x(4xA100-40GB)") as server:
            items = {item["model"]: item for item in server.cli("gpus", "--json").json["items"]}
            self.assertEqual(items["H100-80GB"]["devices"], 4000)
            workload = server.run("sleep", "60", options=["--gpu", "4", "--gpu-model", "A100-40GB"])
            self.assertEqual(len(server.wait_for_state(workload, "running")["placement"][0]["gpus"]), 4)
            self.assertIn("simulated", run_moulin("gpus", env=server.client_environment).out)


if __name__ == "__main__":
    unittest.main()

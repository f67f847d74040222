"""`moulin up` on a driver library that plays a script: devices, their faults, who uses them."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from moulin import BINARY, Server, wait_for

LIBRARY = BINARY.parent / "tests/fake_nvml/libfake_nvml.so"
FIRST, SECOND = "GPU-aaaaaaaa-0000-0000-0000-000000000001", "GPU-aaaaaaaa-0000-0000-0000-000000000002"


class Driver:
    """The fake library in a folder of its own, with the script that it reads at every call."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="moulin-e2e-nvml-"))
        self.library = self.folder / "libnvidia-ml.so.1"
        shutil.copy(LIBRARY, self.library)
        self.play()

    def play(self, *more):
        lines = ["driver 570.86.15", "cuda 12080"]
        for index, uuid in enumerate((FIRST, SECOND)):
            lines += [f"device {index} uuid {uuid}", f"device {index} name NVIDIA H100 80GB HBM3",
                      f"device {index} memory 85520809984 0 1000000", f"device {index} pci 00000000:3{index}:00.0",
                      f"device {index} celsius 41"]
        beside = self.folder / "next"
        beside.write_text("\n".join([*lines, *more]) + "\n")
        beside.rename(f"{self.library}.script")

    def hang(self, function):
        """The line that lets this function wait for `release`; `entered` opens when it does."""
        self.prefix = self.folder / "hang"
        for step in ("entered", "release"):
            os.mkfifo(f"{self.prefix}.{step}")
        return f"hang {function} {self.prefix}"

    def meet(self, step):
        with open(f"{self.prefix}.{step}", "wb"):
            pass

    def end(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Nvml(unittest.TestCase):
    def setUp(self):
        self.driver = Driver()
        self.addCleanup(self.driver.end)

    def serve(self):
        return Server(simulate=None, env={"MOULIN_NVML_LIBRARY": str(self.driver.library)})

    def gpus(self, server):
        return {gpu["uuid"]: gpu for gpu in server.cli("node", "list", "--json").json["items"][0]["gpus"]}

    def device_of(self, shown):
        return shown["placement"][0]["gpus"][0]["uuid"]

    def test_devices_are_found_and_given(self):
        with self.serve() as server:
            said = server.cli("gpus", "--json").json
            self.assertEqual(said["source"], "driver")
            self.assertEqual([(item["model"], item["devices"]) for item in said["items"]], [("H100-80GB", 2)])
            self.assertEqual(set(self.gpus(server)), {FIRST, SECOND})
            seen = server.cli("run", "--gpu", "1", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES").out.strip()
            self.assertIn(seen, (FIRST, SECOND))

    def test_a_foreign_process_is_shown_and_our_own_is_none(self):
        foreign = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(foreign.wait)
        self.addCleanup(foreign.kill)
        with self.serve() as server:
            workload = server.run("sh", "-c", "echo pid $$; exec sleep 1000", options=["--gpu", "1"])
            ours = self.device_of(server.wait_for_state(workload, "running"))
            other = SECOND if ours == FIRST else FIRST
            # A program in a PID namespace knows itself by another number than the driver does.
            own = next(pid for pid in server.processes()
                       if Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x001000\x00")
            self.driver.play(f"device {[FIRST, SECOND].index(ours)} compute {own} 1000000",
                             f"device {[FIRST, SECOND].index(other)} compute {foreign.pid} 2000000")
            shown = wait_for(lambda: (gpu := self.gpus(server)[other])["foreign_processes"] and gpu, "the process")
            self.assertEqual((shown["foreign_processes"], shown["foreign_memory_bytes"]), (1, 2000000))
            self.assertEqual(self.gpus(server)[ours]["foreign_processes"], 0)
            # The device of the stranger is avoided.
            waits = server.run("true", options=["--gpu", "1"])
            self.assertEqual(server.state(waits), "waiting")
            self.driver.play()
            server.wait_for_state(waits, "succeeded")

    def test_a_fatal_xid_moves_what_runs_on_the_device(self):
        with self.serve() as server:
            program = "trap 'exit 0' TERM; while :; do sleep 0.05; done"
            workload = server.run("sh", "-c", program, options=["--gpu", "1"])
            ill = self.device_of(server.wait_for_state(workload, "running"))
            self.driver.play(f"device {[FIRST, SECOND].index(ill)} xid 79")
            moved = wait_for(lambda: (shown := server.show(workload))["state"] == "running"
                             and self.device_of(shown) != ill and shown, "the move", 30)
            self.assertEqual(moved["attempts"][0]["cause"], "unhealthy")
            self.assertIn("79", self.gpus(server)[ill]["health_reason"])
            # It is remembered over a restart of the server, until somebody says that it was mended.
            self.driver.play()
            server.restart()
            self.assertEqual(self.gpus(server)[ill]["health"], "unhealthy")

    def test_a_driver_that_hangs_holds_up_nobody(self):
        with self.serve() as server:
            self.driver.play(self.driver.hang("nvmlDeviceGetPowerUsage"))
            self.driver.meet("entered")
            self.assertEqual(server.cli("run", "--cpu", "1", "--memory", "64MiB", "--", "echo", "works").out, "works\n")
            self.assertEqual(set(self.gpus(server)), {FIRST, SECOND})
            self.driver.play()
            self.driver.meet("release")


if __name__ == "__main__":
    unittest.main()

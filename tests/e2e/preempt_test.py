"""Giving way and coming back: preemption, checkpoints, why, gangs, retries, limits, keys."""

import json
import unittest

from moulin import ROOT, Server, wait_for

# Counts to a number; saves where it is when it is asked to end, and goes on from there.
TRAINING = """
import os, signal, sys, time
path, total, ask = os.environ["MOULIN_CHECKPOINT_FILE"], int(sys.argv[1]), []
step = int(open(path).read()) if os.path.exists(path) else 0
print("from", step, flush=True)
signal.signal(signal.SIGTERM, lambda *_: ask.append(open(os.environ["MOULIN_FLAG_FILE"]).read()))
def save():
    with open(path + ".new", "w") as file:
        file.write(str(step))
    os.replace(path + ".new", path)
while step < total:
    time.sleep(0.02)
    step += 1
    if ask:
        save()
        print("saved", step, ask[0], flush=True)
        sys.exit(0)
save()
print("done", step, flush=True)
"""


class Preemption(unittest.TestCase):
    simulate = "2xH100-80GB"

    def setUp(self):
        server = Server(simulate=self.simulate)
        self.addCleanup(server.end)
        self.server = server.start()

    def train(self, steps, *options):
        program = self.server.folder / "train.py"
        program.write_text(TRAINING)
        return self.server.run("python3", program, steps, options=options)

    def wait_for_line(self, workload, text):
        return wait_for(lambda: text in self.server.cli("logs", workload, check=False).out, f"{text} of {workload}")

    def test_batch_gives_way_and_resumes(self):
        batch = self.train("60", "--gpu", "2", "--class", "batch", "--checkpoint", "ckpt")
        self.wait_for_line(batch, "from 0")
        production = self.server.run("sleep", "0.7", options=["--gpu", "2", "--class", "production"])
        self.server.wait_for_state(production, "running")
        waiting = self.server.show(batch)
        self.assertEqual((waiting["state"], waiting["preemptions"]), ("waiting", 1))
        self.assertTrue(waiting["reasons"])
        first = waiting["attempts"][0]
        self.assertEqual((first["outcome"], first["cause"]), ("preempted", "higher_class"))
        self.assertEqual(first["evicted_for"], production)
        self.assertIsNotNone(first["checkpointed"])
        self.assertLessEqual(first["lost_gpu_seconds"], first["held_gpu_seconds"])
        ended = self.server.wait_for_state(batch, "succeeded")
        self.assertEqual(len(ended["attempts"]), 2)
        self.assertEqual((ended["retries"], ended["preemptions"]), (0, 1))
        first = self.server.cli("logs", batch, "--attempt", "1").out.splitlines()
        self.assertTrue(first[1].startswith("saved "), first)
        flag = json.loads(first[1].split(" ", 2)[2])
        self.assertEqual(flag["reason"], "preempt")
        self.assertGreater(flag["grace_seconds"], 0)
        second = self.server.cli("logs", batch, "--attempt", "2").out.splitlines()
        self.assertEqual(second, [f"from {first[1].split()[1]}", "done 60"])
        self.assertEqual(self.server.state(production), "succeeded")

    def test_file_that_nobody_declared_survives_attempts(self):
        batch = self.train("40", "--gpu", "2", "--class", "batch")
        self.wait_for_line(batch, "from 0")
        self.server.run("true", options=["--gpu", "2", "--class", "production"])
        self.server.wait_for_state(batch, "succeeded")
        saved = self.server.cli("logs", batch, "--attempt", "1").out.splitlines()[1].split()[1]
        second = self.server.cli("logs", batch, "--attempt", "2").out.splitlines()
        self.assertEqual(second, [f"from {saved}", "done 40"])

    def test_loss_without_checkpoint_is_written_down(self):
        batch = self.server.run("sh", "-c", "[ $MOULIN_ATTEMPT = 2 ] && exit 0; sleep 60",
                                options=["--gpu", "2", "--class", "batch"])
        self.server.wait_for_state(batch, "running")
        production = self.server.run("true", options=["--gpu", "1", "--class", "production"])
        ended = self.server.wait_for_state(batch, "succeeded")
        self.server.wait_for_state(production, "succeeded")
        first = ended["attempts"][0]
        self.assertGreater(first["lost_gpu_seconds"], 0)
        self.assertEqual(first["lost_gpu_seconds"], first["held_gpu_seconds"])
        self.assertEqual(ended["usage"]["lost_gpu_seconds"], first["lost_gpu_seconds"])

    def test_production_is_never_preempted(self):
        production = self.server.run("sleep", "60", options=["--gpu", "2", "--class", "production"])
        self.server.wait_for_state(production, "running")
        other = self.server.run("true", options=["--gpu", "1", "--class", "production"])
        self.assertTrue(self.server.cli("why", other, "--json").json["reasons"])
        self.assertEqual(self.server.state(other), "waiting")
        self.assertEqual(self.server.state(production), "running")

    def test_program_that_ignores_the_signal_is_ended(self):
        program = "[ $MOULIN_ATTEMPT = 2 ] && exit 0; trap '' TERM; while :; do sleep 1; done"
        stubborn = self.server.run("sh", "-c", program,
                                   options=["--gpu", "2", "--class", "batch", "--grace", "1s"])
        self.server.wait_for_state(stubborn, "running")
        self.server.run("true", options=["--gpu", "2", "--class", "production"])
        ended = self.server.wait_for_state(stubborn, "succeeded")
        self.assertEqual(ended["attempts"][0]["outcome"], "preempted")
        self.assertEqual(ended["attempts"][0]["replicas"][0]["exit"]["signal"], 9)

    def test_done_file_makes_it_a_success(self):
        program = "trap 'touch $MOULIN_DONE_FILE; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
        batch = self.server.run("sh", "-c", program, options=["--gpu", "2", "--class", "batch"])
        self.wait_for_line(batch, "ready")
        self.server.run("true", options=["--gpu", "2", "--class", "production"])
        self.assertEqual(len(self.server.wait_for_state(batch, "succeeded")["attempts"]), 1)


class Why(unittest.TestCase):
    """`why` names the rules that block, and its smallest change holds."""

    def setUp(self):
        server = Server(simulate="2xH100-80GB")
        self.addCleanup(server.end)
        self.server = server.start()

    def why(self, workload):
        return self.server.cli("why", workload, "--json").json

    def test_smallest_share_starts_it(self):
        holder = self.server.run("sleep", "60", options=["--gpu", "2x0.7", "--class", "production"])
        self.server.wait_for_state(holder, "running")
        workload = self.server.run("sleep", "60", options=["--gpu", "0.5"])
        why = self.why(workload)
        reason = why["reasons"][0]
        self.assertEqual(reason["code"], "fragmented")
        self.assertEqual((reason["numbers"]["free_milli"], reason["numbers"]["largest_milli"]), (600, 300))
        change = next(change for change in why["changes"] if change["dimension"] == "share")
        self.assertEqual((change["from"], change["to"], change["starts_now"]), (500, 300, True))
        again = self.server.cli("run", "--detach", "--json", "--like", workload, "--replace", "--gpu",
                                change["to"] / 1000).json["id"]
        self.server.wait_for_state(again, "running")
        self.server.wait_for_state(workload, "stopped")
        more = self.server.cli("run", "--dry-run", "--json", "--gpu", "0.301", "--", "true").json["workloads"][0]
        self.assertFalse(more["starts_now"], "a thousandth more would not have done")

    def test_smallest_quota_starts_it(self):
        self.server.cli("project", "create", "small", "--limit", "0.2")
        first = self.server.run("sleep", "60", options=["--gpu", "0.2", "--project", "small"])
        self.server.wait_for_state(first, "running")
        second = self.server.run("sleep", "60", options=["--gpu", "0.1", "--project", "small"])
        why = self.why(second)
        self.assertEqual(why["reasons"][0]["code"], "project_limit")
        self.assertEqual(why["reasons"][0]["numbers"], {"bound": 200, "held": 200, "needed": 100})
        change = next(change for change in why["changes"] if change["dimension"] == "quota")
        self.assertEqual((change["to"], change["at"], change["starts_now"]), (300, "small", True))
        self.server.cli("project", "quota", "small", "--limit", change["to"] / 1000)
        self.server.wait_for_state(second, "running")

    def test_class_is_a_change(self):
        holder = self.server.run("sleep", "60", options=["--gpu", "2", "--class", "batch"])
        self.server.wait_for_state(holder, "running")
        workload = self.server.run("sleep", "60", options=["--gpu", "2", "--class", "batch"])
        change = next(change for change in self.why(workload)["changes"] if change["dimension"] == "class")
        again = self.server.run("sleep", "60", options=["--gpu", "2", "--class", change["to"]])
        self.server.wait_for_state(again, "running")

    def test_text_for_people(self):
        holder = self.server.run("sleep", "60", options=["--gpu", "2", "--class", "production"])
        self.server.wait_for_state(holder, "running")
        workload = self.server.run("true", options=["--gpu", "2", "--name", "patient"])
        answer = self.server.cli("why", "patient").out
        self.assertIn("no_capacity", answer)
        self.assertIn(workload, answer)
        self.server.cli("stop", holder)
        self.server.wait_for_state(workload, "succeeded")
        self.assertEqual(self.why(workload)["reasons"], [])


class Gang(unittest.TestCase):
    def test_four_that_talk(self):
        with Server(simulate="4xH100-80GB") as server:
            workload = server.run("python3", ROOT / "examples/gang/gang.py", "--steps", "20", "--pace", "0.01",
                                  options=["--gpu", "0.5", "--replicas", "4"])
            ended = server.wait_for_state(workload, "succeeded", timeout=40)
            self.assertEqual(len(ended["attempts"][0]["replicas"]), 4)
            self.assertTrue(server.cli("logs", workload).out.strip())

    def test_rendezvous_and_whole_start(self):
        with Server(simulate="4xH100-80GB") as server:
            blocker = server.run("sleep", "60", options=["--gpu", "2", "--class", "production"])
            server.wait_for_state(blocker, "running")
            gang = server.run("sh", "-c", "echo $RANK $WORLD_SIZE $MASTER_ADDR $LOCAL_RANK",
                              options=["--gpu", "1", "--replicas", "3"])
            reasons = server.cli("why", gang, "--json").json["reasons"]
            short = next(reason for reason in reasons if reason["code"] == "gang_short")
            self.assertEqual(short["numbers"], {"fitting": 2, "needed": 3})
            self.assertEqual(server.show(gang)["attempts"], [], "no member starts alone")
            server.cli("stop", blocker)
            server.wait_for_state(gang, "succeeded")
            lines = sorted(server.cli("logs", gang, "--json").out.splitlines())
            words = sorted(json.loads(line)["text"] for line in lines if '"text"' in line)
            self.assertEqual([word.split()[:2] for word in words], [["0", "3"], ["1", "3"], ["2", "3"]])

    def test_one_that_fails_ends_all(self):
        with Server(simulate="4xH100-80GB") as server:
            gang = server.run("sh", "-c", "[ $RANK = 1 ] && exit 7; sleep 60",
                              options=["--gpu", "1", "--replicas", "3", "--grace", "1s"])
            ended = server.wait_for_state(gang, "failed")
            codes = {replica["replica"]: replica["exit"]["code"] for replica in ended["attempts"][0]["replicas"]}
            self.assertEqual(codes[1], 7)
            self.assertEqual(server.show(gang)["placement"], [])


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(simulate="2xH100-80GB")
        cls.addClassCleanup(cls.server.end)
        cls.server.start()

    def submit(self, key=None, **workload):
        headers = {"Idempotency-Key": key} if key else {}
        return self.server.api("POST", "/workloads", {"workloads": [workload]}, headers=headers)

    def test_retry_with_back_off(self):
        status, answer = self.submit(run="echo try $MOULIN_ATTEMPT; [ $MOULIN_ATTEMPT = 3 ]",
                                     retry={"on": ["failed"], "max": 3, "back_off": "200ms"})
        self.assertEqual(status, 201, answer)
        workload = answer["ids"][0]
        ended = self.server.wait_for_state(workload, "succeeded")
        self.assertEqual([attempt["outcome"] for attempt in ended["attempts"]], ["failed", "failed", "succeeded"])
        self.assertEqual(ended["retries"], 2)
        self.assertGreater(ended["attempts"][1]["created"], ended["attempts"][0]["ended"])

    def test_retries_end(self):
        _, answer = self.submit(run="exit 9", retry={"on": ["failed"], "max": 1, "back_off": "0s"})
        ended = self.server.wait_for_state(answer["ids"][0], "failed")
        self.assertEqual(len(ended["attempts"]), 2)

    def test_why_during_back_off(self):
        _, answer = self.submit(run="exit 9", retry={"on": ["failed"], "max": 1, "back_off": "1h"})
        workload = answer["ids"][0]
        waiting = self.server.wait_for_state(workload, "waiting")
        waiting = wait_for(lambda: (shown := self.server.show(workload))["attempts"] and shown["state"] == "waiting"
                           and shown, "the back-off")
        self.assertIsNotNone(waiting["eligible_from"])
        why = self.server.cli("why", workload, "--json").json
        self.assertEqual(why["reasons"][0]["code"], "back_off")
        self.server.cli("stop", workload)
        self.server.wait_for_state(workload, "stopped")

    def test_duration_limit(self):
        workload = self.server.run("sleep", "60", options=["--duration", "1s", "--grace", "1s"])
        ended = self.server.wait_for_state(workload, "failed", "stopped")
        self.assertEqual(ended["attempts"][0]["cause"], "limit")
        self.assertLess(ended["usage"]["running_seconds"], 10)

    def test_idempotency_key(self):
        status, first = self.submit(key="k-1", run="true", name="once")
        self.assertEqual(status, 201)
        status, second = self.submit(key="k-1", run="true", name="once")
        self.assertEqual((status, second["ids"]), (201, first["ids"]))
        status, problem = self.submit(key="k-1", run="false", name="once")
        self.assertEqual((status, problem["title"]), (409, "conflict"))
        self.server.restart()
        self.assertEqual(self.submit(key="k-1", run="true", name="once")[1]["ids"], first["ids"])


if __name__ == "__main__":
    unittest.main()

"""`moulin up --engine virtual`: everything real but the processes."""

import unittest

from moulin import Server, run_moulin, wait_for

VIRTUAL = ("--engine", "virtual")


class VirtualEngineTest(unittest.TestCase):
    def test_hundreds_of_workloads_run_on_thousands_of_devices_without_a_process(self):
        with Server(simulate="500x(8xH100-80GB)", options=VIRTUAL) as server:
            options = ("--detach", "--json", "--gpu", "8", "--array", "0-399")
            ids = server.cli("run", *options, "--", "sleep", "1").json["ids"]
            self.assertEqual(len(ids), 400)
            states = lambda: {server.state(workload) for workload in ids[::40]}
            wait_for(lambda: states() == {"succeeded"}, "all have slept")
            self.assertEqual(server.processes(), [])

    def test_a_workload_says_how_it_ends_and_can_be_stopped(self):
        with Server(options=VIRTUAL) as server:
            fails = server.run("train", options=("--env", "VIRTUAL_DURATION=1s", "--env", "VIRTUAL_EXIT=3"))
            ended = server.wait_for_state(fails, "failed")
            self.assertEqual(ended["attempts"][-1]["replicas"][0]["exit"]["code"], 3)
            wrong = server.run("train", options=("--env", "VIRTUAL_DURATION=soon"))
            said = str(server.wait_for_state(wrong, "failed")["attempts"][-1])
            self.assertIn("VIRTUAL_DURATION", said)
            forever = server.run("train", options=("--env", "VIRTUAL_DURATION=1000h"))
            server.wait_for_state(forever, "running")
            server.cli("stop", forever)
            server.wait_for_state(forever, "stopped")

    def test_what_ran_is_lost_with_the_server_and_runs_again(self):
        with Server(options=VIRTUAL) as server:
            workload = server.run("sleep", "2")
            server.wait_for_state(workload, "running")
            server.restart()
            again = server.wait_for_state(workload, "succeeded")
            self.assertEqual([attempt["outcome"] for attempt in again["attempts"]], ["node_lost", "succeeded"])

    def test_it_needs_simulated_devices_and_a_name_that_exists(self):
        for options, part in (((*VIRTUAL,), "--simulate"), (("--engine", "kubernetes"), "local or virtual")):
            answer = run_moulin("up", *options)
            self.assertEqual(answer.code, 2, str(answer))
            self.assertIn(part, answer.err)


if __name__ == "__main__":
    unittest.main()

"""The API as a whole: its document, its figures, and requests that nobody would think of."""

import re
import subprocess
import unittest
from pathlib import Path

import outside_tools
from contract import DOCUMENT
from moulin import LONG, Server, run_moulin, wait_for

# Endless by design, or the end of the server that is under test; tests of their own know them.
NOT_FUZZED = ("stream_events", "stop_server")
# They take the caller's own token away, so they come last.
FUZZED_LAST = ("revoke_token", "remove_user")
EXAMPLES = 200 if LONG else 15
CONFIG = Path(__file__).resolve().parent / "schemathesis.toml"


class Metrics(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.end)
        self.server.start()

    def read(self):
        status, text = self.server.request("GET", "/metrics")
        self.assertEqual(status, 200)
        return text

    def test_promtool_has_no_complaint(self):
        promtool = outside_tools.promtool()
        self.server.run("sleep", "60", options=("--gpu", "4"))
        self.server.run("sleep", "60", options=("--gpu", "8"))
        self.server.api("GET", "/workloads/w-0000000000000")
        checked = subprocess.run([promtool, "check", "metrics"], input=self.read(), text=True, capture_output=True,
                                 check=False, timeout=20)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))

    def figure(self, sample):
        for line in self.read().split("\n"):
            if line.startswith(sample + " "):
                return float(line.split()[-1])
        return None

    def test_figures_follow_what_happens(self):
        running = self.server.run("sleep", "60", options=("--gpu", "4.0"))
        self.server.wait_for_state(running, "running")
        self.server.run("sleep", "60", options=("--gpu", "8"))
        wait_for(lambda: self.figure('moulin_queue_workloads{reason="no_capacity"}') == 1, "the queue has a reason")
        self.assertEqual(self.figure('moulin_workloads{state="running"}'), 1)
        self.assertEqual(self.figure('moulin_gpus{state="held"}'), 4)
        self.assertEqual(self.figure('moulin_gpus{state="free"}'), 4)
        self.assertEqual(self.figure('moulin_http_requests_total{route="POST /api/v1/workloads",status="201"}'), 2)
        self.assertEqual(self.figure("moulin_writable"), 1)
        self.assertGreater(self.figure("moulin_journal_records_total"), 5)
        self.assertEqual(self.server.request("GET", "/nowhere")[0], 404)
        self.assertEqual(self.figure('moulin_http_requests_total{route="none",status="404"}'), 1)

    def test_names_of_users_and_projects_are_no_labels(self):
        def samples():
            return {re.sub(r" \S+$", "", line) for line in self.read().split("\n") if line and line[0] != "#"}

        def use():
            for number in range(10):
                name = f"some-{use.round}-{number}"
                self.assertEqual(self.server.api("POST", "/projects", {"name": name})[0], 201)
                self.assertEqual(self.server.api("POST", "/users", {"name": name})[0], 201)
            use.round += 1

        use.round = 0
        use()
        samples()
        before = samples()
        use()
        self.assertEqual(samples(), before)


class BehindAProxy(unittest.TestCase):
    def test_further_names_and_a_base_path(self):
        with Server(options=("--host", "GPU.example.org", "--base-path", "/moulin/")) as server:
            self.assertTrue(server.url.endswith("/moulin"), server.url)

            def status(method="GET", **headers):
                named = {name.replace("_", "-"): value for name, value in headers.items()}
                return server.api(method, "/whoami" if method == "GET" else "/projects", {"name": "made"}
                                  if method == "POST" else None, headers=named)[0]

            self.assertEqual(status(), 200)
            self.assertEqual(status(Host="gpu.example.org"), 200)
            self.assertEqual(status(Host="evil.example.org"), 403)
            self.assertEqual(status("POST", Host="gpu.example.org", Origin="https://evil.example.org"), 403)
            self.assertEqual(status("POST", Host="gpu.example.org", Origin="https://gpu.example.org"), 201)
            self.assertEqual(status(X_Forwarded_Prefix="/elsewhere"), 200)
            server.url = server.url.removesuffix("/moulin")
            self.assertEqual(status(), 404)
            socket = {"MOULIN_URL": f"unix:{server.data}/moulin.sock"}
            self.assertEqual(server.cli("whoami", "--json", env=socket).json["user"], "admin")

    def test_what_is_no_name_and_no_path(self):
        wrong = (("--host", "a b"), ("--host", "gpu:80"), ("--base-path", "/a?b"), ("--base-path", "/../a"))
        for option, value in wrong:
            answer = run_moulin("up", option, value, "--data", "/nonexistent/data")
            self.assertEqual(answer.code, 2, answer)
            self.assertIn(option, answer.err)


class Fuzzed(unittest.TestCase):
    timeout = 900

    def test_schemathesis_finds_no_answer_that_the_document_does_not_have(self):
        outside_tools.schemathesis()
        with Server() as server:
            self.fuzz(server, "--exclude-operation-id", NOT_FUZZED + FUZZED_LAST)
            self.assertEqual(server.api("GET", "/server")[0], 200)
            self.fuzz(server, "--include-operation-id", FUZZED_LAST)

    def fuzz(self, server, choose, operations):
        command = [outside_tools.schemathesis(), "--config-file", CONFIG, "run", DOCUMENT, "--url", server.url,
                   "--no-color", "--header", f"Authorization: Bearer {server.token}",
                   "--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES), "--seed", "7",
                   "--request-timeout", "20", "--continue-on-failure",
                   # A workload file has rules that no schema states.
                   "--exclude-checks", "positive_data_acceptance"]
        for operation in operations:
            command += [choose, operation]
        done = subprocess.run(command, cwd=server.folder, capture_output=True, text=True, check=False, timeout=850)
        found = done.stdout.find("= FAILURES =")
        self.assertEqual(done.returncode, 0, done.stdout[max(found, 0):][:12000] + done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()

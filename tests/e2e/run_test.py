"""The command line and the API as users' scripts rely on them: words, shapes, exit statuses."""

import json
import os
import signal
import unittest
from pathlib import Path

from moulin import Server, run_moulin, wait_for


class Shared(unittest.TestCase):
    """One server for all tests of a class; they use little of it and clean up behind themselves."""

    simulate = "8xH100-80GB"

    @classmethod
    def setUpClass(cls):
        cls.server = Server(simulate=cls.simulate)
        cls.addClassCleanup(cls.server.end)
        cls.server.start()

    def has(self, document, *fields):
        for field in fields:
            self.assertIn(field, document)


class Finding(unittest.TestCase):
    """How a client finds the server, and what happens without a token."""

    def test_up_prints_one_line_of_json(self):
        with Server() as server:
            self.assertRegex(server.url, r"^http://127\.0\.0\.1:\d+$")
            token_file = Path(server.token_file)
            self.assertEqual(token_file.stat().st_mode & 0o777, 0o600)
            self.assertEqual(server.data.stat().st_mode & 0o066, 0)
            for file in server.data.iterdir():  # others may pass through, and read nothing
                self.assertEqual(file.stat().st_mode & 0o066, 0, file)
            self.assertGreater(len(server.token), 20)

    def test_environment_and_default_socket(self):
        with Server() as server:
            def whoami(env):
                return run_moulin("whoami", "--json", env=env)

            self.assertEqual(whoami({"MOULIN_URL": server.url, "MOULIN_TOKEN": server.token}).json["user"], "admin")
            file = whoami({"MOULIN_URL": server.url, "MOULIN_TOKEN_FILE": str(server.token_file)})
            self.assertEqual(file.json["user"], "admin")
            self.assertEqual(whoami({"MOULIN_DATA": str(server.data)}).json["user"], "admin")
            self.assertEqual(whoami({"MOULIN_URL": server.url}).code, 5, "no token for a server that was named")
            self.assertEqual(whoami({"MOULIN_URL": server.url, "MOULIN_TOKEN": "wrong"}).code, 5)
            nobody = whoami({"MOULIN_DATA": str(server.folder / "other")})
            self.assertEqual(nobody.code, 6)
            self.assertIn("moulin up", nobody.err)

    def test_no_token_is_401(self):
        with Server() as server:
            for path in ("/workloads", "/projects", "/nodes", "/server", "/whoami"):
                status, problem = server.api("GET", path, token="")
                self.assertEqual((status, problem["title"]), (401, "unauthenticated"), path)
                self.assertTrue(problem["to_do"], path)
            self.assertEqual(server.api("POST", "/workloads", {"workloads": [{"run": "true"}]}, token="")[0], 401)
            self.assertEqual(server.api("GET", "/../../healthz", token="")[0] in (400, 401, 404), True)

    def test_down_leaves_workloads_running(self):
        with Server() as server:
            workload = server.run("sh", "-c", "sleep 1.5; exit 4")
            server.wait_for_state(workload, "running")
            server.cli("down")
            self.assertEqual(server.process.wait(20), 0)
            server.start()
            ended = server.wait_for_state(workload, "failed")
            self.assertEqual(len(ended["attempts"]), 1)
            self.assertEqual(ended["attempts"][0]["replicas"][0]["exit"]["code"], 4)
            self.assertEqual(server.stop(), 0)


class Run(Shared):
    def test_detach_json(self):
        answer = self.server.cli("run", "--detach", "--json", "--gpu", "0.25", "--", "true")
        self.assertEqual(len(answer.out.strip().splitlines()), 1)
        self.has(answer.json, "id")
        array = self.server.cli("run", "--detach", "--json", "--array", "0-2", "--", "sh", "-c",
                                "echo element $MOULIN_ARRAY_INDEX")
        self.assertEqual(len(set(array.json["ids"])), 3)
        for index, workload in enumerate(array.json["ids"]):
            self.server.wait_for_state(workload, "succeeded")
            self.assertEqual(self.server.cli("logs", workload).out, f"element {index}\n")

    def test_exit_status_is_that_of_the_command(self):
        for code in (0, 3, 200):
            self.assertEqual(self.server.cli("run", "--", "sh", "-c", f"exit {code}", check=False).code, code)
        self.assertEqual(self.server.cli("run", "--", "sh", "-c", "kill -9 $$", check=False).code, 128 + 9)

    def test_output_is_that_of_the_command(self):
        answer = self.server.cli("run", "--", "sh", "-c", "echo out; echo err >&2")
        self.assertEqual(answer.out, "out\n")
        self.assertIn("err\n", answer.err)

    def test_ps_says_how_it_failed(self):
        workload = self.server.run("sh", "-c", "exit 7", options=["--name", "fails"])
        self.server.wait_for_state(workload, "failed")
        self.assertRegex(self.server.cli("ps", "-a").out, r"fails .* failed .* exit code 7\n")
        item = next(w for w in self.server.cli("ps", "-a", "--json").json["items"] if w["id"] == workload)
        self.assertEqual(item["exit"]["code"], 7)

    def test_no_shell_sees_the_command(self):
        answer = self.server.cli("run", "--", "echo", "$HOME", "a  b", "*", ";", "false")
        self.assertEqual(answer.out, "$HOME a  b * ; false\n")

    def test_environment_of_a_program(self):
        answer = self.server.cli("run", "--gpu", "2x0.5", "--cpu", "2", "--env", "LR=1e-4", "--name", "look", "--",
                                 "sh", "-c", "env; pwd")
        lines = dict(line.split("=", 1) for line in answer.out.splitlines() if "=" in line)
        self.assertEqual(lines["LR"], "1e-4")
        self.assertEqual(lines["MOULIN_WORKLOAD_NAME"], "look")
        self.assertEqual(lines["MOULIN_PROJECT"], "default")
        self.assertEqual(lines["MOULIN_ATTEMPT"], "1")
        self.assertEqual(lines["MOULIN_GPU_SHARES"], "500,500")
        self.assertEqual(len(lines["CUDA_VISIBLE_DEVICES"].split(",")), 2)
        self.assertEqual(lines["OMP_NUM_THREADS"], "2")
        self.assertIn(str(self.server.folder), answer.out.splitlines())

    def test_name_and_prefix_stand_for_the_id(self):
        workload = self.server.run("sleep", "60", options=["--name", "by-name"])
        self.assertEqual(self.server.show("by-name")["id"], workload)
        self.assertEqual(self.server.show(workload[:-1])["id"], workload)
        self.server.cli("stop", "by-name")
        self.server.wait_for_state(workload, "stopped")

    def test_dry_run_submits_nothing(self):
        before = len(self.server.cli("ps", "--all", "--json").json["items"])
        verdict = self.server.cli("run", "--dry-run", "--json", "--gpu", "8", "--", "true").json["workloads"][0]
        self.assertEqual((verdict["accepted"], verdict["starts_now"], verdict["problem"]), (True, True, None))
        answer = self.server.cli("run", "--dry-run", "--json", "--gpu", "9", "--", "true", check=False)
        self.assertEqual(answer.code, 3)
        self.assertEqual(answer.json["workloads"][0]["problem"]["status"], 422)
        self.assertEqual(len(self.server.cli("ps", "--all", "--json").json["items"]), before)

    def test_interrupt_without_a_terminal(self):
        """Ctrl-C in a script: the follower goes, and the workload is not left in doubt."""
        with self.server.follow("run", "--name", "followed", "--", "sh", "-c", "echo on; sleep 60") as follower:
            self.assertEqual(follower.stdout.readline(), "on\n")
            self.server.wait_for_state("followed", "running")  # it may print before its start is reported
            follower.send_signal(signal.SIGINT)
            _, err = follower.communicate(timeout=20)
        self.assertNotEqual(follower.returncode, 0)
        self.assertIn(self.server.show("followed")["state"], ("running", "stopping", "stopped"), err)
        self.server.cli("stop", "followed", check=False)

    def test_wrong_calls(self):
        for code, arguments in ((2, ["nox"]), (2, ["run", "--bad", "--", "true"]), (2, ["run"]), (2, ["show"]),
                                (2, ["project"]), (2, ["project", "frobnicate"]), (2, ["run", "--gpu", "x", "--", "a"]),
                                (4, ["show", "nobody-has-this"]), (4, ["why", "w-0000000000000"]),
                                (4, ["stop", "nobody-has-this"]), (4, ["node", "show", "nowhere"]),
                                (4, ["project", "show", "none"]), (2, ["apply", "-f", "/nowhere/file.yaml"]),
                                (2, ["logs", "--stream", "both", "x"])):
            answer = self.server.cli(*arguments, check=False)
            expected = (code, 4) if arguments[0] == "apply" else (code,)
            self.assertIn(answer.code, expected, str(answer))
            self.assertTrue(answer.err.startswith("moulin: "), str(answer))
            self.assertEqual(answer.out, "", str(answer))
            self.assertRegex(answer.err, "to do:|allowed:", str(answer))
        self.assertEqual(self.server.cli("--help").code, 0)
        for verb in ("run", "apply", "ps", "show", "why", "stop", "pause", "resume", "queue", "logs", "events", "quota",
                     "gpus", "doctor", "down", "version", "journal", "up"):
            self.assertIn("Usage: moulin " + verb, self.server.cli(verb, "--help").out)


@unittest.skipUnless(os.geteuid() == 0, "only a server that is root runs people under accounts of their own")
class Accounts(unittest.TestCase):
    """Programs run under the account of their owner, reach what is theirs and nothing else."""

    def test_an_account_is_changed_for_the_next_start(self):
        with Server() as server:
            server.folder.chmod(0o755)
            server.cli("user", "create", "eve")
            server.cli("role", "grant", "eve", "member", "at", "default")
            env = {"MOULIN_TOKEN": server.cli("token", "create", "--user", "eve", "--json").json["secret"]}
            self.assertIn("nobody", server.cli("user", "set", "eve", "--account", "nobody").out)
            self.assertEqual(server.cli("run", "--folder", "/", "--", "id", "-un", env=env).out, "nobody\n")
            self.assertEqual(server.cli("user", "set", "eve", "--account", "root", env=env, check=False).code, 5)
            self.assertEqual(server.cli("user", "set", "eve", check=False).code, 2)
            self.assertEqual(server.cli("user", "set", "none", "--no-account", check=False).code, 4)

    def test_member_with_an_account(self):
        with Server() as server:
            server.folder.chmod(0o755)
            server.cli("user", "create", "eve", "--account", "nobody")
            server.cli("role", "grant", "eve", "member", "at", "default")
            env = {"MOULIN_TOKEN": server.cli("token", "create", "--user", "eve", "--json").json["secret"]}
            mine = 'echo 1 > "$MOULIN_CHECKPOINT_FILE" && echo saved; touch "$MOULIN_DONE_FILE" && echo done'
            others = f"cat {server.token_file} {server.data}/journal.db {server.data}/attempts/*; ls {server.data}"
            program = f"id -un; {mine}; {others}"
            answer = server.cli("run", "--folder", "/", "--", "sh", "-c", program, env=env, check=False)
            self.assertEqual(answer.out.splitlines(), ["nobody", "saved", "done"], str(answer))
            shown = server.cli("ps", "--all", "--json").json["items"][0]
            self.assertEqual(shown["owner"], "eve")

    def test_user_without_account_runs_nothing(self):
        with Server() as server:
            server.cli("user", "create", "eve")
            server.cli("role", "grant", "eve", "member", "at", "default")
            env = {"MOULIN_TOKEN": server.cli("token", "create", "--user", "eve", "--json").json["secret"]}
            answer = server.cli("run", "--", "id", env=env, check=False)
            self.assertEqual(answer.code, 5, str(answer))
            self.assertIn("account", answer.err)

    def test_member_may_not_touch_others(self):
        with Server() as server:
            workload = server.run("sleep", "60")
            server.cli("user", "create", "eve", "--account", "nobody")
            server.cli("project", "create", "theirs")
            server.cli("role", "grant", "eve", "member", "at", "theirs")
            env = {"MOULIN_TOKEN": server.cli("token", "create", "--user", "eve", "--json").json["secret"]}
            for verb in ("show", "stop", "logs", "why", "events", "pause"):
                self.assertEqual(server.cli(verb, workload, env=env, check=False).code, 4, verb)
            self.assertEqual(server.cli("ps", "--json", env=env).json["items"], [])
            self.assertEqual(server.cli("run", "--", "true", env=env, check=False).code, 4)
            for call in (["user", "create", "x"], ["project", "create", "x"], ["down"],
                         ["role", "grant", "eve", "admin", "at", "theirs"],
                         ["project", "quota", "theirs", "--limit", "9"]):
                self.assertEqual(server.cli(*call, env=env, check=False).code, 5, call)
            server.wait_for_state(workload, "running")


class Steer(Shared):
    def test_logs_follow_until_the_end(self):
        workload = self.server.run("sh", "-c", "for i in 1 2 3; do echo line $i; sleep 0.2; done; echo end >&2; exit 5")
        answer = self.server.cli("logs", "-f", workload, check=False)
        self.assertEqual(answer.out, "line 1\nline 2\nline 3\nend\n", str(answer))
        self.assertIn("failed: exit code 5", answer.err)
        self.assertEqual(self.server.cli("logs", workload, "--tail", "1", "--stream", "stdout").out, "line 3\n")
        self.assertEqual(self.server.cli("logs", workload, "--stream", "stderr").out, "end\n")
        records = [json.loads(line) for line in self.server.cli("logs", workload, "--json").out.splitlines()]
        lines = [record for record in records if "text" in record]
        self.assertEqual([line["text"] for line in lines], ["line 1", "line 2", "line 3", "end"])
        self.has(lines[0], "time", "replica", "attempt", "stream")

    def test_stop_leaves_no_process(self):
        workload = self.server.run("sh", "-c", "setsid sleep 61 & sleep 61", options=["--grace", "1s"])
        self.server.wait_for_state(workload, "running")
        self.assertIn(self.server.cli("stop", workload, "--json").json["state"], ("stopping", "stopped"))
        ended = self.server.wait_for_state(workload, "stopped")
        self.assertEqual(ended["attempts"][0]["outcome"], "stopped")
        mark = f"MOULIN_MARK={workload}.".encode()
        left = []
        for entry in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in entry.read_bytes():
                    left.append(entry)
            except OSError:
                continue
        self.assertEqual(left, [])
        self.server.cli("stop", workload)  # again: changes nothing
        self.assertEqual(self.server.state(workload), "stopped")

    def test_pause_and_resume(self):
        program = 'echo attempt $MOULIN_ATTEMPT; [ $MOULIN_ATTEMPT = 2 ] && exit 0; sleep 60'
        workload = self.server.run("sh", "-c", program, options=["--gpu", "1"])
        self.server.wait_for_state(workload, "running")
        self.server.cli("pause", workload)
        paused = self.server.wait_for_state(workload, "paused")
        self.assertEqual(paused["placement"], [])
        self.assertEqual(paused["attempts"][0]["outcome"], "paused")
        self.assertEqual(self.server.cli("gpus", "--json").json["items"][0]["free_devices"], 8)
        self.server.cli("resume", workload)
        ended = self.server.wait_for_state(workload, "succeeded")
        self.assertEqual([attempt["outcome"] for attempt in ended["attempts"]], ["paused", "succeeded"])
        self.assertEqual(self.server.cli("logs", workload, "--attempt", "1").out, "attempt 1\n")
        self.assertEqual(self.server.cli("resume", workload, check=False).code, 7)

    def test_apply_file(self):
        file = self.server.folder / "many.yaml"
        file.write_text("name: prepare\nrun: echo $((40 + 2))\n---\n"
                        "name: sweep\nrun: [echo, hello]\narray: 0-1\nresources: {gpu: 0.1}\n")
        dry = self.server.cli("apply", "-f", file, "--dry-run", "--json").json["workloads"]
        self.assertEqual([verdict["count"] for verdict in dry], [1, 2])
        ids = self.server.cli("apply", "-f", file, "--json").json["ids"]
        self.assertEqual(len(ids), 3)
        for workload in ids:
            self.server.wait_for_state(workload, "succeeded")
        self.assertEqual(self.server.cli("logs", ids[0]).out, "42\n")
        self.assertEqual(self.server.show(ids[2])["name"], "sweep-1")
        ids = self.server.cli("apply", "-f", "-", "--json", stdin='{"run": ["true"]}').json
        self.server.wait_for_state(ids["id"] if "id" in ids else ids["ids"][0], "succeeded")

    def test_apply_is_whole_or_not_at_all(self):
        before = len(self.server.cli("ps", "--all", "--json").json["items"])
        file = self.server.folder / "half.yaml"
        file.write_text("name: good-half\nrun: 'true'\n---\nname: bad-half\nrun: 'true'\nresources: {gpu: 64}\n")
        answer = self.server.cli("apply", "-f", file, check=False)
        self.assertEqual(answer.code, 3)
        self.assertEqual(len(self.server.cli("ps", "--all", "--json").json["items"]), before)

    def test_events_follow(self):
        newest = self.server.cli("doctor", "--json").json["server"]["journal"]["last_sequence"]
        workload = self.server.run("true")
        kinds = []
        with self.server.follow("events", "-f", "--after", str(newest), "--json") as follower:
            while "attempt_ended" not in kinds:
                event = json.loads(follower.stdout.readline())
                if event.get("workload") == workload:
                    kinds.append(event["type"])
        self.assertEqual(kinds[0], "workload_submitted")
        self.assertIn("attempt_started", kinds)


class Shapes(Shared):
    """Fields that scripts read; every answer may have more."""

    def test_show(self):
        workload = self.server.run("sleep", "60", options=["--gpu", "0.25", "--tag", "team=a"])
        shown = self.server.wait_for_state(workload, "running")
        self.has(shown, "id", "name", "project", "owner", "kind", "class", "state", "placement", "attempts", "reasons",
                 "usage", "spec", "tags")
        grant = shown["placement"][0]["gpus"][0]
        self.assertEqual(grant["share_milli"], 250)
        self.has(grant, "uuid", "index", "memory_bytes", "isolation")
        self.assertTrue(shown["simulated"])
        self.assertEqual(shown["attempts"][0]["state"], "running")
        listed = [item["id"] for item in self.server.cli("ps", "--json", "--tag", "team=a").json["items"]]
        self.assertEqual(listed, [workload])
        holders = [holder["workload"] for gpu in self.server.cli("node", "list", "--json").json["items"][0]["gpus"]
                   for holder in gpu["holders"]]
        self.assertIn(workload, holders)
        self.server.cli("stop", workload)
        self.server.wait_for_state(workload, "stopped")

    def test_why_and_queue(self):
        first = self.server.run("sleep", "60", options=["--gpu", "8", "--class", "production"])
        self.server.wait_for_state(first, "running")
        workload = self.server.run("true", options=["--gpu", "2"])
        why = self.server.cli("why", workload, "--json").json
        self.has(why, "reasons", "expected_start", "changes")
        self.assertIsNone(why["expected_start"])
        self.assertTrue(why["expected_start_reason"])
        self.has(why["reasons"][0], "code", "text", "numbers")
        self.assertEqual(why["reasons"][0]["numbers"]["needed_milli"], 2000)
        self.assertEqual(self.server.cli("queue", "--json").json["items"][0]["id"], workload)
        for one in (workload, first):
            self.server.cli("stop", one)
            self.server.wait_for_state(one, "stopped")

    def test_quota_and_gpus(self):
        items = self.server.cli("quota", "--json").json["items"]
        self.assertEqual([item["name"] for item in items], ["organisation", "default"])
        self.has(items[1], "guaranteed", "rest", "limit", "used", "borrowed", "waiting")
        gpus = self.server.cli("gpus", "--json").json
        self.assertEqual((gpus["source"], gpus["simulated"]), ("simulated", True))
        self.has(gpus["items"][0], "model", "devices", "free_devices", "largest_share_milli", "largest_block_milli")

    def test_projects_and_tokens(self):
        self.server.cli("project", "create", "nlp", "--guaranteed", "2", "--limit", "4")
        project = self.server.cli("project", "show", "nlp", "--json").json
        quota = project["quotas"][0]
        self.assertEqual((quota["guaranteed"], quota["limit"]), (2000, 4000))
        workload = self.server.run("true", options=["--project", "nlp"])
        self.server.wait_for_state(workload, "succeeded")
        self.server.cli("project", "delete", "nlp")
        self.assertEqual(self.server.cli("project", "show", "nlp", check=False).code, 4)
        issued = self.server.cli("token", "create", "--label", "ci", "--json").json
        self.has(issued, "id", "secret", "expires")
        self.assertEqual(self.server.api("GET", "/whoami", token=issued["secret"])[0], 200)
        self.assertNotIn(issued["secret"], self.server.cli("token", "list", "--json").out)
        self.server.cli("token", "revoke", issued["id"])
        self.assertEqual(self.server.api("GET", "/whoami", token=issued["secret"])[0], 401)

    def test_node_cordon(self):
        node = self.server.cli("node", "list", "--json").json["items"][0]["name"]
        self.assertTrue(self.server.cli("node", "show", node, "--json").json["simulated"])
        self.server.cli("node", "cordon", node)
        workload = self.server.run("true", options=["--gpu", "1"])
        codes = [reason["code"] for reason in self.server.cli("why", workload, "--json").json["reasons"]]
        self.assertIn("node_unavailable", codes)
        self.server.cli("node", "uncordon", node)
        self.server.wait_for_state(workload, "succeeded")

    def test_history_and_journal(self):
        workload = self.server.run("sh", "-c", "exit 2")
        self.server.wait_for_state(workload, "failed")
        events = self.server.cli("events", workload, "--json").json["items"]
        self.assertEqual(events[0]["type"], "workload_submitted")
        self.assertEqual([event["sequence"] for event in events], sorted(event["sequence"] for event in events))
        self.has(events[0], "time", "text", "data", "by")
        self.assertEqual(run_moulin("journal", "verify", "--data", self.server.data).code, 0)
        stats = run_moulin("journal", "stats", "--data", self.server.data, "--json").json
        self.assertGreater(stats["records"] if "records" in stats else stats["last_sequence"], 5)
        versions = self.server.cli("version", "--json").json
        self.assertEqual(versions["version"], versions["server_version"])
        self.assertTrue(self.server.cli("doctor", "--json").json["server"]["accepts_commands"])

    def test_metrics_and_health(self):
        answer = wait_for(lambda: self.server.cli("doctor"), "doctor")
        self.assertIn("simulated", answer.out)
        self.assertEqual(self.server.api("GET", "/nowhere")[0], 404)
        self.assertEqual(self.server.api("PUT", "/workloads", {})[0], 405)


if __name__ == "__main__":
    unittest.main()

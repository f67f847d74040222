"""moulin exec: a command beside a running replica, through pipes and on a real terminal."""

import contextlib
import os
import pty
import pwd
import select
import signal
import subprocess
import termios
import time
import unittest

from moulin import BINARY, ENVIRONMENT, Server, wait_for
from terminal import Terminal


class Exec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(simulate="2xH100-80GB")
        cls.server.start()
        cls.addClassCleanup(cls.server.end)
        cls.workload = cls.server.run("sleep", "1000", options=["--gpu", "0.5", "--env", "COLOUR=red"])
        cls.server.wait_for_state(cls.workload, "running")

    def exec(self, *command, options=(), stdin=None, check=False, workload=None):
        return self.server.cli("exec", *options, workload or self.workload, "--", *command, stdin=stdin, check=check)

    def test_output_errors_and_exit_code(self):
        answer = self.exec("sh", "-c", "echo out; echo bad >&2; echo $COLOUR $MOULIN_WORKLOAD_ID; pwd; exit 7")
        self.assertEqual(answer.code, 7)
        self.assertEqual(answer.out.split("\n"), ["out", f"red {self.workload}", str(self.server.folder), ""])
        self.assertEqual(answer.err, "bad\n")

    def test_input_is_handed_on_when_asked_for(self):
        text = "".join(f"line {i}\n" for i in range(200_000))
        self.assertEqual(self.exec("cat", options=["-i"], stdin=text).out, text)
        self.assertEqual(self.exec("cat", stdin=text).out, "")

    def test_how_it_ended(self):
        self.assertEqual(self.exec("sh", "-c", "kill -TERM $$").code, 128 + signal.SIGTERM)
        missing = self.exec("no-such-command")
        self.assertEqual(missing.code, 127)
        self.assertIn("command not found: no-such-command", missing.err)

    def test_a_terminal(self):
        script = ("trap 'stty size' WINCH; trap 'echo got-int' INT; "
                  "stty size; echo term=$TERM; test -t 1 && echo is-tty; "
                  "exec 3<&0; (trap '' INT; exec sed -u s/^/read:/ <&3) & reader=$!; echo ready; "
                  "while kill -0 $reader; do wait $reader; done 2>/dev/null; exit 5")
        master, slave = pty.openpty()
        before = termios.tcgetattr(slave)  # as every terminal begins
        os.close(master)
        os.close(slave)
        environment = {"TERM": "xterm-test", **self.server.client_environment}
        with Terminal("exec", "-it", self.workload, "--", "sh", "-c", script, env=environment, columns=97,
                      lines=31) as terminal:
            terminal.wait_for_text("31 97\nterm=xterm-test\nis-tty\nready")
            self.assertNotEqual(terminal.settings, before, "keys go to the command as they are")
            terminal.type("hello\r")
            terminal.wait_for_text("read:hello")
            terminal.type("\x03")  # goes to the command, and does not end us
            terminal.wait_for_text("got-int")
            terminal.resize(columns=50, lines=20)
            terminal.wait_for_text("20 50")
            terminal.type("\x04")
            self.assertEqual(terminal.end(), 5)
            self.assertEqual(terminal.settings, before, "the terminal is as it was before")

    def test_a_signal_reaches_the_command(self):
        with self.server.follow("exec", self.workload, "--", "sh", "-c",
                                "trap 'echo got-it; exit 9' INT; echo ready; while :; do sleep 0.05; done") as client:
            self.assertEqual(client.stdout.readline(), "ready\n")
            client.send_signal(signal.SIGINT)
            self.assertEqual(client.communicate(timeout=20)[0], "got-it\n")
            self.assertEqual(client.returncode, 9)

    def test_the_second_signal_ends_one_whose_output_nobody_reads(self):
        before = set(self.server.processes())
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.server.follow("exec", self.workload, "--", "yes") as client:
                self.assertEqual(client.stdout.readline(), "y\n")
                time.sleep(0.5)  # its pipe is full
                client.send_signal(number)
                time.sleep(0.2)
                self.assertIsNone(client.poll(), "the first is the command's")
                client.send_signal(number)
                self.assertEqual(client.wait(timeout=20), 1)
                self.assertIn("nobody reads", client.stderr.read())
        wait_for(lambda: set(self.server.processes()) <= before, "nothing is left of the command")

    def test_a_client_that_goes_hangs_up_and_leaves_nothing(self):
        before = set(self.server.processes())
        mark = self.server.folder / "hung-up"
        with self.server.follow("exec", self.workload, "--", "sh", "-c",
                                f"trap 'touch {mark}; exit' HUP; echo ready; while :; do sleep 0.05; done") as client:
            self.assertEqual(client.stdout.readline(), "ready\n")
            self.assertGreater(set(self.server.processes()), before)
            client.kill()
            wait_for(mark.exists, "the command got SIGHUP")
        wait_for(lambda: set(self.server.processes()) <= before, "nothing is left of the command")

    def test_a_client_that_feeds_what_nobody_reads_hangs_up_too(self):
        before = set(self.server.processes())
        with subprocess.Popen([BINARY, "exec", "-i", self.workload, "--", "sh", "-c", "echo ready; exec sleep 1000"],
                              env={**ENVIRONMENT, **self.server.client_environment},
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
            self.assertEqual(client.stdout.readline(), b"ready\n")
            os.set_blocking(client.stdin.fileno(), False)
            fed = 0

            def full():  # what is on the way, and then the pipe, take no more
                nonlocal fed
                try:
                    fed += os.write(client.stdin.fileno(), bytes(65536))
                    return False
                except BlockingIOError:
                    time.sleep(0.3)
                    return not select.select([], [client.stdin], [], 0)[1]

            wait_for(full, "the client waits")
            self.assertLess(fed, 16 << 20, "what is on the way is bounded")
            client.kill()
        # What TCP could not deliver hides the end until the next ping, which comes every 20 s.
        wait_for(lambda: set(self.server.processes()) <= before, "nothing is left of the command", timeout=40)

    def test_it_ends_with_the_replica(self):
        workload = self.server.run("sleep", "1000")
        self.server.wait_for_state(workload, "running")
        with self.server.follow("exec", workload, "--", "sh", "-c", "echo ready; exec sleep 1000") as client:
            self.assertEqual(client.stdout.readline(), "ready\n")
            self.server.cli("stop", workload)
            said = client.communicate(timeout=20)[1]
            self.assertEqual(client.returncode, 128 + signal.SIGKILL, said)
            self.assertIn("the replica has ended", said)
        self.server.wait_for_state(workload, "stopped")

    def test_no_more_than_there_is_room_for(self):
        with contextlib.ExitStack() as clients:
            for _ in range(8):
                client = clients.enter_context(
                    self.server.follow("exec", self.workload, "--", "sh", "-c", "echo ready; exec sleep 1000"))
                self.assertEqual(client.stdout.readline(), "ready\n")
            refused = self.exec("true")
            self.assertEqual(refused.code, 1)
            self.assertIn("8 commands run beside this replica already", refused.err)
        wait_for(lambda: self.exec("true").code == 0, "there is room again")

    def test_who_ran_one_where_is_recorded_and_what_it_was_is_not(self):
        secret = "pass" + "phrase-4711"
        self.exec("sh", "-c", f"echo {secret}; exit 3", check=False)
        events = self.server.cli("events", self.workload).out
        self.assertRegex(events, r"(?m)^.*a command was begun beside replica 0.*\bby admin\b")
        for file in self.server.folder.rglob("*"):
            if file.is_file():
                self.assertNotIn(secret.encode(), file.read_bytes(), file)

    def test_what_cannot_be(self):
        waits = self.server.run("true", options=["--gpu", "2"])
        refused = self.exec("true", workload=waits)
        self.assertEqual(refused.code, 7)
        self.assertIn("does not run", refused.err)
        self.server.cli("stop", waits)
        self.assertEqual(self.exec("true", options=["--replica", "3"]).code, 7)
        self.assertEqual(self.exec("true", options=["-t"]).code, 2)
        closed = subprocess.run(["sh", "-c", f"{BINARY} exec -i {self.workload} -- cat <&-"], capture_output=True,
                                env={**ENVIRONMENT, **self.server.client_environment}, text=True,
                                timeout=20, check=False)
        self.assertEqual(closed.returncode, 2, closed.stderr)
        nobody = self.server.cli("exec", self.workload, "--", "true", check=False, env={"MOULIN_TOKEN": "moulin_x"})
        self.assertEqual(nobody.code, 5)
        status, body = self.server.api("GET", f"/workloads/{self.workload}/exec")
        self.assertEqual((status, body["field"]), (400, "Upgrade"))

    def test_only_the_owner_and_who_may_everything(self):
        def token(name, role):
            self.server.cli("user", "create", name, "--account", pwd.getpwuid(os.getuid()).pw_name)
            if role:
                self.server.cli("role", "grant", name, role, "at", "default")
            return {"MOULIN_TOKEN": self.server.cli("token", "create", "--user", name, "--json").json["secret"]}

        def exec_as(who, workload):
            return self.server.cli("exec", workload, "--", "echo", "done", check=False, env=who)

        eve, vic, zoe, boss = (token("eve", "member"), token("vic", "viewer"), token("zoe", None),
                               token("boss", "admin"))
        for who, code, words in ((eve, 5, "the workloads of others"), (vic, 5, "may"), (zoe, 4, "no such workload")):
            refused = exec_as(who, self.workload)
            self.assertEqual((refused.code, refused.out), (code, ""), str(refused))
            self.assertIn(words, refused.err)
            self.assertEqual(self.server.cli("stop", self.workload, check=False, env=who).code, code, "as for stop")
        own = self.server.cli("run", "--detach", "--json", "--", "sleep", "1000", env=eve).json["id"]
        self.server.wait_for_state(own, "running")
        self.assertEqual(exec_as(eve, own).out, "done\n")
        self.assertEqual(exec_as(vic, own).code, 5)
        # An admin of the project may stop it, and does not get the account of its owner by that.
        for workload in (own, self.workload):
            refused = exec_as(boss, workload)
            self.assertEqual((refused.code, refused.out), (5, ""), str(refused))
            self.assertIn("ask its owner", refused.err)
        self.assertEqual(exec_as({}, own).out, "done\n", "an admin of the organisation")
        self.server.cli("stop", own, env=boss)

    def test_a_page_of_another_site_opens_none(self):
        headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Origin": "http://evil.example"}
        status, body = self.server.api("GET", f"/workloads/{self.workload}/exec", headers=headers)
        self.assertEqual((status, body["field"]), (403, "Origin"))

    def test_a_server_that_stops_lets_go_of_it(self):
        with Server(simulate="1xH100-80GB") as server:
            workload = server.run("sleep", "1000")
            server.wait_for_state(workload, "running")
            before = set(server.processes())
            with server.follow("exec", workload, "--", "sh", "-c", "echo ready; exec sleep 1000") as client:
                self.assertEqual(client.stdout.readline(), "ready\n")
                self.assertEqual(server.stop(), 0)
                said = client.communicate(timeout=20)[1]
                self.assertEqual(client.returncode, 6, said)
                self.assertIn("lost", said)
            wait_for(lambda: set(server.processes()) <= before, "the command is gone, and the workload stays")
            server.start()
            self.assertEqual(server.state(workload), "running")


if __name__ == "__main__":
    unittest.main()

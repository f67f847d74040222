"""The command line in front of a person: widths, colours, Ctrl-C, passwords, Tab, `top`."""

import os
import shutil
import stat
import subprocess
import tempfile
import unicodedata
import unittest
from pathlib import Path

from moulin import BINARY, Server, run_moulin, wait_for
from terminal import Terminal


def columns_of(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class OnATerminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.server.run("sleep", "600", options=["--gpu", "8", "--name", "a-workload-whose-name-is-rather-long"])
        cls.server.run("sleep", "600", options=["--gpu", "1", "--name", "waits"])

    @classmethod
    def tearDownClass(cls):
        cls.server.end()

    def terminal(self, *arguments, env=None, **size):
        return Terminal(*arguments, env={**self.server.client_environment, **(env or {})}, **size)

    def shown(self, *arguments, env=None, **size):
        with self.terminal(*arguments, env=env, **size) as terminal:
            self.assertEqual(terminal.end(), 0, terminal.text)
            return terminal

    def test_no_line_is_wider_than_the_terminal(self):
        for call in (["ps", "-a"], ["queue"], ["quota"], ["gpus"], ["node", "list"], ["node", "show", "sim-000"],
                     ["project", "list"], ["user", "list"], ["token", "list"], ["role", "list"], ["top", "--once"],
                     ["show", "waits"], ["whoami"]):
            for columns in (60, 80, 132):
                for line in self.shown(*call, columns=columns).plain.split("\n"):
                    if call[0] in ("show", "whoami") and " " not in line.strip()[14:].strip():
                        continue  # one long word
                    self.assertLessEqual(columns_of(line), columns, f"{call} at {columns}: {line}")

    def test_columns_of_the_environment_come_first(self):
        self.assertIn("…", self.shown("ps", columns=200, env={"COLUMNS": "70"}).text)
        self.assertNotIn("…", self.shown("ps", columns=200).text)
        self.assertNotIn("…", self.server.cli("ps", env={"COLUMNS": "70"}).out)  # no terminal: nothing is cut

    def test_colours_only_on_a_terminal_and_never_with_no_color(self):
        self.assertIn("\x1b[", self.shown("ps").text)
        self.assertNotIn("\x1b[", self.shown("ps", env={"NO_COLOR": "1"}).text)
        self.assertNotIn("\x1b[", self.shown("ps", env={"TERM": "dumb"}).text)
        self.assertNotIn("\x1b", self.server.cli("ps").out)

    def test_ctrl_c_asks_and_s_stops(self):
        with self.terminal("run", "--name", "asked", "--", "sleep", "600") as terminal:
            terminal.wait_for_text("moulin: running")
            terminal.type("\x03")
            terminal.wait_for_text("[d/s]")
            terminal.type("s\n")
            self.assertEqual(terminal.end(), 143, terminal.text)  # 128 and SIGTERM, which ended it
        self.assertEqual(self.server.state("asked"), "stopped")

    def test_a_second_ctrl_c_detaches(self):
        with self.terminal("run", "--name", "left", "--", "sleep", "600") as terminal:
            terminal.wait_for_text("moulin: running")
            terminal.type("\x03")
            terminal.wait_for_text("[d/s]")
            terminal.type("\x03")
            self.assertEqual(terminal.end(), 0, terminal.text)
            self.assertIn("goes on", terminal.text)
        self.assertEqual(self.server.state("left"), "running")
        self.server.cli("stop", "left")

    def test_run_says_why_it_waits_on_a_line_that_goes_away(self):
        with self.terminal("run", "--gpu", "1", "--name", "blocked", "--", "true", columns=100) as terminal:
            terminal.wait_for_text("moulin: waiting for 1s")
            terminal.wait_for_text("moulin: waiting for 2s")
            self.assertIn("\r\x1b[K", terminal.text)
            self.assertNotIn("\n", terminal.text.split("waiting for 1s", 1)[1].split("waiting for 2s")[0])
            terminal.type("\x03")
            terminal.wait_for_text("[d/s]")
            terminal.type("d\n")
            self.assertEqual(terminal.end(), 0)
        self.server.cli("stop", "blocked")

    def test_top_watches_until_ctrl_c_and_leaves_the_screen_as_it_was(self):
        with self.terminal("top", columns=120, lines=12) as terminal:
            terminal.wait_for_text("a-workload-whose")
            terminal.wait_for_text("GPUs: 8 held")
            terminal.wait_for_text("and ")  # twelve lines do not hold eight devices and their holders
            terminal.type("\x03")
            self.assertEqual(terminal.end(), 0)
        self.assertTrue(terminal.text.startswith("\x1b[?1049h"))
        self.assertTrue(terminal.text.endswith("\x1b[?1049l"), repr(terminal.text[-40:]))

    def test_top_once_and_as_json(self):
        once = self.server.cli("top").out
        self.assertRegex(once, r"8 GPUs: 8 held; 1 workload")
        self.assertRegex(once, r"sim-000 +7 +H100-80GB +1 ")
        told = self.server.cli("top", "--json").json
        self.assertEqual(len(told["nodes"][0]["gpus"]), 8)
        self.assertEqual([workload["state"] for workload in told["workloads"]], ["running"])

    def test_a_token_is_not_shown_while_it_is_typed(self):
        with tempfile.TemporaryDirectory() as home:
            with Terminal("login", "--url", self.server.url, env={"HOME": home}) as terminal:
                terminal.wait_for_text("Token for")
                terminal.type(self.server.token + "\n")
                self.assertEqual(terminal.end(), 0, terminal.text)
                self.assertNotIn(self.server.token, terminal.text)
                self.assertIn("You are admin", terminal.text)
            with Terminal("login", "--url", self.server.url, env={"HOME": home}) as terminal:
                terminal.wait_for_text("Token for")
                terminal.type("\x03")
                self.assertEqual(terminal.end(), 2)
            file = Path(home) / ".config/moulin/login.json"
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
            self.assertEqual(stat.S_IMODE(file.parent.stat().st_mode), 0o700)
            me = run_moulin("whoami", "--json", env={"HOME": home}).json
            self.assertEqual((me["user"], me["server_from"]), ("admin", str(file)))

    def complete(self, *words):
        """What bash would offer at a Tab behind these words."""
        script = ('source <(moulin completion bash); COMP_WORDS=(moulin "$@"); COMP_CWORD=$#; _moulin moulin; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(BINARY, Path(folder) / "moulin")
            done = subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True, check=True,
                                  env={"PATH": f"{folder}:{os.environ['PATH']}", **self.server.client_environment})
        return done.stdout.split()

    def test_bash_completes(self):
        self.assertEqual(self.complete("whoa"), ["whoami"])
        self.assertEqual(self.complete("project", "cr"), ["create"])
        self.assertEqual(self.complete("show", "wai"), ["waits"])
        self.assertEqual(self.complete("run", "--project", "de"), ["default"])
        self.assertEqual(self.complete("node", "drain", ""), ["sim-000"])
        self.assertEqual(self.complete("run", "--class", "b"), ["batch"])
        self.assertIn("/etc/passwd", self.complete("apply", "-f", "/etc/pass"))

    def test_scripts_of_other_shells_are_read_without_complaint(self):
        for shell in ("zsh", "fish"):
            if shutil.which(shell) is None:
                continue  # bash is always there; these where they are installed
            script = run_moulin("completion", shell).out
            done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), shell)


class Login(unittest.TestCase):
    def test_a_login_serves_all_calls_until_logout(self):
        with Server() as server:
            home = server.folder / "home"
            env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "settings")}
            told = run_moulin("login", "--url", server.url, "--json", stdin=server.token + "\n", env=env)
            self.assertEqual(told.json["user"], "admin", str(told))
            self.assertEqual(run_moulin("run", "--", "echo", "hello", env=env).out, "hello\n")
            self.assertEqual(run_moulin("login", "--url", server.url, stdin="wrong\n", env=env).code, 5)
            self.assertEqual(run_moulin("whoami", "--json", env=env).json["user"], "admin", "the login before stays")
            self.assertEqual(run_moulin("logout", env=env).code, 0)
            wait_for(lambda: run_moulin("ps", env=env).code == 6, "no server to be found")


if __name__ == "__main__":
    unittest.main()

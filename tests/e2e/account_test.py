"""The main flow of somebody who is not root: everything of Moulin is theirs, from `up` to `down`."""

import json
import os
import pwd
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from moulin import BINARY, wait_for

ACCOUNT = "nobody"


def as_account(account, *command):
    """The command, run by that account and with nothing of root's left."""
    entry = pwd.getpwnam(account)
    return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--inh-caps=-all",
            "--bounding-set=-all", "--no-new-privs", *[str(word) for word in command]]


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root to become somebody else")
class NotRoot(unittest.TestCase):
    def setUp(self):
        self.home = Path(tempfile.mkdtemp(prefix="moulin-e2e-home-"))
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        program = self.home / "moulin"  # the build folder may be closed to others
        shutil.copy(BINARY, program)
        program.chmod(0o755)
        entry = pwd.getpwnam(ACCOUNT)
        os.chown(self.home, entry.pw_uid, entry.pw_gid)
        self.home.chmod(0o700)
        self.env = {"PATH": f"{self.home}:{os.environ['PATH']}", "HOME": str(self.home), "LANG": "C.UTF-8"}

    def moulin(self, *arguments, check=True):
        done = subprocess.run(as_account(ACCOUNT, "moulin", *arguments), env=self.env, cwd=self.home, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if check:
            self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def start(self):
        server = subprocess.Popen(as_account(ACCOUNT, "moulin", "up", "--listen", "127.0.0.1:0", "--simulate",
                                             "8xH100-80GB", "--json"),
                                  env=self.env, cwd=self.home, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        return server, json.loads(server.stdout.readline())

    def test_from_up_to_down(self):
        server, served = self.start()
        self.assertEqual(served["token_file"], str(self.home / ".local/share/moulin/admin.token"))
        self.assertEqual(self.moulin("run", "--gpu", "0.25", "--", "id", "-un").stdout, f"{ACCOUNT}\n")
        self.assertEqual(self.moulin("run", "--gpu", "0.25", "--", "sh", "-c", "exit 3", check=False).returncode, 3)
        self.moulin("run", "--detach", "--gpu", "1", "--name", "stays", "--", "sleep", "600")
        wait_for(lambda: json.loads(self.moulin("show", "stays", "--json").stdout)["state"] == "running", "it runs")
        doctor = self.moulin("doctor").stdout
        self.assertNotIn("FAIL", doctor)
        self.assertIn("no isolation between users", doctor)
        server.kill()
        server.wait()
        self.assertEqual(self.moulin("ps", check=False).returncode, 6)
        self.start()
        self.assertEqual(json.loads(self.moulin("show", "stays", "--json").stdout)["state"], "running")
        self.moulin("stop", "stays")
        wait_for(lambda: json.loads(self.moulin("show", "stays", "--json").stdout)["state"] == "stopped", "it ends")
        self.moulin("down")

    def test_what_is_roots_is_refused_with_what_to_do(self):
        refused = self.moulin("up", "--data", "/var/lib/moulin-of-root", check=False)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("/var/lib/moulin-of-root", refused.stderr)
        self.assertRegex(refused.stderr, "to do:")


if __name__ == "__main__":
    unittest.main()

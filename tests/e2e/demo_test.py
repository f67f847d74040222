"""The demo keeps each of its promises, and leaves nothing behind."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from moulin import BINARY, ROOT


class Demo(unittest.TestCase):
    timeout = 180

    def test_every_promise_is_kept_and_nothing_stays(self):
        with tempfile.TemporaryDirectory(prefix="moulin-e2e-demo-") as folder:
            environment = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder, "MOULIN_BINARY": str(BINARY)}
            done = subprocess.run([ROOT / "scripts/demo"], env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=170, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"\n\d+ promises kept in \d+ s\.\n$")
            self.assertNotIn("NOT SO", done.stdout)
            self.assertEqual(list(Path(folder).iterdir()), [], "the demo left a folder")

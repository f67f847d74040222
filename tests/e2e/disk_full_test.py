"""A full disk: commands are refused and say what to do, reads go on, and it heals by itself."""

import errno
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from moulin import Server, run_moulin, wait_for

DISK_BYTES = 24 << 20


class DiskFull(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="moulin-e2e-full-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", self.folder],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"may not mount a tmpfs here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.folder], check=False)
        server = Server(simulate="2xH100-80GB", folder=self.folder)
        self.addCleanup(server.end)
        self.server = server.start()

    def fill(self):
        """Not a byte is left."""
        with open(self.folder / "ballast", "ab", buffering=0) as file:
            for piece in (b"x" * 65536, b"x" * 512, b"x"):
                try:
                    while True:
                        file.write(piece)
                except OSError as error:
                    self.assertEqual(error.errno, errno.ENOSPC)

    def submit(self):
        return self.server.api("POST", "/workloads", {"workloads": [
            {"run": ["sleep", "60"], "folder": "/", "env": {"FILLER": "x" * 4000}}]})

    def fill_until_refused(self):
        """Submits until the space that the journal already owns is used up too."""
        self.fill()
        accepted = 0
        while accepted < 500:
            status, answer = self.submit()
            if status != 201:
                return status, answer, accepted
            accepted += 1
        self.fail("500 submissions were accepted on a full disk")

    def test_refuses_reads_on_and_heals(self):
        server = self.server
        before = server.run("sleep", "60", options=["--gpu", "1"])
        server.wait_for_state(before, "running")
        status, problem, accepted = self.fill_until_refused()
        self.assertEqual((status, problem["title"]), (503, "unavailable"), problem)
        self.assertTrue(problem.get("to_do"), problem)
        self.assertRegex(problem["detail"] + problem["to_do"], "(?i)disk|space")
        self.assertEqual(server.state(before), "running")
        self.assertEqual(len(server.cli("ps", "--json").json["items"]), accepted + 1, "what was accepted, no more")
        self.assertFalse(server.cli("doctor", "--json", check=False).json["server"]["accepts_commands"])
        answer = server.cli("stop", before, check=False)
        self.assertEqual(answer.code, 6, str(answer))
        self.assertIn("to do:", answer.err)
        os.unlink(self.folder / "ballast")
        wait_for(lambda: server.api("GET", "/server")[1]["accepts_commands"], "it to heal by itself", 10)
        status, answer = self.submit()
        self.assertEqual(status, 201, answer)
        server.cli("stop", before)
        server.wait_for_state(before, "stopped")

    def test_kill_while_full_loses_nothing(self):
        server = self.server
        first = server.run("true")
        server.wait_for_state(first, "succeeded")
        _, _, accepted = self.fill_until_refused()
        server.kill9()
        os.unlink(self.folder / "ballast")
        server.start()
        self.assertEqual(server.state(first), "succeeded")
        self.assertEqual(len(server.cli("ps", "--all", "--json").json["items"]), accepted + 1)
        self.assertEqual(run_moulin("journal", "verify", "--data", server.data).code, 0)

    def test_end_that_could_not_be_written_is_not_lost(self):
        """A program that ends while nothing can be written is found to have ended afterwards."""
        server = self.server
        workload = server.run("sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exit 5")
        running = server.wait_for_state(workload, "running")
        process = Path("/proc") / str(running["attempts"][0]["replicas"][0]["pid"])
        (server.folder / "gone").touch()
        self.fill_until_refused()
        (server.folder / "gone").rename(server.folder / "go")
        wait_for(lambda: not process.exists(), "the program to end")
        os.unlink(self.folder / "ballast")
        ended = server.wait_for_state(workload, "failed")
        self.assertEqual(ended["attempts"][0]["replicas"][0]["exit"]["code"], 5)


if __name__ == "__main__":
    unittest.main()

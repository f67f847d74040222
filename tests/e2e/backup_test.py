"""Backup beside a running server, and restoration elsewhere."""

import tempfile
import unittest
from pathlib import Path

from moulin import Server, run_moulin, wait_for


def records(data):
    """What `journal verify` finds in a data folder, which must be whole."""
    answer = run_moulin("journal", "verify", "--data", str(data), "--json")
    assert answer.code == 0, str(answer)
    return answer.json


class BackupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="moulin-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def backup(self, server, name, *options):
        answer = run_moulin("backup", str(self.folder / name), "--data", str(server.data), "--json", *options)
        self.assertEqual(answer.code, 0, str(answer))
        return answer.json

    def restore(self, name, *options):
        return run_moulin("restore", str(self.folder / name), *options)

    def test_a_restored_server_knows_everything_and_owns_no_process_of_the_original(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        with Server() as server:
            server.cli("project", "create", "vision")
            done = server.run("echo", "hello from before", options=("--project", "vision"))
            server.wait_for_state(done, "succeeded")
            runs = server.run("sleep", "300", options=("--gpu", "0.5"))
            server.wait_for_state(runs, "running")
            made = self.backup(server, "one", "--logs")
            self.assertGreater(made["records"], 10)
            answer = self.restore("one", "--data", str(elsewhere / "data"))
            self.assertEqual(answer.code, 0, str(answer))
            self.assertEqual(records(elsewhere / "data")["last"], made["records"])
            copied, kept = records(elsewhere / "data"), records(self.folder / "one")
            self.assertEqual(copied["payload_bytes"], kept["payload_bytes"])

            with Server(folder=elsewhere) as copy:
                self.assertIn("vision", copy.cli("project", "list").out)
                self.assertEqual(copy.state(done), "succeeded")
                self.assertIn("hello from before", copy.cli("logs", done).out)
                lost = lambda: copy.show(runs)["attempts"][0]["outcome"] == "node_lost"
                wait_for(lost, "the process of the original is not taken over")
                # Both live on beside each other.
                self.assertEqual(server.state(runs), "running")
                copy.cli("stop", runs, check=False)
            self.assertEqual(server.state(runs), "running")
            self.assertEqual(len(server.show(runs)["attempts"]), 1)

    def test_what_is_in_the_way_is_said(self):
        with Server() as server:
            self.backup(server, "one")
            again = run_moulin("backup", str(self.folder / "one"), "--data", str(server.data))
            self.assertNotEqual(again.code, 0)
            self.assertIn("is there already", again.err)
            taken = self.restore("one", "--data", str(server.data))
            self.assertNotEqual(taken.code, 0)
            self.assertIn("holds something already", taken.err)
        nothing = self.restore("two", "--data", str(self.folder / "new"))
        self.assertIn("no backup is there", nothing.err)
        self.assertFalse((self.folder / "new").exists())


if __name__ == "__main__":
    unittest.main()

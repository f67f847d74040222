"""A copied data folder: served beside the original it harms nothing that the original runs."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from moulin import Server, run_moulin, wait_for


class Copy(unittest.TestCase):
    def setUp(self):
        self.other = tempfile.TemporaryDirectory(prefix="moulin-e2e-copy-")
        self.addCleanup(self.other.cleanup)

    def test_a_copy_is_refused_and_with_copy_leaves_the_original_alone(self):
        with Server(simulate="1xH100-80GB") as original:
            pids = original.folder / "pids"
            workload = original.run("sh", "-c", f"echo $$ >> {pids}; exec sleep 1000", options=("--gpu", "1"))
            original.wait_for_state(workload, "running")
            original.stop()
            subprocess.run(["cp", "-a", original.data, Path(self.other.name) / "data"], check=True)

            refused = run_moulin("up", "--data", Path(self.other.name) / "data", "--listen", "127.0.0.1:0",
                                 "--simulate", "1xH100-80GB")
            self.assertNotEqual(refused.code, 0)
            self.assertIn("copy of", refused.err)
            self.assertIn(str(original.data), refused.err)
            self.assertIn("--copy", refused.err)

            with Server(simulate="1xH100-80GB", folder=self.other.name, options=["--copy"]) as copy:
                # History is there, what ran is lost, and it is tried again here.
                wait_for(lambda: len(copy.show(workload)["attempts"]) > 1, "another attempt in the copy", timeout=60)
                self.assertEqual(copy.show(workload)["attempts"][0]["outcome"], "node_lost")
                copy.cli("stop", workload)
                copy.wait_for_state(workload, "stopped")
                os.kill(int(pids.read_text().split()[0]), 0)  # the first one still runs
            # From now on the copy is an installation of its own.
            with Server(simulate="1xH100-80GB", folder=self.other.name) as again:
                self.assertEqual(again.state(workload), "stopped")

            original.start()
            shown = original.show(workload)
            self.assertEqual(shown["state"], "running")
            self.assertEqual(len(shown["attempts"]), 1)
            original.cli("stop", workload)
            original.wait_for_state(workload, "stopped")


if __name__ == "__main__":
    unittest.main()

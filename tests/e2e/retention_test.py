"""Old logs make room, and whoever asks for them is told."""

import time
import unittest

from moulin import Server, wait_for


class Retention(unittest.TestCase):
    def test_ended_attempts_are_removed_after_the_time_that_was_set(self):
        with Server(simulate="1xH100-80GB", options=["--keep-logs", "1s"]) as server:
            done = server.run("echo", "hello")
            server.wait_for_state(done, "succeeded")
            running = server.run("sh", "-c", "echo still here; exec sleep 1000")
            server.wait_for_state(running, "running")
            folder = server.data / "attempts" / done
            wait_for(lambda: not folder.exists(), "the folder of the old attempt is gone", timeout=30)
            answer = server.cli("logs", done, check=False)
            self.assertNotEqual(answer.code, 0)
            self.assertIn("retention", answer.err)
            self.assertIn("1s", answer.err)
            time.sleep(3)  # twice as long as logs are kept, and several looks
            self.assertIn("still here", server.cli("logs", running).out)

    def test_a_size_that_is_none_is_refused_by_name(self):
        server = Server(options=["--keep-logs-size", "much"])
        try:
            server.launch()
            self.assertNotEqual(server.process.wait(20), 0)
            self.assertIn("--keep-logs-size", server.log())
        finally:
            server.end()


if __name__ == "__main__":
    unittest.main()

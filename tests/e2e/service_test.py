"""`moulin up --service`, and the life that a service manager gives a server."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from moulin import BINARY, ENVIRONMENT, Server, run_moulin, wait_for


def installed(folder, *options):
    """The text of the unit that is written for these options."""
    answer = run_moulin("up", "--service", "--unit-folder", str(folder), *options)
    assert answer.code == 0, str(answer)
    return Path(folder, "moulin.service").read_text()


class ManagedServer(Server):
    """A server started as its unit says, with a manager's socket; its end is that of the main process only."""

    def launch(self):
        unit = installed(self.folder, "--data", str(self.data), "--listen", "127.0.0.1:0", "--simulate", self.simulate)
        command = next(line for line in unit.splitlines() if line.startswith("ExecStart=")).removeprefix("ExecStart=")
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.settimeout(30)
        path = self.folder / "notify"
        path.unlink(missing_ok=True)
        self.manager.bind(str(path))
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen([*shlex.split(command), "--json"], stdout=subprocess.PIPE, stderr=log,
                                            stdin=subprocess.DEVNULL, start_new_session=True,
                                            env={**ENVIRONMENT, "HOME": str(self.folder),
                                                 "NOTIFY_SOCKET": str(path)})

    def end(self):
        super().end()
        if getattr(self, "manager", None):
            self.manager.close()


class ServiceTest(unittest.TestCase):
    def test_the_unit_passes_systemds_own_check(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze on this machine")
        with tempfile.TemporaryDirectory() as folder:
            unit = installed(folder, "--data", f"{folder}/da ta", "--simulate", "2x(8xH100-80GB)")
            checked = subprocess.run(["systemd-analyze", "verify", f"{folder}/moulin.service"], capture_output=True,
                                     text=True, check=False)
            self.assertEqual((checked.returncode, checked.stderr.strip()), (0, ""), unit)
        for line in ("KillMode=process", "Delegate=yes", "OOMPolicy=continue"):
            self.assertIn(f"\n{line}\n", unit)

    def test_a_manager_is_told_when_it_serves_and_workloads_outlive_a_restart_of_the_main_process(self):
        with ManagedServer() as server:
            self.assertEqual(server.manager.recv(100), b"READY=1")
            workload = server.run("sleep", "300", options=("--gpu", "0.5"))
            before = server.wait_for_state(workload, "running")
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(20), 0)
            self.assertTrue(server.processes(), "the workload runs on")
            server.start()
            self.assertEqual(server.manager.recv(100), b"READY=1")
            after = server.wait_for_state(workload, "running")
            (was,), (now,) = before["attempts"], after["attempts"]  # one attempt, taken over
            self.assertEqual(now["replicas"][0]["pid"], was["replicas"][0]["pid"])
            server.cli("stop", workload)
            server.wait_for_state(workload, "stopped")
            wait_for(lambda: not server.processes(), "no process is left")

    def test_what_a_unit_cannot_hold_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            answer = run_moulin("up", "--service", "--unit-folder", folder, "--data", "/x\nUser=root")
            self.assertEqual(answer.code, 2, str(answer))
            self.assertIn("without line ends", answer.err)
            self.assertEqual(os.listdir(folder), [])
            alone = run_moulin("up", "--unit-folder", folder)
            self.assertEqual(alone.code, 2, str(alone))
            self.assertIn("--service", alone.err)


if __name__ == "__main__":
    assert BINARY.exists(), f"{BINARY} is not built"
    unittest.main()

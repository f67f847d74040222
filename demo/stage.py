"""What the demo stands on: a server on a folder of its own, the command line as a user
types it, promises that are checked, and a floor swept clean at the end.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS_MAX = 30
COMMAND_SECONDS_MAX = 30
WAIT_SECONDS_MAX = 60
SWEEP_SECONDS_MAX = 15
UNFINISHED = ("waiting", "starting", "running", "stopping", "paused")
SIMULATE = "8xH100-80GB"


class Broken(Exception):
    """A promise of the story did not hold."""


class Stage:
    def __init__(self, binary):
        self.binary = Path(binary).resolve()
        self.folder = Path(tempfile.mkdtemp(prefix="moulin-demo-"))
        self.data = self.folder / "data"
        self.server = None
        self.began = time.monotonic()
        self.promises = 0
        self._colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        # Debian's python3 first: it is the one that has scikit-learn.
        path = f"{self.binary.parent}:/usr/bin:/bin"
        self.environment = {"PATH": path, "HOME": str(self.folder), "LANG": "C.UTF-8", "MOULIN_DATA": str(self.data),
                            "COLUMNS": "100", "OPENBLAS_NUM_THREADS": "1"}

    # ---- what the audience sees ----
    def ink(self, code, text):
        return f"\033[{code}m{text}\033[0m" if self._colour else text

    def act(self, title):
        seconds = f"{time.monotonic() - self.began:4.0f} s"
        print(f"\n{self.ink(90, seconds)}  {self.ink('1;36', title)}", flush=True)

    def say(self, text):
        print(textwrap.fill(text, 96, initial_indent="        ", subsequent_indent="        "), flush=True)

    def command_line(self, words):
        print(f"      {self.ink(32, '$')} {self.ink(1, words)}", flush=True)

    def quote(self, text):
        for line in text.rstrip("\n").splitlines():
            print(self.ink(90, f"        {line}"), flush=True)

    def promise(self, holds, text):
        """One sentence that the audience may rely on; the demo fails when it is not so."""
        self.promises += 1
        print(f"      {self.ink(32, 'ok') if holds else self.ink(31, 'NOT SO')}  {text}", flush=True)
        if not holds:
            raise Broken(text)

    # ---- the server ----
    def up(self):
        """Starts the server on our folder, as after a crash when there is one already."""
        words = ["moulin", "up", "--data", str(self.data), "--listen", "127.0.0.1:0", "--simulate", SIMULATE]
        self.command_line(shlex.join(words) + " &")
        with open(self.folder / "up.log", "ab") as log:
            self.server = subprocess.Popen([self.binary, *words[1:]], stdout=subprocess.PIPE, stderr=log,
                                           stdin=subprocess.DEVNULL, env=self.environment, start_new_session=True)
        self.quote(self._first_line())

    def _first_line(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        os.set_blocking(self.server.stdout.fileno(), False)
        said = b""
        while b"\n" not in said:
            if self.server.poll() is not None or time.monotonic() > deadline:
                raise Broken(f"`moulin up` did not serve:\n{(self.folder / 'up.log').read_text(errors='replace')}")
            said += self.server.stdout.read() or b""
            time.sleep(0.01)
        return said.decode().splitlines()[0]

    def kill9(self):
        self.command_line(f"kill -9 {self.server.pid}          # the server")
        self.server.kill()
        self.server.wait()

    # ---- the command line ----
    def quiet(self, *words, check=True):
        """Runs a command that the audience need not see."""
        try:
            done = subprocess.run([self.binary, *map(str, words)], env=self.environment, cwd=ROOT, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_SECONDS_MAX,
                                  check=False)
        except subprocess.TimeoutExpired as slow:
            raise Broken(f"`moulin {shlex.join(map(str, words))}` took more than {COMMAND_SECONDS_MAX} s") from slow
        if check and done.returncode != 0:
            raise Broken(f"`moulin {shlex.join(map(str, words))}` ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def moulin(self, *words, answer="shown"):
        """Runs a command in front of the audience. answer: shown or hidden."""
        self.command_line(shlex.join(["moulin", *map(str, words)]))
        said = self.quiet(*words)
        if answer == "shown":
            self.quote(said)
        return said

    def show(self, workload):
        return json.loads(self.quiet("show", workload, "--json"))

    def listing(self):
        return json.loads(self.quiet("ps", "--all", "--json"))["items"]

    def wait_for(self, condition, what, seconds=WAIT_SECONDS_MAX):
        """The first true value of condition()."""
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise Broken(f"not within {seconds} s: {what}")
            time.sleep(0.05)

    def wait_state(self, workload, *states):
        def reached():
            shown = self.show(workload)
            if shown["state"] in ("failed", "stopped") and shown["state"] not in states:
                raise Broken(f"{workload} {shown['state']}: {self.quiet('logs', workload, '--tail', '5', check=False)}")
            return shown if shown["state"] in states else None

        return self.wait_for(reached, f"{workload} is {' or '.join(states)}")

    # ---- the end ----
    def processes(self):
        """Every process that has to do with our folder: server, shims, workloads."""
        mark, found = str(self.folder).encode(), []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                is_zombie = (entry / "stat").read_bytes().rsplit(b")", 1)[1].split()[0] == b"Z"
                if not is_zombie and mark in (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def close(self):
        """Ends the story in good order: everything stopped, the server down, nobody left."""
        for workload in self.listing():
            if workload["state"] in UNFINISHED:
                self.moulin("stop", workload["name"], answer="hidden")
        self.wait_for(lambda: all(workload["state"] not in UNFINISHED for workload in self.listing()), "all has ended")
        self.moulin("down", answer="hidden")
        self.server.wait(SWEEP_SECONDS_MAX)
        self.wait_for(lambda: not self.processes(), "no process is left", SWEEP_SECONDS_MAX)

    def sweep(self):
        """Whatever happened: no process and no folder stays."""
        deadline = time.monotonic() + SWEEP_SECONDS_MAX
        left = self.processes()
        while left and time.monotonic() < deadline:
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if self.server:
                self.server.poll()
            time.sleep(0.05)
            left = self.processes()
        shutil.rmtree(self.folder, ignore_errors=True)

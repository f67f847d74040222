"""A program on a terminal of its own, and a person in front of it.

    with Terminal("run", "--", "sleep", "60", env=server.client_environment, columns=80) as terminal:
        terminal.wait_for_text("running")
        terminal.type("\\x03")                 # Ctrl-C
        self.assertEqual(terminal.end(), 0)    # the exit status
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from moulin import BINARY, ENVIRONMENT

CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    def __init__(self, *arguments, env=None, columns=80, lines=24):
        self.text = ""
        environment = {**ENVIRONMENT, "HOME": "/nonexistent", "LANG": "C.UTF-8", "TERM": "xterm",
                       **(env or {})}
        self.process, self.screen = pty.fork()
        if self.process == 0:
            # The size must stand before the program looks at it.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
            os.execve(BINARY, [str(BINARY), *[str(argument) for argument in arguments]], environment)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self.screen)

    def _read(self, seconds):
        """False at the end of what the program says."""
        if not select.select([self.screen], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.screen, 65536)
        except OSError:  # how Linux says that the other side has gone
            return False
        self.text += piece.decode(errors="replace").replace("\r\n", "\n")
        return bool(piece)

    def wait_for_text(self, text, timeout=20.0):
        deadline = time.monotonic() + timeout
        while text not in self.text:
            if time.monotonic() > deadline or not self._read(0.1):
                raise AssertionError(f"never said {text!r}:\n{self.text}")

    def resize(self, columns, lines):
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    @property
    def settings(self):
        """As stty shows them."""
        return termios.tcgetattr(self.screen)

    def type(self, keys):
        os.write(self.screen, keys.encode())

    def end(self, timeout=20.0):
        """Waits for the end of the program: its exit status, or minus the signal."""
        deadline = time.monotonic() + timeout
        while self._read(0.1):
            if time.monotonic() > deadline:
                raise AssertionError(f"does not end:\n{self.text}")
        _, status = os.waitpid(self.process, 0)
        self.process = None
        return os.waitstatus_to_exitcode(status)

    @property
    def plain(self):
        """What it said, without colours and movements."""
        return CONTROLS.sub("", self.text)

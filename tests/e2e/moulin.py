"""Starts the real server for a test, and talks to it as users do.

    with Server(simulate="8xH100-80GB") as server:
        workload = server.cli("run", "--detach", "--json", "--", "true").json["id"]
        server.wait_for_state(workload, "succeeded")
        server.kill9(); server.start()          # the same data folder, as after a crash
        status, body = server.api("GET", "/workloads")

Everything that runs below the data folder is ended with the test, whatever it did.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import contract

ROOT = Path(__file__).resolve().parent.parent.parent
BINARY = Path(os.environ.get("MOULIN_BINARY", ROOT / "build/release/moulin"))
SANITIZED = "ASAN_OPTIONS" in os.environ  # the program was built so, see tests/run.py
# Of every program that a test starts; the test's own environment is not for them.
ENVIRONMENT = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}
START_SECONDS_MAX = 30
CLI_SECONDS_MAX = 60
LONG = bool(os.environ.get("MOULIN_LONG"))  # the long lane: more of the same


class Answer:
    """What one call of the command line gave."""

    def __init__(self, arguments, done):
        self.arguments = arguments
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            raise AssertionError(f"no JSON from {self}") from None

    def __str__(self):
        return f"moulin {' '.join(self.arguments)}: exit {self.code}\nstdout: {self.out}\nstderr: {self.err}"


def run_moulin(*arguments, env=None, stdin=None, timeout=CLI_SECONDS_MAX, cwd=None):
    """Runs the program without a server around it."""
    clean = {**ENVIRONMENT, "HOME": "/nonexistent", "LANG": "C.UTF-8", **(env or {})}
    done = subprocess.run([BINARY, *arguments], env=clean, cwd=cwd, input=stdin or "", capture_output=True, text=True,
                          timeout=timeout, check=False)
    return Answer([str(argument) for argument in arguments], done)


def wait_for(condition, what, timeout=20.0):
    """The first true value of condition(), polled; fails the test after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout:g} s: {what}")
        time.sleep(0.02)


class Server:
    """One server on a data folder of its own. `folder` keeps data between two Servers."""

    def __init__(self, simulate="8xH100-80GB", folder=None, options=(), env=None):
        self._own_folder = folder is None
        self.folder = Path(folder or tempfile.mkdtemp(prefix="moulin-e2e-"))
        self.data = self.folder / "data"
        self.simulate = simulate
        self.options = list(options)
        self.env = dict(env or {})
        self.process = None
        self.url = self.token_file = None

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.end()
            raise

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print(f"--- server log of {self.data}\n{self.log()[-4000:]}")
        self.end()

    # ---- life ----
    def launch(self):
        """Starts the server and does not wait for it."""
        command = [BINARY, "up", "--data", self.data, "--listen", "127.0.0.1:0", "--json", *self.options]
        if self.simulate:
            command += ["--simulate", self.simulate]
        environment = {**ENVIRONMENT, "HOME": str(self.folder), "LANG": "C.UTF-8", **self.env}
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL,
                                            env=environment, start_new_session=True)

    def start(self):
        """Starts the server and returns when it serves."""
        self.launch()
        served = json.loads(self._first_line())
        self.url, self.token_file = served["url"], served["token_file"]
        return self

    def _first_line(self):
        lines = []
        reader = threading.Thread(target=lambda: lines.append(self.process.stdout.readline()), daemon=True)
        reader.start()
        reader.join(START_SECONDS_MAX)
        if not lines or not lines[0]:
            raise AssertionError(f"`moulin up` did not serve (exit {self.process.poll()}):\n{self.log()}")
        threading.Thread(target=self.process.stdout.read, daemon=True).start()  # never let it block on a full pipe
        return lines[0]

    def kill9(self):
        """The server is gone at once; workloads run on."""
        self.process.kill()
        self.process.wait()

    def stop(self, timeout=20):
        """SIGTERM, as a service manager does; returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def restart(self):
        self.kill9()
        return self.start()

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill9()
        deadline = time.monotonic() + 10
        while self.processes() and time.monotonic() < deadline:
            for pid in self.processes():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
        if self._own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        file = self.folder / "server.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def processes(self):
        """Every process but the server that has to do with our data folder: shims and workloads."""
        mark, found = str(self.folder).encode(), []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) in (os.getpid(), self.process.pid if self.process else 0):
                continue
            try:
                state = (entry / "stat").read_bytes().rsplit(b")", 1)[1].split()[0]
                said = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                if state != b"Z" and mark in said:
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    # ---- clients ----
    @property
    def client_environment(self):
        return {"MOULIN_URL": self.url, "MOULIN_TOKEN_FILE": str(self.token_file)}

    @property
    def token(self):
        return Path(self.token_file).read_text().strip()

    def cli(self, *arguments, stdin=None, env=None, check=True, cwd=None, timeout=CLI_SECONDS_MAX):
        """Runs a command against this server; with `check` it must exit 0."""
        answer = run_moulin(*[str(argument) for argument in arguments], stdin=stdin, cwd=cwd or self.folder,
                            env={**self.client_environment, **(env or {})}, timeout=timeout)
        if check and answer.code != 0:
            raise AssertionError(str(answer))
        return answer

    @contextlib.contextmanager
    def follow(self, *arguments):
        """A command that goes on by itself (`logs -f`); killed at the end of the block, whatever happened."""
        process = subprocess.Popen([BINARY, *arguments], env={**ENVIRONMENT, **self.client_environment},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   text=True, start_new_session=True)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def api(self, method, path, body=None, token=None, headers=None, timeout=20):
        """(status, decoded JSON or text). `path` is below /api/v1; token="" sends none.

        The answer must be as the API's document says."""
        return self.request(method, f"/api/v1{path}", body, token, headers, timeout)

    def request(self, method, target, body=None, token=None, headers=None, timeout=20):
        """The same for any target."""
        request = urllib.request.Request(f"{self.url}{target}", method=method)
        token = self.token if token is None else token
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, data, timeout=timeout) as response:
                status, kind, answer = response.status, response.headers.get("Content-Type"), response.read()
        except urllib.error.HTTPError as error:
            status, kind, answer = error.code, error.headers.get("Content-Type"), error.read()
        wrong = contract.complaint(method, target, status, kind, answer)
        if wrong:
            raise AssertionError(f"{method} {target} answered {status}, but {wrong}\n{answer[:2000]}")
        return status, _decode(answer)

    def run(self, *command, options=()):
        """Submits and returns the id."""
        return self.cli("run", "--detach", "--json", *options, "--", *command).json["id"]

    def show(self, workload):
        return self.cli("show", workload, "--json").json

    def state(self, workload):
        return self.show(workload)["state"]

    def wait_for_state(self, workload, *states, timeout=20.0):
        """Waits until the workload is in one of the states, and returns what `show` says."""
        last = {}

        def reached():
            last.update(self.show(workload))
            return last["state"] in states

        try:
            wait_for(reached, f"{workload} in {' or '.join(states)}", timeout)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {last.get('state')}\n{json.dumps(last, indent=1)}") from None
        return last


def _decode(data):
    text = data.decode(errors="replace")
    try:
        return json.loads(text)
    except ValueError:
        return text

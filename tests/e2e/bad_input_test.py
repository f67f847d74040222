"""Bad input: each is refused, nothing breaks, and the message says what to do about it."""

import os
import shutil
import socket
import sqlite3
import threading
import time
import unittest
from pathlib import Path

from moulin import BINARY, Server, run_moulin, wait_for

HUGE = 10**30


class Shared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.end)
        cls.server.start()

    def submit(self, **workload):
        return self.server.api("POST", "/workloads", {"workloads": [{"run": "true", **workload}]})

    def assert_serves(self):
        self.assertEqual(self.server.api("GET", "/server")[0], 200)


class WorkloadFields(Shared):
    """A workload that is wrong is refused with field, what was given, what is allowed."""

    def refused(self, status, field, workload, given=None, says=None):
        with self.subTest(workload=str(workload)[:100]):
            got, problem = self.submit(**workload)
            self.assertEqual(got, status, problem)
            self.assertTrue(problem.get("field", "").endswith(field), problem)
            if given is not None:
                self.assertEqual(problem["given"], given)
            self.assertTrue(problem.get("allowed") or problem.get("to_do"), problem)
            if says:
                self.assertIn(says, str(problem))

    def test_unknown_fields(self):
        self.refused(400, "workloads[0].gpus", {"gpus": 1}, "gpus")
        self.refused(400, "resources.gpuu", {"resources": {"gpuu": 1}}, "gpuu", "did you mean `gpu`?")
        self.refused(400, "workloads[0].image", {"image": "x"}, says="not built yet")
        for field in ("idle", "after", "secrets", "volumes", "ports"):
            self.refused(400, field, {field: ["x"]}, says="not built yet")

    def test_wrong_types(self):
        self.refused(400, ".replicas", {"replicas": "many"}, "many")
        self.refused(400, ".priority", {"priority": "high"}, "high")
        self.refused(400, ".name", {"name": 7}, "7")
        self.refused(400, ".resources.gpu", {"resources": {"gpu": True}}, "true")
        self.refused(400, ".resources.gpu", {"resources": {"gpu": [1]}}, "[1]")
        self.refused(400, ".resources", {"resources": 1})
        self.refused(400, ".env", {"env": "A=b"})
        self.refused(400, ".run", {"run": 5})
        self.refused(400, ".class", {"class": "best"}, "best", "production")
        self.refused(400, ".kind", {"kind": "thing"}, "thing", "notebook")

    def test_shares(self):
        def gpu(amount):
            return {"resources": {"gpu": amount}}

        self.refused(400, ".resources.gpu", gpu(0), "0", "without GPU")
        self.refused(400, ".resources.gpu", gpu(1.5), "1.5", "{count: 2, share: 0.75}")
        self.refused(400, ".resources.gpu", gpu(0.0001), "0.0001", "0.01")
        self.refused(400, ".resources.gpu", gpu(0.009), "0.009", "0.01")
        self.refused(400, ".resources.gpu", gpu(-1), "-1")
        self.refused(400, ".resources.gpu", gpu(-0.5), "-0.5")
        self.refused(400, ".resources.gpu", gpu(HUGE))
        self.refused(400, ".resources.gpu", gpu(1e300))
        self.refused(400, ".resources.gpu.count", gpu({"count": 0, "share": 0.5}), "0")
        self.refused(400, ".resources.gpu.memory", gpu({"memory": "-1GiB"}), "-1GiB")
        for amount in ("0", "1.5", "0.0001", "-1", "1e300", "NaN", "0x1"):
            answer = self.server.cli("run", f"--gpu={amount}", "--", "true", check=False)
            self.assertEqual(answer.code, 2, str(answer))
            self.assertIn("allowed:", answer.err)

    def test_what_can_never_run(self):
        self.refused(422, "resources.gpu.memory", {"resources": {"gpu": {"memory": "500GiB"}}}, "500GiB", "80972MiB")
        self.refused(422, "resources.gpu_model", {"resources": {"gpu": 1, "gpu_model": "B200"}}, "B200", "H100-80GB")
        self.refused(422, "resources.gpu", {"resources": {"gpu": 9}}, says="at most 8")
        self.refused(422, "replicas", {"resources": {"gpu": 1}, "replicas": 9}, "9", "at most 8")
        self.refused(422, "resources.memory", {"resources": {"memory": "60TiB"}})
        self.refused(422, "resources.cpu", {"resources": {"cpu": 1000}})

    def test_numbers_out_of_range(self):
        self.refused(400, ".replicas", {"replicas": 0}, "0")
        self.refused(400, ".replicas", {"replicas": -1}, "-1")
        self.refused(400, ".replicas", {"replicas": HUGE})
        self.refused(400, ".priority", {"priority": -HUGE})
        self.refused(400, ".priority", {"priority": 10**9})
        self.refused(400, ".resources.cpu", {"resources": {"cpu": -1}}, "-1")
        self.refused(400, ".resources.cpu", {"resources": {"cpu": HUGE}})
        self.refused(400, ".resources.memory", {"resources": {"memory": "-5GiB"}}, "-5GiB")
        self.refused(400, ".resources.memory", {"resources": {"memory": "99999TiB"}})
        self.refused(400, ".limits.duration", {"limits": {"duration": "-5s"}})
        self.refused(400, ".limits.duration", {"limits": {"duration": "99999999999999999999h"}})
        self.refused(400, ".checkpoint.grace", {"checkpoint": {"grace": "1h"}}, "1h", "10m")
        self.refused(400, ".array", {"array": "5-1"}, "5-1")
        self.refused(400, ".array", {"array": "0-99999"}, "0-99999")

    def test_names_and_limits(self):
        self.refused(400, ".name", {"name": "A b"}, "A b")
        self.refused(400, ".name", {"name": "a" * 64})
        status, problem = self.submit(project="nobody")
        self.assertEqual((status, problem["given"]), (404, "nobody"))
        self.assertIn("project list", problem["to_do"])
        workload = self.server.run("sleep", "60", options=["--name", "twin"])
        self.refused(409, "name", {"name": "twin"}, "twin", "default")
        self.server.cli("stop", workload)
        self.server.wait_for_state(workload, "stopped")
        self.assertEqual(self.submit(name="twin")[0], 201, "a finished one leaves its name")
        self.server.cli("project", "create", "small", "--limit", "2")
        self.refused(422, "resources.gpu", {"project": "small", "resources": {"gpu": 4}}, says="limit of small")

    def test_text_that_is_none(self):
        self.refused(400, ".run", {"run": "a\0b"}, says="NUL")
        self.refused(400, ".run[1]", {"run": ["a", "b\0"]}, says="NUL")
        self.refused(400, ".env.A", {"env": {"A": "x\0y"}}, says="NUL")
        self.refused(400, ".name", {"name": "x\0"})
        status, problem = self.server.api("POST", "/workloads", b'{"workloads":[{"run":"\xff\xfe"}]}')
        self.assertEqual((status, problem["field"]), (400, "body"))
        file = self.server.folder / "latin1.yaml"
        file.write_bytes(b"run: echo \xff\xfe\n")
        answer = self.server.cli("apply", "-f", file, check=False)
        self.assertEqual(answer.code, 2, str(answer))
        self.assertIn("UTF-8", answer.err)
        answer = self.server.cli("run", "--detach", "--", "echo", b"\xff".decode(errors="surrogateescape"), check=False)
        self.assertEqual(answer.code, 2, str(answer))

    def test_paths_that_climb(self):
        self.refused(400, ".folder", {"folder": "../x"}, "../x")
        self.refused(400, ".folder", {"folder": "/a/../b"}, "/a/../b")
        self.refused(400, ".checkpoint.path", {"checkpoint": {"path": "../../x"}}, "../../x")
        for path in ("/workloads/..%2f..%2fetc", "/projects/%00", "/projects/..%2f..", "/projects/%ff",
                     "/workloads/../../../etc/passwd", "/nodes/..%5c.."):
            self.assertIn(self.server.api("GET", path)[0], (400, 404), path)

    def test_documents_that_are_none(self):
        for body in (b"", b"{", b"[" * 100_000, b'{"workloads":[]}', b'{"workloads":[{"run":"a","run":"b"}]}', b"null",
                     b'{"workloads":{}}', b'{"workloads":[{"run":"true"}],"more":1}'):
            status, problem = self.server.api("POST", "/workloads", body)
            self.assertEqual(status, 400, body[:40])
            self.assertTrue(problem["field"] and problem["detail"], problem)
        for text in ("run: [", "a: &x [*x]", "run: true\nrun: false", "- 1", "run: !!python/object:os.system x", ""):
            answer = self.server.cli("apply", "-f", "-", stdin=text, check=False)
            self.assertEqual(answer.code, 2, str(answer))
        bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9))
        self.assertEqual(self.server.cli("apply", "-f", "-", stdin=bomb, check=False).code, 2)
        self.assertEqual(self.server.api("POST", "/workloads", b"{}", headers={"Content-Type": "text/plain"})[0], 400)


class Running(Shared):
    """What only shows when the program starts, or while it runs."""

    def test_command_not_found(self):
        answer = self.server.cli("run", "--", "no-such-program", check=False)
        self.assertNotEqual(answer.code, 0)
        self.assertIn("command not found: no-such-program", answer.err)
        self.assertIn("install it", answer.err)

    def test_folder_missing(self):
        answer = self.server.cli("run", "--folder", "/nowhere/at/all", "--", "true", check=False)
        self.assertNotEqual(answer.code, 0)
        self.assertIn("/nowhere/at/all", answer.err)
        gone = self.server.folder / "gone"
        gone.mkdir()
        blocker = self.server.run("sleep", "60", options=["--gpu", "8", "--name", "blocker"])
        self.server.wait_for_state(blocker, "running")
        workload = self.server.cli("run", "--detach", "--json", "--gpu", "1", "--", "true", cwd=gone).json["id"]
        gone.rmdir()
        self.server.cli("stop", blocker)
        ended = self.server.wait_for_state(workload, "failed")
        self.assertIn(str(gone), ended["attempts"][0]["replicas"][0]["exit"]["error"])

    def test_log_file_deleted(self):
        workload = self.server.run("sh", "-c", "echo before; while [ ! -e go ]; do sleep 0.05; done; echo after")
        self.server.wait_for_state(workload, "running")
        folder = self.server.data / "attempts" / workload / "1/0"
        files = wait_for(lambda: list(folder.glob("stdout.*.log")), "a log file")
        wait_for(lambda: "before" in self.server.cli("logs", workload).out, "the first line")
        for file in files:
            file.unlink()
        (self.server.folder / "go").touch()
        self.server.wait_for_state(workload, "succeeded")
        (self.server.folder / "go").unlink()
        self.assertIn("after", self.server.cli("logs", workload).out)

    def test_symlink_among_the_logs(self):
        secret = self.server.folder / "secret"
        secret.write_text("2025-12-01T06:23:00.123456Z out the secret\n")
        workload = self.server.run("echo", "plain")
        self.server.wait_for_state(workload, "succeeded")
        folder = self.server.data / "attempts" / workload / "1/0"
        (folder / "stdout.9.log").symlink_to(secret)
        next(folder.glob("stdout.1.log"), folder / "none").unlink(missing_ok=True)
        (folder / "stdout.1.log").symlink_to(secret)
        self.assertNotIn("secret", self.server.cli("logs", workload, check=False).out)
        self.assert_serves()

    def test_runaway_output_is_bounded(self):
        workload = self.server.run("sh", "-c", "yes | head -c 3000000; printf '\\377\\376\\000 end\\n'")
        self.server.wait_for_state(workload, "succeeded")
        self.assertIn("end", self.server.cli("logs", workload, "--tail", "1").out)


class Folder(unittest.TestCase):
    """The data folder and the address of a server."""

    def up(self, *options):
        return run_moulin("up", *[str(option) for option in options], timeout=20)

    def test_locked(self):
        with Server() as server:
            answer = self.up("--data", server.data, "--listen", "127.0.0.1:0")
            self.assertEqual(answer.code, 7, str(answer))
            self.assertIn(str(server.process.pid), answer.err)
            self.assertIn("--data", answer.err)
            self.assertEqual(server.api("GET", "/server")[0], 200)

    def test_port_in_use(self):
        with Server() as server:
            address = server.url.removeprefix("http://")
            answer = self.up("--data", server.folder / "other", "--listen", address)
            self.assertNotEqual(answer.code, 0)
            self.assertIn(address.rsplit(":", 1)[1], answer.err)
            self.assertIn("--listen", answer.err)

    def test_newer_version(self):
        with Server() as server:
            server.stop()
            with sqlite3.connect(server.data / "journal.db") as journal:
                journal.execute("UPDATE meta SET value = 99 WHERE name = 'format'")
                journal.execute("UPDATE meta SET value = '9.9.9' WHERE name = 'written_by'")
            journal.close()
            answer = self.up("--data", server.data, "--listen", "127.0.0.1:0")
            self.assertNotEqual(answer.code, 0, str(answer))
            self.assertIn("newer", answer.err)
            self.assertIn("9.9.9", answer.err)

    def test_damaged_journal(self):
        with Server() as server:
            server.run("true")
            server.stop()
            with sqlite3.connect(server.data / "journal.db") as journal:
                journal.execute("UPDATE records SET bytes = x'00' WHERE sequence = 5")
            journal.close()
            shutil.rmtree(server.data / "journal.db-snapshots", ignore_errors=True)
            answer = self.up("--data", server.data, "--listen", "127.0.0.1:0", "--simulate", "1xT4")
            self.assertNotEqual(answer.code, 0, str(answer))
            self.assertIn("5", answer.err)
            verified = run_moulin("journal", "verify", "--data", server.data)
            self.assertEqual(verified.code, 1, str(verified))

    def test_wrong_options(self):
        for options in (["--listen", "nonsense"], ["--listen", "127.0.0.1:99999"], ["--listen", "0.0.0.0:0"],
                        ["--simulate", "8xNOTHING"], ["--simulate", "0xH100-80GB"], ["--simulate", "9" * 300],
                        ["--frobnicate"], ["--data", "/dev/null/x"], ["word"]):
            folder = [] if "--data" in options else ["--data", "/tmp/moulin-e2e-never"]
            answer = self.up(*folder, *options)
            self.assertNotEqual(answer.code, 0, str(answer))
            self.assertTrue(answer.err.startswith("moulin: "), str(answer))
            self.assertRegex(answer.err, "to do:|allowed:", str(answer))
        shutil.rmtree("/tmp/moulin-e2e-never", ignore_errors=True)


class Network(Shared):
    """Clients that are wrong, slow, or strangers."""

    def raw(self, first, more=(), timeout=10):
        """What the server answers to bytes; it may hang up at any time."""
        host, port = self.server.url.removeprefix("http://").rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=timeout) as connection:
            try:
                connection.sendall(first)
                for piece in more:
                    connection.sendall(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has answered and hung up
            answer = b""
            try:
                while piece := connection.recv(65536):
                    answer += piece
            except (ConnectionResetError, TimeoutError):
                pass
            return answer.decode(errors="replace")

    def head(self, line="GET /api/v1/server", *headers):
        lines = [f"{line} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self.server.token}", *headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def test_foreign_and_expired_tokens(self):
        for token in ("nonsense", "x" * 5000, self.server.token[:-1], self.server.token + "a"):
            status, problem = self.server.api("GET", "/workloads", token=token)
            self.assertEqual((status, problem["title"]), (401, "unauthenticated"))
            self.assertTrue(problem["to_do"])
        issued = self.server.cli("token", "create", "--expires", "1s", "--json").json
        self.assertEqual(self.server.api("GET", "/whoami", token=issued["secret"])[0], 200)
        wait_for(lambda: self.server.api("GET", "/whoami", token=issued["secret"])[0] == 401, "the token to expire", 5)
        with Server(simulate="1xT4") as other:
            self.assertEqual(self.server.api("GET", "/workloads", token=other.token)[0], 401)
        self.server.cli("user", "create", "eve")
        secret = self.server.cli("token", "create", "--user", "eve", "--json").json["secret"]
        self.assertIn(self.server.api("POST", "/workloads", {"workloads": [{"run": "true"}]}, token=secret)[0],
                      (403, 404))
        self.assertEqual(self.server.api("POST", "/server/down", token=secret)[0], 403)

    def test_huge_body(self):
        head = self.head("POST /api/v1/workloads", "Content-Type: application/json", f"Content-Length: {1 << 30}")
        started = time.monotonic()
        answer = self.raw(head, [b"x" * 65536] * 4)
        self.assertRegex(answer, r"^HTTP/1.1 413 ")
        self.assertIn("allowed", answer)
        self.assertLess(time.monotonic() - started, 9, "before the rest is read")
        chunked = self.head("POST /api/v1/workloads", "Content-Type: application/json", "Transfer-Encoding: chunked")
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        self.assertRegex(self.raw(chunked, [piece] * 40), r"^(HTTP/1.1 413 |$)")
        self.assert_serves()

    def test_many_headers(self):
        self.assertRegex(self.raw(self.head("GET /api/v1/server", *[f"X-{i}: 1" for i in range(100_000)])),
                         r"^(HTTP/1.1 431 |$)")
        self.assertRegex(self.raw(self.head("GET /api/v1/server", *[f"X-{i}: 1" for i in range(150)])),
                         r"^HTTP/1.1 431 ")
        self.assertRegex(self.raw(self.head("GET /api/v1/server", "X: " + "y" * 40_000)), r"^HTTP/1.1 431 ")
        self.assertRegex(self.raw(self.head("GET /" + "a" * 10_000)), r"^HTTP/1.1 (414|431) ")
        self.assert_serves()

    def test_broken_requests(self):
        for first in (b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff\xfe" * 100 + b"\r\n\r\n",
                      b"GET /api/v1/server HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n",
                      b"POST /api/v1/workloads HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
                      b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                      b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"):
            self.assertRegex(self.raw(first), r"^(HTTP/1.1 [45]\d\d |$)", first[:60])
        self.assertRegex(self.raw(b"GET /api/v1/server HTTP/1.1\r\nHost: evil.example\r\n\r\n"), r"^HTTP/1.1 40[13] ")
        self.assert_serves()

    def test_slow_clients_hold_up_nobody(self):
        host, port = self.server.url.removeprefix("http://").rsplit(":", 1)
        slow = [socket.create_connection((host, int(port))) for _ in range(200)]
        try:
            for connection in slow:
                connection.sendall(b"GET /api/v1/workloads HTTP/1.1\r\nHost: lo")
            longest = 0.0
            for _ in range(20):
                started = time.monotonic()
                self.assertEqual(self.server.api("GET", "/workloads")[0], 200)
                longest = max(longest, time.monotonic() - started)
            self.assertLess(longest, 5)
        finally:
            for connection in slow:
                connection.close()

    def test_reader_that_takes_nothing(self):
        """A follower that never reads is cut off; the program and others go on."""
        host, port = self.server.url.removeprefix("http://").rsplit(":", 1)
        program = "while [ ! -e read-on ]; do sleep 0.02; done; yes 0123456789012345 | head -c 20000000"
        workload = self.server.run("sh", "-c", program)
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect((host, int(port)))
            deaf.sendall(self.head(f"GET /api/v1/workloads/{workload}/logs?follow=true"))
            (self.server.folder / "read-on").touch()
            self.server.wait_for_state(workload, "succeeded")
        self.assert_serves()

    def test_strange_values_of_queries(self):
        for query in ("limit=0", "limit=99999", "limit=-1", "limit=x", "cursor=nonsense", "foo=1", "state=mad",
                      "state=running&state=mad", "kind=%00", "name=%ff", "limit=1&limit=2"):
            status, problem = self.server.api("GET", f"/workloads?{query}")
            self.assertEqual(status, 400, query)
            self.assertTrue(problem["field"], query)


if __name__ == "__main__":
    unittest.main()

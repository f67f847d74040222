"""kill -9 of the server at random moments under load: nothing that was accepted is lost,
doubled or orphaned, and what ran through a crash ends with its true exit status.

Workloads write a line when they start and one when they end, so that a second run of any
would be seen. A request whose answer was cut off is repeated under its key.
"""

import collections
import http.client
import os
import random
import threading
import time
import unittest
from pathlib import Path

from moulin import LONG, Server, wait_for

KILLS = 300 if LONG else 50
FINISHED = ("succeeded", "failed", "stopped")
CODES = (0, 0, 0, 3, 77)  # exit codes of the programs
WAITING_MAX = 40  # no new work while so many are unfinished


class Load(threading.Thread):
    """A user who submits and stops, again and again, and remembers what was promised."""

    def __init__(self, server, seed):
        super().__init__(daemon=True)
        self.server, self.dice = server, random.Random(seed)
        self.lines = server.folder / "lines"
        self.codes = {}       # id: the exit code of its program
        self.stopped = set()  # ids whose stop was accepted
        self.serving, self.over = threading.Event(), threading.Event()
        self.wrong = []
        self.requests = 0

    def ask(self, method, path, body=None, headers=None):
        """The answer, from this life of the server or a later one."""
        while not self.over.is_set():
            self.serving.wait(1)
            try:
                return self.server.api(method, path, body, headers=headers, timeout=10)
            except (OSError, http.client.HTTPException):
                time.sleep(0.005)  # it was killed
        return 0, {}

    def submit(self):
        code, seconds = self.dice.choice(CODES), self.dice.choice((0, 0, 0.1, 0.3, 2, 4))
        program = (f"echo start $MOULIN_WORKLOAD_ID $MOULIN_ATTEMPT >> {self.lines}; sleep {seconds}; "
                   f"echo end $MOULIN_WORKLOAD_ID $MOULIN_ATTEMPT >> {self.lines}; exit {code}")
        workload = {"run": program, "folder": str(self.server.folder)}
        if self.dice.random() < 0.8:
            workload["resources"] = {"gpu": self.dice.choice((0.1, 0.25, 1))}
        if self.dice.random() < 0.1:
            workload["array"] = "0-3"
        self.requests += 1
        status, answer = self.ask("POST", "/workloads", {"workloads": [workload]},
                                  {"Idempotency-Key": f"request-{self.requests}"})
        if status == 201:
            self.codes.update((workload, code) for workload in answer["ids"])
        elif status:
            self.wrong.append((status, answer))

    def stop_one(self):
        workload = self.dice.choice(list(self.codes)[-8:])
        status, answer = self.ask("POST", f"/workloads/{workload}/stop")
        if status == 202 or (status == 200 and answer["state"] == "stopped"):
            self.stopped.add(workload)
        elif status not in (0, 200):  # 200: it had ended
            self.wrong.append((status, answer))

    def unfinished(self):
        states = "&".join(f"state={state}" for state in ("waiting", "starting", "running", "stopping"))
        status, answer = self.ask("GET", f"/workloads?{states}&limit=1000")
        return len(answer["items"]) if status == 200 else 0

    def run(self):
        while not self.over.is_set():
            if self.codes and self.dice.random() < 0.15:
                self.stop_one()
            elif self.unfinished() < WAITING_MAX:
                self.submit()
            else:
                time.sleep(0.02)


def everything(server):
    """All workloads by id; fails when one is listed twice."""
    found, cursor = {}, ""
    while cursor is not None:
        status, page = server.api("GET", f"/workloads?limit=1000{cursor and '&cursor=' + cursor}")
        assert status == 200, page
        for item in page["items"]:
            assert item["id"] not in found, f"{item['id']} is listed twice"
            found[item["id"]] = item
        cursor = page["next"]
    return found


def replicas_alive():
    """(workload, attempt and replica): processes, by the mark in their environment."""
    found = collections.Counter()
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        for variable in environment.split(b"\0"):
            if variable.startswith(b"MOULIN_MARK="):
                workload, attempt, replica = variable[12:].decode().split("-", 2)[1].split(".")
                found["w-" + workload, attempt, replica] += 1
    return found


class Crash(unittest.TestCase):
    timeout = 900 if LONG else 180

    def setUp(self):
        self.seed = int(os.environ.get("MOULIN_SEED", random.randrange(1 << 32)))
        self.dice = random.Random(self.seed)
        print(f"seed {self.seed} (MOULIN_SEED)")

    def test_kill_at_any_moment(self):
        with Server() as server:
            load = Load(server, self.dice.random())
            load.serving.set()
            load.start()
            for number in range(KILLS):
                time.sleep(self.dice.uniform(0, 0.25))
                load.serving.clear()
                server.kill9()
                if number % 5 == 4:  # and while it recovers
                    server.launch()
                    time.sleep(self.dice.uniform(0, 0.1))
                    server.kill9()
                promised = set(load.codes)
                server.start()
                load.serving.set()
                lost = promised - set(everything(server))
                self.assertEqual(lost, set(), f"lost after kill {number}")
            load.over.set()
            load.join(30)
            self.assertEqual(load.wrong, [])
            self.assertGreater(len(load.codes), KILLS)
            self.check_the_end(server, load)

    def check_the_end(self, server, load):
        found = wait_for(lambda: (items := everything(server)) and
                         all(item["state"] in FINISHED for item in items.values()) and items, "all to finish", 90)
        # The last request of all may have been accepted without its answer.
        self.assertLessEqual(len(set(found) - set(load.codes)), 4, "workloads that nobody asked for")
        self.assertEqual(set(load.codes) - set(found), set(), "lost")
        lines = collections.Counter(load.lines.read_text().splitlines())
        self.assertEqual([line for line, count in lines.items() if count > 1], [], "ran twice")
        for workload, code in load.codes.items():
            self.check_one(server, workload, code, found[workload]["state"], workload in load.stopped, lines)
        wait_for(lambda: not [key for key in replicas_alive() if key[0] in found], "all processes to be gone", 10)
        live = server.data / "attempts/live"
        wait_for(lambda: not list(live.iterdir()), "no attempt to be left open", 10)

    def check_one(self, server, workload, code, state, stopped, lines):
        started, ended = lines[f"start {workload} 1"], lines[f"end {workload} 1"]
        self.assertEqual(lines[f"start {workload} 2"], 0, "nothing was lost, so nothing runs again")
        if stopped:
            self.assertEqual(state, "stopped", workload)
            return
        self.assertEqual((state, started, ended), ("failed" if code else "succeeded", 1, 1), server.show(workload))
        if code:
            shown = server.api("GET", f"/workloads/{workload}")[1]
            self.assertEqual(shown["attempts"][0]["replicas"][0]["exit"]["code"], code, shown)


class Neighbours(unittest.TestCase):
    """What else may happen to processes of ours."""

    def test_server_that_is_away_for_the_end(self):
        with Server() as server:
            workload = server.run("sh", "-c", "sleep 0.4; echo late words; exit 9", options=["--gpu", "0.25"])
            server.wait_for_state(workload, "running")
            server.kill9()
            time.sleep(0.8)
            server.start()
            ended = server.wait_for_state(workload, "failed")
            self.assertEqual(ended["attempts"][0]["replicas"][0]["exit"]["code"], 9)
            self.assertEqual(server.cli("logs", workload).out, "late words\n")

    def test_same_process_through_a_restart(self):
        with Server() as server:
            workload = server.run("sleep", "60", options=["--gpu", "1"])
            before = server.wait_for_state(workload, "running")
            server.restart()
            after = server.show(workload)
            self.assertEqual(after["state"], "running")
            self.assertEqual(after["attempts"][0]["replicas"][0]["pid"], before["attempts"][0]["replicas"][0]["pid"])
            self.assertEqual(after["placement"], before["placement"])
            server.cli("stop", workload)
            server.wait_for_state(workload, "stopped")

    def test_shim_that_is_killed(self):
        """Its tree is ended, the attempt is lost, and the workload runs again."""
        with Server() as server:
            program = "[ $MOULIN_ATTEMPT = 2 ] && exit 0; sleep 60"
            status, answer = server.api("POST", "/workloads", {"workloads": [
                {"run": program, "folder": str(server.folder), "retry": {"on": ["node_lost"], "back_off": "0s"}}]})
            self.assertEqual(status, 201, answer)
            workload = answer["ids"][0]
            server.wait_for_state(workload, "running")
            shims = [pid for pid in server.processes()
                     if Path(f"/proc/{pid}/comm").read_text().strip() == "moulin-shim"]
            self.assertEqual(len(shims), 1)
            os.kill(shims[0], 9)
            ended = server.wait_for_state(workload, "succeeded")
            self.assertEqual([attempt["outcome"] for attempt in ended["attempts"]], ["node_lost", "succeeded"])
            self.assertEqual([key for key in replicas_alive() if key[0] == workload], [])

    def test_stop_that_was_accepted_survives(self):
        with Server() as server:
            workload = server.run("sh", "-c", "trap 'sleep 0.3; exit 0' TERM; while :; do sleep 0.05; done")
            server.wait_for_state(workload, "running")
            server.cli("stop", workload)
            server.restart()
            server.wait_for_state(workload, "stopped")


if __name__ == "__main__":
    unittest.main()

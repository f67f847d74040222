#!/usr/bin/env python3
"""The story of Moulin in less than a minute, with real processes on simulated GPUs.

    demo/demo.py MOULIN [--keep]

Each promise that the story makes is checked; the exit status is 1 when one does not hold.
scripts/demo builds what it needs and runs this.
"""

import argparse
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import figures
from stage import ROOT, Broken, Stage

RATES = {1: "0.3", 2: "0.1", 3: "0.03", 4: "0.01"}  # seed to learning rate
DIGITS = [f"digits-{seed}" for seed in RATES]
SWEEP = [f"sweep-{index}" for index in range(4)]
TRAINED = [*DIGITS, *SWEEP, "pretrain", "ablation"]  # those with an accuracy
ACCURACY_LEAST = 0.85
DIGITS_COMMAND = ["python3", "examples/digits/train.py"]


class Story:
    def __init__(self, stage):
        self.stage = stage
        self.socket = stage.folder / "notebook.sock"

    def submit(self, *options, command):
        self.stage.moulin("run", "--detach", *options, "--", *command, answer="hidden")

    # ---- the acts, in order ----
    def two_teams(self):
        stage = self.stage
        stage.act("One binary, eight GPUs that do not exist, two teams")
        stage.up()
        stage.moulin("project", "create", "vision", "--guaranteed", "3", "--limit", "8", answer="hidden")
        stage.moulin("project", "create", "nlp", "--guaranteed", "5", answer="hidden")
        stage.moulin("quota")

    def everybody_at_once(self):
        stage = self.stage
        stage.act("Everybody at once: trainings on a quarter each, a notebook, a gang, a sweep, a batch job")
        for seed, rate in RATES.items():
            self.submit("-p", "vision", "--gpu", "0.25", "--name", f"digits-{seed}",
                        command=[*DIGITS_COMMAND, "--seed", seed, "--learning-rate", rate, "--pace", "0.5"])
        self.submit("-p", "vision", "--kind", "notebook", "--gpu", "0.5", "--name", "notebook",
                    command=["python3", "examples/notebook/notebook.py", "--socket", self.socket])
        self.submit("-p", "nlp", "--replicas", "4", "--gpu", "0.25", "--name", "gang",
                    command=["python3", "examples/gang/gang.py"])
        self.submit("-p", "nlp", "--array", "0-3", "--gpu", "0.25", "--name", "sweep",
                    command=["python3", "examples/sweep/sweep.py"])
        self.submit("-p", "vision", "--class", "batch", "--gpu", "4", "--name", "pretrain",
                    "--checkpoint", stage.folder / "pretrain.ckpt", "--grace", "10s",
                    command=[*DIGITS_COMMAND, "--seed", "5", "--epochs", "30", "--pace", "0.25"])
        for name in (*DIGITS, "notebook", "gang", "pretrain"):
            stage.wait_state(name, "running", "succeeded")
        stage.moulin("ps")
        places = [self.devices(name) for name in DIGITS]
        stage.promise(all(place == places[0] and len(place) == 1 for place in places),
                      f"the four trainings share one device, {places[0][0]}")

    def a_cell(self):
        stage = self.stage
        stage.act("The notebook is a process like any other, and remembers")
        stage.wait_for(self.socket.exists, "the notebook listens")
        self.cell("answer = 6 * 7")
        stage.promise(self.cell("answer") == "42\n", "a cell finds the variable of the cell before")

    def production_comes(self):
        stage = self.stage
        stage.act("Production comes: the batch job saves its work and makes room")
        stage.wait_for(lambda: "epoch 5/" in stage.quiet("logs", "pretrain"), "pretrain has done five epochs")
        self.submit("-p", "nlp", "--class", "production", "--gpu", "4", "--name", "serve",
                    command=["python3", "-m", "http.server", "--bind", "127.0.0.1", "0"])
        stage.wait_state("serve", "running")
        stage.moulin("logs", "pretrain", "--tail", "2")
        stage.quote(self.tail(stage.moulin("events", "pretrain", answer="hidden"), 4))
        attempt = stage.show("pretrain")["attempts"][0]
        stage.promise(attempt["outcome"] == "preempted" and attempt["cause"] == "higher_class",
                      "pretrain gave way to a higher class, and waits for its next attempt")
        lost, held = attempt["lost_gpu_seconds"], attempt["held_gpu_seconds"]
        stage.promise(attempt["checkpointed"] is not None and lost < held / 2,
                      f"it saved first: {lost:.1f} GPU-seconds lost of {held:.1f}")

    def why_do_i_wait(self):
        stage = self.stage
        stage.act("Why do I wait? The numbers, and the smallest change that helps")
        self.submit("-p", "vision", "--gpu", "5", "--name", "ablation",
                    command=[*DIGITS_COMMAND, "--seed", "6", "--hidden", "16", "--pace", "0.2"])
        said = stage.moulin("why", "ablation")
        change = re.search(r"^ +moulin (run --like \S+ --replace --gpu .*)$", said, re.MULTILINE)
        stage.promise(change is not None, "`why` names a smaller share that would start now, with its command")
        stage.say("So be it:")
        stage.moulin(*shlex.split(change.group(1)), "--detach")
        shown = stage.wait_state("ablation", "running", "succeeded")
        stage.promise(figures.waited(shown) < 1, f"it had its place {figures.waited(shown) * 1000:.0f} ms later")

    def kill_the_server(self):
        stage = self.stage
        stage.act("kill -9: nobody notices")
        self.submit("-p", "nlp", "--name", "unseen", command=["sleep", "1"])
        stage.wait_state("unseen", "running")
        before = self.running_processes()
        stage.kill9()
        stage.promise(self.cell("answer + 1") == "43\n", "without a server the notebook still answers")
        stage.say("A job ends while nobody looks ...")
        time.sleep(1.2)
        stage.up()
        after = self.running_processes()
        stage.promise(stage.wait_state("unseen", "succeeded")["attempt_count"] == 1,
                      "the job that ended meanwhile has succeeded, with its true exit code")
        same = [name for name in before if before[name] == after.get(name)]
        gone = [name for name in before if name not in same]
        ended = [name for name in gone if stage.show(name)["state"] == "succeeded"]
        stage.promise(sorted(ended) == sorted(gone) and {"notebook", "serve"} <= set(same),
                      f"{len(same)} running workloads go on in the same processes: {', '.join(sorted(same))}")

    def the_batch_job_returns(self):
        stage = self.stage
        stage.act("Production is done: the batch job goes on where it was")
        stage.moulin("stop", "serve", answer="hidden")
        stage.wait_for(lambda: "epoch" in stage.quiet("logs", "pretrain", "--attempt", "2", check=False),
                       "pretrain runs again")
        log = stage.moulin("logs", "pretrain", "--attempt", "2")
        epoch = re.search(r"resumed after epoch (\d+)", log)
        stage.promise(epoch is not None and int(epoch.group(1)) >= 5, "it resumed from its checkpoint")

    def the_bill(self):
        stage = self.stage
        stage.act("What came of it")
        names = [*DIGITS, "notebook", "gang", *SWEEP, "pretrain", "serve", "ablation"]
        for name in [name for name in names if name not in ("notebook", "serve")]:
            stage.wait_state(name, "succeeded")
        stage.moulin("stop", "notebook", answer="hidden")
        stage.wait_state("notebook", "stopped")
        stage.wait_state("serve", "stopped")
        logs = {name: stage.quiet("logs", self.newest(name)) for name in names}
        rows = [figures.row(stage.show(self.newest(name)), logs[name]) for name in names]
        stage.say("Held, used and lost are GPU-seconds; used is what the processes did with what they held.")
        stage.quote(figures.table(rows))
        learnt = [figures.accuracy(logs[name]) for name in TRAINED]
        stage.promise(all(accuracy and accuracy >= ACCURACY_LEAST for accuracy in learnt[:4] + learnt[8:]),
                      f"every training reads more than {ACCURACY_LEAST:.0%} of the digits")
        best = max(range(4), key=lambda index: learnt[4 + index])
        stage.promise(all(learnt[4:8]), f"the sweep has four answers; the best is {SWEEP[best]}")
        stage.promise(logs["gang"].count("all agree") == 4, "the four replicas of the gang agree")
        attempts = {row[0]: int(row[-1]) for row in rows}
        stage.promise(attempts.pop("pretrain") == 2 and set(attempts.values()) == {1},
                      "only pretrain needed a second attempt")

    # ---- helpers ----
    def newest(self, name):
        """The id of the newest workload of that name: `--replace` made two called ablation."""
        return max(workload["id"] for workload in self.stage.listing() if workload["name"] == name)

    def devices(self, name):
        shown = self.stage.wait_state(name, "running", "succeeded")
        return [gpu["uuid"] for replica in shown["attempts"][-1]["replicas"] for gpu in replica["gpus"]]

    def running_processes(self):
        """Name to (attempt, process) of each replica, of what runs."""
        running = [item["id"] for item in self.stage.listing() if item["state"] == "running"]
        shown = [self.stage.show(workload) for workload in running]
        return {item["name"]: [(item["attempt_count"], replica["pid"])
                               for replica in item["attempts"][-1]["replicas"]] for item in shown}

    def cell(self, text):
        words = ["python3", "examples/notebook/cell.py", "--socket", str(self.socket), text]
        self.stage.command_line(shlex.join(words))
        done = subprocess.run(words, env=self.stage.environment, cwd=ROOT, text=True, capture_output=True, timeout=20,
                              check=False)
        if done.returncode != 0:
            raise Broken(f"the notebook does not answer: {done.stderr.strip()}")
        self.stage.quote(done.stdout)
        return done.stdout

    @staticmethod
    def tail(text, lines):
        return "\n".join(text.splitlines()[-lines:])

    def tell(self):
        for act in (self.two_teams, self.everybody_at_once, self.a_cell, self.production_comes, self.why_do_i_wait,
                    self.kill_the_server, self.the_batch_job_returns, self.the_bill):
            act()


def keep_running(stage):
    stage.act("It stays")
    stage.say("Talk to it from any shell, then end it:")
    for line in (f"export MOULIN_DATA={stage.data}", f"export PATH={stage.binary.parent}:$PATH",
                 "moulin ps -a", "moulin run --gpu 0.25 -- echo hello",
                 f"moulin down && rm -r {stage.folder}      # when nothing runs any more"):
        stage.command_line(line)


def main():
    parser = argparse.ArgumentParser(description="The story of Moulin in less than a minute.")
    parser.add_argument("moulin", type=Path, help="the program")
    parser.add_argument("--keep", action="store_true", help="leave the server running at the end")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the floor is swept then, too
    stage = Stage(arguments.moulin)
    kept = False
    try:
        Story(stage).tell()
        if arguments.keep:
            keep_running(stage)
            kept = True
        else:
            stage.act("The end")
            stage.close()
            stage.promise(not stage.processes(), "no process is left")
        print(f"\n{stage.promises} promises kept in {time.monotonic() - stage.began:.0f} s.")
        return 0
    except Broken as broken:
        print(f"\nThe demo failed: {broken}\n--- the server's log", file=sys.stderr)
        print((stage.data / "server.log").read_text()[-3000:] if stage.data.exists() else "none", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    finally:
        if not kept:
            stage.sweep()


if __name__ == "__main__":
    sys.exit(main())

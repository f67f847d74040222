#!/usr/bin/env python3
"""Waits for the elements of a sweep and says which learning rate was the best.

    moulin apply -f examples/sweep/sweep.yaml
    python3 examples/sweep/collect.py [sweep]

Reads what `moulin` answers as JSON; nothing here knows how the elements run.
"""

import json
import os
import re
import subprocess
import sys

MOULIN = os.environ.get("MOULIN", "moulin")


def moulin(*arguments):
    done = subprocess.run([MOULIN, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return done.stdout


def elements(sweep):
    """The newest element for each index, by index."""
    found = {}
    for workload in json.loads(moulin("ps", "--all", "--json"))["items"]:
        origin = workload["origin"]
        if origin["kind"] == "array" and origin.get("name") == sweep:
            found.setdefault(origin["index"], workload)  # the list is newest first
    return [found[index] for index in sorted(found)]


def result(workload):
    """(learning rate, accuracy) that it wrote, following it until it has finished."""
    written = moulin("logs", "--follow", workload["id"])
    rate = re.search(r"learning rate (\S+)", written)
    accuracy = re.search(r"accuracy (\S+)", written)
    return rate and rate.group(1), accuracy and float(accuracy.group(1))


def main():
    sweep = sys.argv[1] if len(sys.argv) > 1 else "sweep"
    workloads = elements(sweep)
    if not workloads:
        sys.exit(f"no array called {sweep}: see `moulin ps -a`")
    best = None
    print(f"{'element':<12}{'learning rate':>14}{'accuracy':>10}")
    for workload in workloads:
        rate, accuracy = result(workload)
        shown = accuracy if accuracy is not None else "failed"
        print(f"{workload['name']:<12}{rate or '-':>14}{shown:>10}", flush=True)
        if accuracy is not None and (best is None or accuracy > best[1]):
            best = (rate, accuracy)
    if best is None:
        sys.exit("no element came to a result")
    print(f"best: learning rate {best[0]} with accuracy {best[1]}")


if __name__ == "__main__":
    main()

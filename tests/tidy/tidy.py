#!/usr/bin/env python3
"""The house rules as a test. Takes about a second.

    tests/tidy/tidy.py [--root DIR] [--only CHECK] [--list]

Known offences stand in ratchet.txt beside this file, one a line: check, path, how many.
The number may only go down: when there are fewer, the line must be lowered or removed.
What is right although a check objects stands in allow.txt: check, path, reason.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import banned  # noqa: E402,F401  (each module registers its checks)
import documents  # noqa: E402,F401
import shape  # noqa: E402,F401
import words  # noqa: E402,F401
from layering import CHECKS  # noqa: E402
from tree import Problem, Tree  # noqa: E402


def read_ratchet(path):
    """(check, path) to the number of offences that are known."""
    known = {}
    if path.exists():
        for line in path.read_text().split("\n"):
            if line.strip() and not line.startswith("#"):
                check, name, count = line.split()[:3]
                known[(check, name)] = int(count)
    return known


def read_allowed(path):
    """(check, path) pairs that are right for a reason that stands behind them."""
    lines = path.read_text().split("\n") if path.exists() else []
    return {tuple(line.split()[:2]) for line in lines if len(line.split()) > 2 and not line.startswith("#")}


def run_check(name, tree, known, allowed=frozenset()):
    """Problems of one check beyond the ratchet, and lines of ratchet or allow that are not needed."""
    problems = list(CHECKS[name](tree))
    for check, path in sorted(allowed):
        if check == name and not any(problem.path == path for problem in problems):
            problems.append(Problem("tests/tidy/allow.txt", 0, f"{path} needs no exception from {name} any more"))
    problems = [problem for problem in problems if (name, problem.path) not in allowed]
    counts = Counter(problem.path for problem in problems)
    excess = [problem for problem in problems if counts[problem.path] > known.get((name, problem.path), 0)]
    for (check, path), count in known.items():
        if check == name and counts[path] < count:
            excess.append(Problem(path, 0, f"better than the ratchet: write {counts[path]} instead of {count} "
                                           f"for {name} in tests/tidy/ratchet.txt (no line for 0)"))
    return excess


def main():
    parser = argparse.ArgumentParser(description="Checks the house rules.")
    parser.add_argument("--root", type=Path, default=HERE.parent.parent)
    parser.add_argument("--only", default="", help="run only checks whose name contains this")
    parser.add_argument("--list", action="store_true", help="say what is checked")
    arguments = parser.parse_args()
    names = [name for name in CHECKS if arguments.only in name]
    if arguments.list:
        for name in names:
            print(f"{name:24} {CHECKS[name].__doc__}")
        return 0

    tree = Tree(arguments.root)
    known = read_ratchet(arguments.root / "tests/tidy/ratchet.txt")
    allowed = read_allowed(arguments.root / "tests/tidy/allow.txt")
    failed = 0
    for name in names:
        problems = run_check(name, tree, known, allowed)
        failed += bool(problems)
        for problem in problems:
            print(f"{problem} [{name}]")
    print(f"tidy: {len(names) - failed} passed, {failed} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())

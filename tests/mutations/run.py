#!/usr/bin/env python3
"""Shows that the simulation bites: tests/mutations/run.py [--check] [NAME...]

Each tests/mutations/NAME.patch is a deliberate fault in the code. One after the other is
applied to a copy of the tree, moulin-sim is built there, and must fail. Without a fault it
must not. With --check only whether every patch still applies, which takes no build.

Prints a line for each and the count at the end; the exit code is 0 when all were found.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PATCHES = ROOT / "tests/mutations"
COPY = ROOT / "build/mutants"
BUILD = COPY / "build/release"  # lies to its sources as ours does, so that the compiler cache knows them
RUNS = ["--seed", "1", "--seeds", "8", "--events", "6000", "--no-shrink"]
BUILD_SECONDS_MAX = 3600
RUN_SECONDS_MAX = 900

_FOUND = re.compile(r"^FAILED by (\w+): (.*)$", re.MULTILINE)
_TOUCHED = re.compile(r"^\+\+\+ b/(.+)$", re.MULTILINE)


def patches(names):
    found = sorted(PATCHES.glob("*.patch"))
    unknown = set(names) - {path.stem for path in found}
    if unknown:
        sys.exit(f"no such mutation: {', '.join(sorted(unknown))}; there are {', '.join(p.stem for p in found)}")
    return [path for path in found if not names or path.stem in names]


def git_apply(folder, patch, *options):
    """Applies a patch to a folder that is no repository, or is told to be none."""
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    return subprocess.run(["git", "apply", *options, str(patch)], cwd=folder, env=environment, check=False,
                          capture_output=True, text=True)


def check(selected):
    failed = 0
    for patch in selected:
        # In the repository itself git would look at the index; this looks at the files.
        done = git_apply(ROOT, patch, "--check")
        if done.returncode != 0:
            failed += 1
            print(f"{patch.name} does not apply any more: make the fault anew\n{done.stderr.rstrip()}")
    print(f"{len(selected) - failed} passed, {failed} failed")
    return failed


def make_copy():
    """The tracked and the new files, so that a build here and a build there differ in the fault only."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    for name in listed:
        source, target = ROOT / name, COPY / name
        if not source.is_file():
            continue
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
    kept = set(listed)
    for path in [path for path in COPY.rglob("*") if path.is_file()]:
        name = path.relative_to(COPY)
        if name.parts[0] != "build" and str(name) not in kept:
            path.unlink()


def build():
    if not (BUILD / "build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=COPY, check=True,
                       stdout=subprocess.DEVNULL)
    done = subprocess.run(["ninja", "-C", str(BUILD), "moulin-sim"], check=False, capture_output=True, text=True,
                          timeout=BUILD_SECONDS_MAX)
    return None if done.returncode == 0 else done.stdout[-3000:]


def simulate():
    """The checker that failed and its sentence; nothing when all went well."""
    done = subprocess.run([str(BUILD / "moulin-sim"), *RUNS], cwd=COPY, check=False, capture_output=True, text=True,
                          timeout=RUN_SECONDS_MAX)
    found = _FOUND.findall(done.stdout)
    if done.returncode == 0 and not found:
        return None
    return found[0] if found else ("?", done.stdout[-300:] + done.stderr[-300:])


def restore(patch):
    for name in _TOUCHED.findall(patch.read_text()):
        shutil.copyfile(ROOT / name, COPY / name)


def try_one(patch):
    done = git_apply(COPY, patch)
    if done.returncode != 0:
        return False, f"does not apply: {done.stderr.strip()}"
    try:
        broken = build()
        if broken:
            return False, f"does not build:\n{broken}"
        found = simulate()
    finally:
        restore(patch)
    return (True, f"{found[0]}: {found[1]}") if found else (False, "NOT FOUND")


def main():
    parser = argparse.ArgumentParser(prog="tests/mutations/run.py", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only whether the patches apply")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    arguments = parser.parse_args()
    selected = patches(arguments.names)
    if arguments.check:
        return 1 if check(selected) else 0
    COPY.mkdir(parents=True, exist_ok=True)
    make_copy()
    failed = 0
    if not arguments.names:
        broken = build()
        found = None if broken else simulate()
        if broken or found:
            print(f"without a fault: {broken or found}")
            failed += 1
    for patch in selected:
        good, text = try_one(patch)
        failed += 0 if good else 1
        print(f"{'found    ' if good else 'NOT FOUND'} {patch.stem:30} {text}", flush=True)
    print(f"{len(selected) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

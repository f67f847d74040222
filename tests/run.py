#!/usr/bin/env python3
"""Runs the lanes of tests one after the other and counts single test cases.

A lane is built, then run. What counts as a case: a doctest case, a scenario file, a check
of tidy, a Python test, and any other ctest test as a whole. A program that prints
`N passed, N failed[, N skipped]` as its last such line is counted by it.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LANES = ("tidy", "unit", "e2e", "asan", "tsan", "fuzz", "simulation", "mutations")
DEFAULT_LANES = ("tidy", "unit", "e2e", "asan", "tsan")
LONG_LANES = ("fuzz", "simulation", "mutations")
FUZZ_SECONDS = 60
SIMULATION = ["--seed", "1000", "--seeds", "100", "--events", "50000", "--depth", "16"]  # 5,000,000 events
LANE_SECONDS_MAX = 3600  # a lane that takes longer hangs

_DOCTEST = re.compile(r"\[doctest\] test cases:\s*(\d+) \|\s*(\d+) passed \|\s*(\d+) failed \|\s*(\d+) skipped")
_SUMMARY = re.compile(r"\b(\d+) passed, (\d+) failed(?:, (\d+) skipped)?")
_UNITTEST = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
_UNITTEST_BAD = re.compile(r"\b(failures|errors|skipped)=(\d+)")


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    names: list = field(default_factory=list)  # of what failed

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.names += other.names

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def count_output(name, output, succeeded):
    """Cases in the output of one program; at least one failure when it did not succeed."""
    count = Count()
    doctest = _DOCTEST.findall(output)
    summary = _SUMMARY.findall(output)
    unittest = _UNITTEST.findall(output)
    if doctest:
        # doctest counts as skipped what a filter left out, which is no case of this run.
        count.passed, count.failed = int(doctest[-1][1]), int(doctest[-1][2])
    elif summary:
        count.passed, count.failed, count.skipped = (int(number or 0) for number in summary[-1])
    elif unittest:
        bad = dict(_UNITTEST_BAD.findall(output))
        count.failed = int(bad.get("failures", 0)) + int(bad.get("errors", 0))
        count.skipped = int(bad.get("skipped", 0))
        count.passed = max(0, int(unittest[-1]) - count.failed - count.skipped)
    elif succeeded:
        count.passed = 1
    if not succeeded and count.failed == 0:
        count.failed = 1
    if count.failed:
        count.names.append(name)
    return count


def say(text):
    print(text, flush=True)


def build(preset, targets):
    return subprocess.run([ROOT / "scripts/build", preset, *targets], cwd=ROOT, check=False).returncode == 0


_ADD_TEST = re.compile(r'^add_test\(\[=\[(.+?)\]=\] "([^"]+)"', re.MULTILINE)


def registered(folder):
    """ctest name to the program that it runs, built or not."""
    found = {}
    for file in folder.rglob("CTestTestfile.cmake"):
        found.update({name: Path(program).name for name, program in _ADD_TEST.findall(file.read_text())})
    return found


def run_ctest(folder, selection):
    """Runs ctest with the selection and counts the cases of each of its tests."""
    report = folder / "tests.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", folder, "-j", str(os.cpu_count() or 2), "--output-on-failure", "--quiet",
               "--output-junit", report, "--test-output-size-passed", "1000000",
               "--test-output-size-failed", "1000000", *selection]
    subprocess.run(command, cwd=ROOT, check=False, timeout=LANE_SECONDS_MAX)
    count = Count()
    if not report.exists():
        return count
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        output = case.findtext("system-out") or ""
        succeeded = case.get("status") == "run"
        if case.get("status") == "disabled":
            count.skipped += 1
            continue
        one = count_output(case.get("name"), output, succeeded)
        count.add(one)
        if not succeeded:
            say(f"--- {case.get('name')}\n{output.rstrip()}")
    return count


def escape_all(names):
    return "^(" + "|".join(re.escape(name) for name in sorted(names)) + ")$"


def ctest_lane(preset, labels, only):
    """Builds what the selected tests need, and runs them."""
    folder = ROOT / "build" / preset
    if only:
        if not build(preset, ["rebuild_cache"]):
            return Count(failed=1, names=[f"{preset}: configure"])
        wanted = {name: program for name, program in registered(folder).items() if only in name}
        if not wanted:
            return Count()
        targets = {name for name in wanted.values() if not name.startswith("python")}
        if targets and not build(preset, sorted(targets)):
            return Count(failed=1, names=[f"{preset}: build"])
        return run_ctest(folder, ["-R", escape_all(wanted)])
    if not build(preset, ["all", "tests"] if preset == "release" else ["tests"]):
        return Count(failed=1, names=[f"{preset}: build"])
    return run_ctest(folder, labels)


def tidy_lane(only):
    count = Count()
    for name, script, *options in (("tidy", "tests/tidy/tidy.py"), ("tidy_test", "tests/tidy/tidy_test.py"),
                                   ("house_test", "tests/house_test.py"),
                                   ("mutations_apply", "tests/mutations/run.py", "--check")):
        if only and only not in name:
            continue
        done = subprocess.run([sys.executable, ROOT / script, *options], cwd=ROOT, check=False,
                              capture_output=True, text=True, timeout=LANE_SECONDS_MAX)
        count.add(count_output(name, done.stdout + done.stderr, done.returncode == 0))
        if done.returncode != 0:
            say((done.stdout + done.stderr).rstrip())
    return count


def e2e_lane(only, long, preset="release", environment=()):
    """End to end, with the program of a preset."""
    files = list((ROOT / "tests/e2e").glob("*_test.py"))
    if not any(only in path.stem or only in path.read_text() for path in files):
        return Count()
    if not build(preset, ["all"] if preset == "release" else ["moulin"]):
        return Count(failed=1, names=[f"{preset}: build"])
    command = [sys.executable, ROOT / "tests/e2e/run.py"] + (["--only", only] if only else [])
    return program_lane("e2e", command, {"MOULIN_LONG": "1" if long else "",
                                         "MOULIN_BINARY": str(ROOT / "build" / preset / "moulin"), **dict(environment)})


def asan_lane(only):
    """All tests with the address and undefined sanitizers; what they report without a test's notice counts, too."""
    count = ctest_lane("asan", ["-L", "unit"], only)
    reports = ROOT / "build/asan/reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    options = f"log_path={reports}/report"
    count.add(e2e_lane(only, False, "asan", {"ASAN_OPTIONS": options, "UBSAN_OPTIONS": options}))
    for report in sorted(reports.iterdir()):
        say(f"--- {report.name}\n{report.read_text(errors='replace')[-4000:]}")
        count.add(Count(failed=1, names=[report.name]))
    return count


def fuzz_lane(only):
    """Each fuzzer for a fixed time; a crash leaves its input in build/fuzz/found."""
    count = Count()
    if not list((ROOT / "tests/fuzz").glob("*.cc")):
        return count
    if not build("fuzz", ["fuzzers"]):
        return Count(failed=1, names=["fuzz: build"])
    found = ROOT / "build/fuzz/found"
    found.mkdir(parents=True, exist_ok=True)
    for program in sorted((ROOT / "build/fuzz/fuzz").glob("fuzz_*")):
        if only and only not in program.name:
            continue
        corpus = ROOT / "build/fuzz/corpus" / program.name
        corpus.mkdir(parents=True, exist_ok=True)
        seeds = ROOT / "tests/fuzz/corpus" / program.name.removeprefix("fuzz_")
        done = subprocess.run([program, f"-max_total_time={FUZZ_SECONDS}", f"-artifact_prefix={found}/", "-timeout=10",
                               "-print_final_stats=0", corpus, *([seeds] if seeds.is_dir() else [])],
                              check=False, capture_output=True, text=True, timeout=FUZZ_SECONDS * 4)
        if done.returncode != 0:
            say(f"--- {program.name}\n{done.stderr[-4000:]}")
        count.add(count_output(program.name, "", done.returncode == 0))
    return count


def program_lane(name, command, environment=()):
    """One program that counts for itself, shown while it runs."""
    output = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **dict(environment)}) as done:
        for line in done.stdout:
            output.append(line)
            print(line, end="", flush=True)
    return count_output(name, "".join(output), done.returncode == 0)


def simulation_lane():
    if not build("release", ["moulin-sim"]):
        return Count(failed=1, names=["release: build"])
    return program_lane("simulation", [ROOT / "build/release/moulin-sim", *SIMULATION])


def run_lane(lane, arguments):
    if lane == "tidy":
        return tidy_lane(arguments.only)
    if lane == "unit":
        return ctest_lane("release", ["-LE", "tidy"], arguments.only)
    if lane == "e2e":
        return e2e_lane(arguments.only, arguments.long)
    if lane == "asan":
        return asan_lane(arguments.only)
    if lane == "fuzz":
        return fuzz_lane(arguments.only)
    if lane == "simulation":
        return simulation_lane()
    if lane == "mutations":
        return program_lane("mutations", [sys.executable, ROOT / "tests/mutations/run.py"])
    return ctest_lane(lane, ["-L", "unit"], arguments.only)


def main():
    parser = argparse.ArgumentParser(prog="scripts/test", description="Builds and runs the tests.")
    parser.add_argument("--long", action="store_true", help="also fuzzers, and the long forms of tests")
    parser.add_argument("--only", default="", metavar="PATTERN", help="tests whose name holds PATTERN")
    parser.add_argument("--lane", nargs="+", choices=LANES, default=[], help="only these lanes")
    arguments = parser.parse_args()
    lanes = list(arguments.lane) or list(DEFAULT_LANES[:3] if arguments.only else DEFAULT_LANES)
    if arguments.long:
        os.environ["MOULIN_LONG"] = "1"
        if not arguments.lane and not arguments.only:
            lanes += LONG_LANES

    total = Count()
    for lane in lanes:
        started = time.monotonic()
        count = run_lane(lane, arguments)
        say(f"{lane}: {count} ({time.monotonic() - started:.0f} s)")
        count.names = [f"{lane}/{name}" for name in count.names]
        total.add(count)
    if total.names:
        say("failed: " + ", ".join(total.names))
    if total.passed + total.failed == 0:
        say("scripts/test: no test ran" + (f" whose name holds '{arguments.only}'" if arguments.only else ""))
    say(str(total))
    return 0 if total.failed == 0 and total.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())

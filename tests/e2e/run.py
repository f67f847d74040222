#!/usr/bin/env python3
"""Runs the end-to-end tests: unittest cases in *_test.py of this folder, with the real binary.

    tests/e2e/run.py [--only PATTERN] [--jobs N] [--timeout SECONDS]

Each file runs in a process of its own, so that none can hang or harm the others. Each
test is bounded: `timeout` of its class (seconds), else --timeout. The last line counts.
"""

import argparse
import concurrent.futures
import importlib.util
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULT = re.compile(r"^(PASS|FAIL|SKIP) (\S+)", re.MULTILINE)


class TooSlow(BaseException):
    """Not an Exception, so that no test swallows it."""


class Reporter(unittest.TestResult):
    def __init__(self, timeout):
        super().__init__()
        self.timeout = timeout
        self.started = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.started = time.monotonic()
        signal.alarm(int(getattr(test, "timeout", self.timeout)))

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def _say(self, word, test, detail=""):
        seconds = time.monotonic() - self.started if self.started else 0
        print(f"{word} {test.id()} ({seconds:.1f} s){detail}", flush=True)

    def addSuccess(self, test):
        self._say("PASS", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._say("SKIP", test, f": {reason}")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._say("FAIL", test, "\n" + self._exc_info_to_string(error, test))

    addError = addFailure

    def addExpectedFailure(self, test, error):
        self.addFailure(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            super().addSubTest(test, subtest, error)
            self._say("FAIL", test, f" {subtest._subDescription()}\n" + self._exc_info_to_string(error, test))


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def run_file(path, only, timeout):
    """In a process of its own: runs the tests of one file, one line each."""
    def too_slow(*_):
        raise TooSlow(f"took more than its bound; default {timeout} s")

    signal.signal(signal.SIGALRM, too_slow)
    sys.path.insert(0, str(HERE))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    suite = unittest.TestSuite(
        case for case in cases(unittest.defaultTestLoader.loadTestsFromModule(module)) if only in case.id())
    result = Reporter(timeout)
    suite.run(result)
    return 0 if result.wasSuccessful() else 1


def start_file(path, arguments):
    command = [sys.executable, __file__, "--file", path, "--only", arguments.only, "--timeout", str(arguments.timeout)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return path, done.returncode, done.stdout + done.stderr


def main():
    parser = argparse.ArgumentParser(description="Runs the end-to-end tests.")
    parser.add_argument("--only", default="", metavar="PATTERN", help="tests whose file.class.name holds PATTERN")
    parser.add_argument("--jobs", type=int, default=2, help="files that run at the same time")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one test")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.file:
        return run_file(arguments.file, arguments.only, arguments.timeout)

    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        waiting = [pool.submit(start_file, path, arguments) for path in sorted(HERE.glob("*_test.py"))]
        for future in concurrent.futures.as_completed(waiting):
            path, code, output = future.result()
            words = [match.group(1) for match in RESULT.finditer(output)]
            if output:
                print(output, end="", flush=True)
            passed += words.count("PASS")
            failed += words.count("FAIL")
            skipped += words.count("SKIP")
            if code != 0 and "FAIL" not in words:
                print(f"FAIL {path.stem}: the file itself ended with {code}", flush=True)
                failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())

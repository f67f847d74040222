#!/usr/bin/env python3
"""The scripts that judge us are judged here: counting of test cases, and medians of figures."""

import importlib.machinery
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import run  # noqa: E402


def load_script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(HERE.parent / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module
    loader.exec_module(module)
    return module


def counts(output, succeeded=True):
    count = run.count_output("some_test", output, succeeded)
    return count.passed, count.failed, count.skipped


class Counting(unittest.TestCase):
    def test_doctest_cases_are_counted_and_those_filtered_out_are_not(self):
        output = "noise\n[doctest] test cases:  7 |  6 passed | 1 failed | 3 skipped\n[doctest] assertions: 9 |\n"
        self.assertEqual(counts(output, False), (6, 1, 0))

    def test_the_last_summary_line_counts(self):
        self.assertEqual(counts("1 passed, 0 failed\nscenarios: 61 passed, 0 failed, 2 skipped\n"), (61, 0, 2))

    def test_unittest_output_is_counted(self):
        self.assertEqual(counts("Ran 8 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=2)\n", False), (4, 2, 2))

    def test_a_program_without_a_summary_is_one_case(self):
        self.assertEqual(counts("hello"), (1, 0, 0))

    def test_a_crash_after_a_good_summary_is_a_failure(self):
        self.assertEqual(counts("5 passed, 0 failed", False), (5, 1, 0))
        self.assertEqual(counts("", False), (0, 1, 0))


class EndToEndRunner(unittest.TestCase):
    SAMPLE = """
import time, unittest
class Sample(unittest.TestCase):
    timeout = 1
    def test_good(self): pass
    def test_bad(self): self.assertTrue(False)
    def test_broken(self): raise OSError("x")
    def test_slow(self): time.sleep(30)
    def test_left_out(self): self.skipTest("no such thing here")
"""

    def run_folder(self, files, *options):
        with tempfile.TemporaryDirectory() as folder:
            runner = Path(folder) / "run.py"
            runner.write_text((HERE / "e2e/run.py").read_text())
            for name, text in files.items():
                (Path(folder) / name).write_text(text)
            done = subprocess.run([sys.executable, runner, *options], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout.rstrip().split("\n")[-1]

    def test_each_outcome_is_counted_and_a_slow_test_is_ended(self):
        self.assertEqual(self.run_folder({"a_test.py": self.SAMPLE}), (1, "1 passed, 3 failed, 1 skipped"))

    def test_only_selects(self):
        self.assertEqual(self.run_folder({"a_test.py": self.SAMPLE}, "--only", "good"),
                         (0, "1 passed, 0 failed, 0 skipped"))

    def test_a_file_that_does_not_load_is_a_failure(self):
        self.assertEqual(self.run_folder({"a_test.py": "import nothing_of_this_name\n"}),
                         (1, "0 passed, 1 failed, 0 skipped"))


class Figures(unittest.TestCase):
    def setUp(self):
        self.bench = load_script("bench")

    def test_medians_are_taken_of_every_number(self):
        runs = [{"a": {"name": "a", "value": value, "limit": value * 2, "unit": "ms", "better": "lower",
                       "others": {"p99": value + 1}}} for value in (3, 1, 2)]
        figure = self.bench.combine(runs)[0]
        self.assertEqual((figure["value"], figure["limit"], figure["others"]), (2, 4, {"p99": 3}))
        self.assertEqual(figure["values"], [3, 1, 2])
        json.dumps(figure)

    def test_a_goal_is_judged_by_its_direction(self):
        self.assertEqual(self.bench.reached({"value": 9, "goal": 10, "better": "lower"}), "yes")
        self.assertEqual(self.bench.reached({"value": 9, "goal": 10, "better": "higher"}), "no")
        self.assertIsNone(self.bench.reached({"value": 9, "better": "higher"}))

    def test_names_choose_programs_or_single_figures(self):
        programs = [self.bench.Program("start", Path("start.cc"), ("p50", "p99"), 3),
                    self.bench.Program("journal", Path("journal.cc"), ("append",), 3)]
        self.assertEqual(self.bench.choose(programs, ["p99"]), (programs[:1], {"p99"}))
        self.assertEqual(self.bench.choose(programs, ["start"]), (programs[:1], {"p50", "p99"}))
        with self.assertRaises(SystemExit):
            self.bench.choose(programs, ["nothing"])


if __name__ == "__main__":
    unittest.main()

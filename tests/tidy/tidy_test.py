#!/usr/bin/env python3
"""Each check of tidy must refuse its bad sample, say the expected words, and accept its good one."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tidy  # noqa: E402
from functions import functions  # noqa: E402
from tree import Tree, strip_cpp  # noqa: E402

LAYERS = "base:\nmodel: base\ncore: base model\nserver: base model core\ncli: base\nshim: base\n"
ONCE = "#pragma once\n"
LONG_FUNCTION = "void long_one() {\n" + "  step();\n" * 70 + "}\n"
FITTING_FUNCTION = "void short_one() {\n" + "  step();\n" * 68 + "}\n"

# check, bad files, words of the message, good files
SAMPLES = [
    ("layers", {"src/base/a.cc": '#include "core/decide.h"\n', "src/core/decide.h": ONCE}, "base may not use core",
     {"src/core/a.cc": '#include "base/a.h"\n', "src/base/a.h": ONCE}),
    ("layers", {"src/base/a.cc": '#include "b.h"\n'}, "does not begin with a layer",
     {"src/base/a.cc": "#include <vector>\n"}),
    ("layers", {"src/core/a.cc": '#include "base/gone.h"\n'}, "names no file",
     {"src/core/a.cc": '#include "base/made.h"\n', "src/base/CMakeLists.txt": "GENERATED made.cc"}),
    ("layers", {"src/core/a.cc": "#include <base/a.h>\n", "src/base/a.h": ONCE}, 'write #include "base/a.h"', {}),
    ("layers", {"src/portal/a.cc": "int a;\n"}, "not in src/LAYERS", {}),
    ("layer_order", {"src/LAYERS": "core: base\nbase:\n"}, "core uses base", {}),
    ("include_cycles", {"src/base/a.h": '#include "base/b.h"\n', "src/base/b.h": '#include "base/c.h"\n',
                        "src/base/c.h": '#include "base/a.h"\n'}, "base/a.h -> src/base/b.h -> src/base/c.h",
     {"src/base/a.h": '#include "base/b.h"\n#include "base/c.h"\n', "src/base/b.h": '#include "base/c.h"\n',
      "src/base/c.h": ONCE}),
    ("own_header_first", {"src/base/a.cc": '#include <vector>\n#include "base/a.h"\n', "src/base/a.h": ONCE},
     "first include",
     {"src/base/a.cc": '#include "base/a.h"\n#include <vector>\n', "src/base/a.h": ONCE}),
    ("pragma_once", {"src/base/a.h": "int a();\n"}, "#pragma once", {"src/base/a.h": ONCE}),
    ("pure_layers", {"src/core/a.cc": "#include <unordered_map>\n"}, "<unordered_map> in the pure layer core",
     {"src/server/a.cc": "#include <unordered_map>\n", "src/core/b.cc": "#include <map>\n"}),
    ("pure_layers", {"src/model/a.cc": "double share = 0.5;\n"}, "`double`",
     {"src/model/a.cc": '// double\nconst char* kText = "float";\nlong doubled;\n'}),
    ("pure_layers", {"src/core/a.cc": "auto t = std::chrono::steady_clock::now();\n"}, "std::chrono", {}),
    ("pure_layers", {"src/core/a.cc": "long now() { return ::time(nullptr); }\n"}, "`::time`",
     {"src/core/a.cc": "Instant start = event.time();\n"}),
    ("banned_calls", {"src/server/a.cc": "void a() { throw 1; }\n"}, "we throw nothing",
     {"src/server/a.cc": "void a() { try { b(); } catch (const E& e) {} }\n"}),
    ("banned_calls", {"src/server/a.cc": "int a = fork();\n"}, "posix_spawn", {"src/shim/a.cc": "int a = ::fork();\n"}),
    ("banned_calls", {"src/server/a.cc": "int a = ::fork();\n"}, "posix_spawn",
     {"src/server/a.cc": "tree.fork(); Overlay fork_here(); a::fork();\n"}),
    ("banned_calls", {"src/server/a.cc": 'auto a = getenv("HOME");\n'}, "main reads",
     {"src/cli/a.cc": 'auto a = getenv("HOME");\n'}),
    ("banned_calls", {"src/core/a_test.cc": "std::this_thread::sleep_for(x);\n"}, "wait for the event", {}),
    ("banned_calls", {"src/server/a.cc": "co_await read();\n"}, "callbacks", {"src/server/a.cc": "// co_await\n"}),
    ("boost_files", {f"src/server/{name}.cc": "#include <boost/asio.hpp>\n" for name in "abcde"},
     "keep to four",
     {f"src/server/{name}.cc": "#include <boost/asio.hpp>\n" for name in "abcd"}),
    ("boost_files", {"src/server/a.h": "#include <boost/asio.hpp>\n", "src/server/b.h": '#include "server/a.h"\n',
                     **{f"src/server/{name}.cc": '#include "server/b.h"\n' for name in "cdefg"}}, "keep to four", {}),
    ("tests_are_deterministic", {"src/core/a_test.cc": "auto t = std::chrono::steady_clock::now();\n"}, "unit test",
     {"src/core/a_test.cc": "auto t = Instant{5};\n"}),
    ("switch_default", {"src/core/a.cc": "switch (c) { case Code::kA: return 1; default: return 2; }\n"}, "every case",
     {"src/core/a.cc": "switch (c) { case 'a': return 1; default: return 2; }\n"}),
    ("switch_default", {"src/core/a.cc": "switch (a) { case kA: switch (b) { case 1: default: } default: }\n"},
     "every case",
     {"src/core/a.cc": "switch (a) { case kA: switch (b) { case 1: break; default: break; } break; }\n"}),
    ("columns", {"src/base/a.cc": "x" * 121 + "\n"}, "121 columns", {"src/base/a.cc": "x" * 120 + "\n"}),
    ("blanks", {"src/base/a.cc": "int a; \n"}, "end of the line", {"src/base/a.cc": "int a;\n"}),
    ("blanks", {"src/base/a.cc": "\tint a;\n"}, "tab", {}),
    ("blanks", {"scripts/a": "echo"}, "no newline", {}),
    ("file_length", {"src/base/a.cc": "\n" * 601}, "601 lines", {"src/base/a.cc": "\n" * 600}),
    ("function_length", {"src/base/a.cc": LONG_FUNCTION}, "long_one has 72 lines",
     {"src/base/a.cc": FITTING_FUNCTION}),
    ("readme", {"src/base/a.cc": "int a;\n"}, "needs a README.md",
     {"src/base/a.cc": "int a;\n", "src/base/README.md": "# base\n"}),
    ("readme", {"src/base/a.cc": "int a;\n", "src/base/README.md": "\n" * 31}, "31 lines", {}),
    ("parameters", {"src/base/a.h": "void show(int a, bool visible);\n"}, "bare bool",
     {"src/base/a.h": "struct A { bool visible; };\nbool visible();\nexplicit A(bool value);\n"}),
    ("parameters", {"src/base/a.h": "void place(int64_t node, int64_t gpu);\n"}, "two adjacent",
     {"src/base/a.h": "void place(int64_t node, Share share, int64_t gpu);\n"}),
    ("file_names", {"src/base/FairShare.cc": "int a;\n"}, "snake_case", {"src/base/fair_share.cc": "int a;\n"}),
    ("left_over", {"src/base/a.cc": "// TO" + "DO later\n"}, "do it", {"src/base/a.cc": "// todos are events\n"}),
    ("forbidden_words", {"docs/a.md": "Run /work/" + "main/x.\n"}, "reader elsewhere",
     {"docs/a.md": "At work/main.\n"}),
    ("forbidden_words", {"docs/a.md": "See issue #" + "12.\n"}, "reader elsewhere",
     {"docs/a.md": "See issue trackers.\n"}),
    ("glossary", {"docs/a.md": "Each tenant has a share.\n"}, "the glossary says project",
     {"docs/a.md": "Tenancy.\n"}),
    ("glossary", {"src/cli/a.cc": 'auto a = "the job was cancelled";\n'}, "stopped",
     {"src/cli/a.cc": "timer.cancelled();  // pod\n", "docs/glossary.md": "Not: tenant, pod.\n"}),
    ("no_getters", {"src/base/a.h": "Share get_share() const;\n"}, "leave out",
     {"src/base/a.cc": "socket.get_executor(); std::get_if<A>(&b); widget_of(a);\n"}),
    ("abbreviations", {"src/base/a.cc": "int node_idx = 0;\n"}, "abbreviation",
     {"src/base/a.cc": "int node_index = 0; auto p = std::make_unique<A>(); text.find_pos = 1;\n"}),
    ("links", {"docs/a.md": "[b](b.md)\n"}, "no such file", {"docs/a.md": "[b](b.md)\n", "docs/b.md": "\n"}),
    ("links", {"docs/a.md": "[b](b.md#two)\n", "docs/b.md": "# One\n"}, "no such heading",
     {"docs/a.md": "[b](b.md#one-and-two)\n", "docs/b.md": "# One and two\n"}),
    ("paths_in_documents", {"docs/a.md": "See `src/core/decide.h`.\n"}, "does not exist",
     {"docs/a.md": "See `src/core/decide.h`.\n", "src/core/decide.h": ONCE}),
    ("decisions", {"docs/adr/0001-a.md": "", "docs/adr/0003-c.md": ""}, "0002 is missing",
     {"docs/adr/0001-a.md": "", "docs/adr/0002-b.md": ""}),
    ("decisions", {"docs/adr/first.md": ""}, "NNNN-title", {}),
]


def problems_of(check, files):
    """What one check says about a small tree."""
    with tempfile.TemporaryDirectory() as folder:
        files = {"src/LAYERS": LAYERS, **files}
        for path, text in files.items():
            full = Path(folder) / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(text)
        return [str(problem) for problem in tidy.CHECKS[check](Tree(folder, sorted(files)))]


class Samples(unittest.TestCase):
    def test_each_check_refuses_its_bad_sample(self):
        for check, bad, words, _ in SAMPLES:
            with self.subTest(check=check, words=words):
                problems = problems_of(check, bad)
                self.assertTrue(problems, "accepted")
                self.assertIn(words, "\n".join(problems))

    def test_each_check_accepts_its_good_sample(self):
        for check, _, _, good in SAMPLES:
            with self.subTest(check=check):
                self.assertEqual(problems_of(check, good), [])

    def test_every_check_has_a_sample(self):
        self.assertEqual(set(tidy.CHECKS), {check for check, _, _, _ in SAMPLES})


class Ratchet(unittest.TestCase):
    FILES = {"src/base/a.cc": "int a; \nint b; \n"}

    def run_with(self, known, allowed=frozenset()):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in self.FILES.items():
                full = Path(folder) / path
                full.parent.mkdir(parents=True)
                full.write_text(text)
            tree = Tree(folder, sorted(self.FILES))
            return tidy.run_check("blanks", tree, known, allowed)

    def test_known_offences_pass_and_new_ones_do_not(self):
        self.assertEqual(self.run_with({("blanks", "src/base/a.cc"): 2}), [])
        self.assertEqual(len(self.run_with({("blanks", "src/base/a.cc"): 1})), 2)

    def test_the_number_must_go_down_with_the_offences(self):
        message = str(self.run_with({("blanks", "src/base/a.cc"): 3})[0])
        self.assertIn("write 2 instead of 3", message)

    def test_an_exception_that_is_not_needed_is_refused(self):
        self.assertEqual(self.run_with({}, {("blanks", "src/base/a.cc")}), [])
        self.assertEqual(len(self.run_with({}, {("blanks", "src/base/a.cc"), ("blanks", "src/base/b.cc")})), 1)


class Parsing(unittest.TestCase):
    def test_comments_and_strings_become_blanks(self):
        self.assertEqual(strip_cpp('int a = 1\'000; // b\n"c{" /*d*/ R"(e})"'),
                         'int a = 1_000;     \n"  "       "     "')

    def test_functions_are_found_with_their_lines(self):
        code = ("namespace a {\nclass B {\n public:\n  B(int c) : c_{c}, d_{1} {\n    run();\n  }\n"
                "  int e() { return 1; }\n};\nstatic const int kTable[] = {1, 2};\nint f(\n    int g) {\n"
                "  auto h = [] { return 1; };\n"
                "  return h();\n}\n}\n")
        found = [(function.name, function.lines) for function in functions(code)]
        self.assertEqual(found, [("B", 3), ("e", 1), ("f", 5)])


if __name__ == "__main__":
    unittest.main()

"""Sizes and signatures."""

import re

from functions import functions
from layering import check
from tree import Problem

COLUMNS_MAX = 120
FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
README_LINES_MAX = 30

CODE_SUFFIXES = (".h", ".cc", ".py", ".cmake", ".sh")


def _is_code(file):
    return file.path.endswith(CODE_SUFFIXES) or file.path.startswith(("scripts/", ".ci/"))


@check("columns")
def columns(tree):
    """No line of code is wider than 120 columns."""
    for file in tree.files:
        if _is_code(file):
            for number, line in enumerate(file.lines, 1):
                if len(line) > COLUMNS_MAX:
                    yield Problem(file.path, number, f"{len(line)} columns, at most {COLUMNS_MAX}")


@check("blanks")
def blanks(tree):
    """No tabs in C++, no blanks at the end of a line, a newline at the end of the file."""
    for file in tree.files:
        if not _is_code(file):
            continue
        for number, line in enumerate(file.lines, 1):
            if line != line.rstrip():
                yield Problem(file.path, number, "blanks at the end of the line")
            if file.is_cpp and "\t" in line:
                yield Problem(file.path, number, "a tab")
        if file.text and not file.text.endswith("\n"):
            yield Problem(file.path, 0, "no newline at the end")


@check("file_length")
def file_length(tree):
    """A file of about 100 lines is pleasant, 250 is long, 600 is refused."""
    for file in tree.files:
        lines = file.text.count("\n")
        if _is_code(file) and lines > FILE_LINES_MAX:
            yield Problem(file.path, 0, f"{lines} lines, at most {FILE_LINES_MAX}")


@check("function_length")
def function_length(tree):
    """A function fits a screen; 70 lines are refused."""
    for file in tree.files:
        if not file.is_cpp:
            continue
        for function in functions(file.body):
            if function.lines > FUNCTION_LINES_MAX:
                yield Problem(file.path, function.first,
                              f"{function.name} has {function.lines} lines, at most {FUNCTION_LINES_MAX}")


@check("readme")
def readme(tree):
    """Each folder of src/ with sources says what it is for, in at most 30 lines."""
    folders = {file.path.rsplit("/", 1)[0] for file in tree.cpp() if file.layer}
    for folder in sorted(folders):
        file = tree.by_path(folder + "/README.md")
        if file is None:
            yield Problem(folder, 0, "needs a README.md: what it is for, what may not enter, where to start reading")
        elif file.text.count("\n") > README_LINES_MAX:
            yield Problem(file.path, 0, f"{file.text.count(chr(10))} lines, at most {README_LINES_MAX}")


_BOOL_PARAMETER = re.compile(r"[(,]\s*(?:const\s+)?bool\s+\w+\s*(?:=\s*\w+\s*)?(?=[,)])")
_INTEGER = r"(?:std::)?(?:u?int(?:8|16|32|64)?(?:_t)?|size_t|long|unsigned)"
_TWO_INTEGERS = re.compile(rf"[(,]\s*({_INTEGER})\s+\w+\s*,\s*\1\s+\w+\s*(?=[,)=])")


@check("parameters")
def parameters(tree):
    """No bare bool and no two adjacent integers of one type: swapped arguments must not compile."""
    for file in tree.cpp():
        if not file.path.endswith(".h"):
            continue
        for line, match in file.find(_BOOL_PARAMETER, file.body):
            if not re.match(r"\(\s*bool value$", match.group().strip()):
                yield Problem(file.path, line, "a bare bool parameter: use an enum, or a struct")
        for line, _ in file.find(_TWO_INTEGERS, file.body):
            yield Problem(file.path, line, "two adjacent integers of one type: use a struct, or types of base/strong.h")


_FILE_NAME = re.compile(
    r"^(?:[a-z0-9_]+\.(?:h|cc)|CMakeLists\.txt|README\.md|LAYERS|[a-z0-9_.-]+\.(?:yaml|json|txt|py|in|html|css|js))$")


@check("file_names")
def file_names(tree):
    """snake_case.h, .cc and _test.cc, side by side."""
    for file in tree.files:
        if file.path.startswith("src/") and not _FILE_NAME.match(file.name):
            yield Problem(file.path, 0, "file names are snake_case")

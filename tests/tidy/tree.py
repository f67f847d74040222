"""The files that tidy looks at, and C++ text without its comments and strings."""

import functools
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

TEXT_SUFFIXES = {".h", ".cc", ".py", ".md", ".txt", ".cmake", ".sh", ".in", ".yaml", ".yml", ".json", ".html", ".css",
                 ".js", ".ts"}


@dataclass(frozen=True)
class Problem:
    path: str
    line: int  # 0: the file as a whole
    message: str

    def __str__(self):
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.message}"


_CPP_TOKEN = re.compile(
    r'R"([^()\s\\]{0,16})\(.*?\)\1"'      # raw string
    r'|"(?:[^"\\\n]|\\.)*"'               # string
    r"|'(?:[^'\\\n]|\\.){1,10}'"          # character, and not the ' of 1'000
    r"|//[^\n]*"
    r"|/\*.*?\*/",
    re.DOTALL,
)
_DIGIT_SEPARATOR = re.compile(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])")
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def strip_cpp(text):
    """Comments and the insides of strings become blanks; lines and columns stay."""
    text = _DIGIT_SEPARATOR.sub("_", text)

    def replace(match):
        token = match.group()
        return _blank(token) if token[0] == "/" else '"' + _blank(token[1:-1]) + '"'

    return _CPP_TOKEN.sub(replace, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


class File:
    def __init__(self, root, path):
        self.path = path
        self.name = os.path.basename(path)
        self._full = Path(root) / path

    @functools.cached_property
    def text(self):
        return self._full.read_text(encoding="utf-8", errors="replace")

    @functools.cached_property
    def lines(self):
        return self.text.split("\n")

    @functools.cached_property
    def code(self):
        return strip_cpp(self.text)

    @functools.cached_property
    def body(self):
        """Code without preprocessor lines: macros need not have balanced braces."""
        return _PREPROCESSOR.sub(lambda match: _blank(match.group()), self.code)

    @functools.cached_property
    def includes(self):
        """(line, "<" or '"', name) of each include."""
        return [(line_of(self.text, m.start(1)), m.group(1), m.group(2)) for m in _INCLUDE.finditer(self.text)]

    @functools.cached_property
    def strings(self):
        """(line, text) of each string literal, include lines left out."""
        found = []
        for match in _CPP_TOKEN.finditer(_DIGIT_SEPARATOR.sub("_", self.text)):
            if match.group()[0] in '"R':
                line = line_of(self.text, match.start())
                if not self.lines[line - 1].lstrip().startswith("#include"):
                    found.append((line, match.group()))
        return found

    @property
    def is_cpp(self):
        return self.path.endswith((".h", ".cc"))

    @property
    def is_test(self):
        return self.path.endswith("_test.cc") or self.path.startswith("tests/")

    @property
    def layer(self):
        """Folder below src/, or nothing for files that are in none."""
        parts = self.path.split("/")
        return parts[1] if len(parts) > 2 and parts[0] == "src" else None

    def find(self, pattern, text=None):
        """(line, match) of each match in `text`, by default the code."""
        text = self.code if text is None else text
        return [(line_of(text, m.start()), m) for m in pattern.finditer(text)]


class Tree:
    def __init__(self, root, paths=None):
        self.root = Path(root)
        self.files = [File(root, path) for path in (paths if paths is not None else self._list())]

    def _list(self):
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"],
            cwd=self.root, capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            paths = listed.stdout.split("\n")
        else:
            paths = [str(path.relative_to(self.root)) for path in self.root.rglob("*")]
        return sorted({path for path in paths if path and self._is_text(path)})

    def _is_text(self, path):
        full = self.root / path
        if not full.is_file() or full.is_symlink():
            return False
        if full.suffix in TEXT_SUFFIXES:
            return True
        return full.suffix == "" and full.stat().st_size < 200_000 and not full.name.startswith(".git")

    def cpp(self, below="src/"):
        return [file for file in self.files if file.is_cpp and file.path.startswith(below)]

    def by_path(self, path):
        return self._index.get(path)

    @functools.cached_property
    def _index(self):
        return {file.path: file for file in self.files}

    @functools.cached_property
    def layers(self):
        """Layer to the set of layers that it may include, from src/LAYERS."""
        allowed = {}
        for line in (self.root / "src/LAYERS").read_text().split("\n"):
            if line and not line.startswith("#"):
                name, _, rest = line.partition(":")
                allowed[name.strip()] = set(rest.split()) | {name.strip()}
        return allowed

"""Documents that point at things which are there."""

import re

from layering import check
from tree import Problem

_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```[^\n]*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_PATH = re.compile(r"`((?:src|docs|tests|scripts|cmake|bench|examples)/[\w./-]*[\w/])`")


def _without_fences(text):
    return _FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _anchors(text):
    found = set()
    for match in _HEADING.finditer(_without_fences(text)):
        words = re.sub(r"[^\w\- ]", "", match.group(1).lower())
        found.add(words.replace(" ", "-"))
    return found


@check("links")
def links(tree):
    """Links between documents lead to a file and a heading that exist."""
    for file in tree.files:
        if not file.path.endswith(".md"):
            continue
        for line, match in file.find(_LINK, _without_fences(file.text)):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            full = (tree.root / file.path).parent / path if path else tree.root / file.path
            if not full.exists():
                yield Problem(file.path, line, f"link to {target}: no such file")
            elif anchor and full.suffix == ".md" and anchor not in _anchors(full.read_text(encoding="utf-8")):
                yield Problem(file.path, line, f"link to {target}: no such heading")


@check("paths_in_documents")
def paths_in_documents(tree):
    """A path of ours in a document exists."""
    for file in tree.files:
        if file.path.endswith(".md") and file.name != "CHANGELOG.md":
            for line, match in file.find(_PATH, _without_fences(file.text)):
                if "NAME" in match.group(1):
                    continue  # a pattern, not a path
                if not (tree.root / match.group(1)).exists():
                    yield Problem(file.path, line, f"`{match.group(1)}` does not exist")


@check("decisions")
def decisions(tree):
    """docs/adr/NNNN-title.md, numbered without gaps."""
    names = sorted(file.name for file in tree.files if re.match(r"docs/adr/[^/]+\.md$", file.path)
                   and file.name != "README.md")
    for expected, name in enumerate(names, 1):
        if not re.match(r"\d{4}-[a-z0-9-]+\.md$", name):
            yield Problem(f"docs/adr/{name}", 0, "is not called NNNN-title.md")
        elif int(name[:4]) != expected:
            yield Problem(f"docs/adr/{name}", 0, f"number {expected:04} is missing or taken twice")
            return

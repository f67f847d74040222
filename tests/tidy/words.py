"""Words that must not stand in code, messages or documents."""

import re

from layering import check
from tree import Problem

_SELF = "tests/tidy/"
_LEFT_OVER = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")


@check("left_over")
def left_over(tree):
    """Nothing is left for later in the code."""
    for file in tree.files:
        if not file.path.startswith(_SELF):
            for line, match in file.find(_LEFT_OVER, file.text):
                yield Problem(file.path, line, f"{match.group()}: do it, or file it as an issue")


# Paths of one machine, and references that a reader of the project cannot follow.
_FORBIDDEN = re.compile(r"(?<![\w.])/(?:work|root)/\w|\bissues? #?\d+\b", re.IGNORECASE)


@check("forbidden_words")
def forbidden_words(tree):
    """No path of one machine, no number of an issue tracker."""
    for file in tree.files:
        if not file.path.startswith(_SELF):
            for line, match in file.find(_FORBIDDEN, file.text):
                yield Problem(file.path, line, f"`{match.group()}` means nothing to a reader elsewhere")


# Synonym to the word of docs/glossary.md.
GLOSSARY = {
    r"quota groups?": "project or department",
    r"tenants?": "project",
    r"pods?": "replica",
    r"node pools?": "pool",
    r"priority class(?:es)?": "class",
    r"resource groups?": "project or department",
    r"gpu fractions?": "share",
    r"fractional gpus?": "share",
    r"accelerators?": "gpu",
    r"pending (?:jobs?|workloads?)": "waiting",
    r"(?:jobs?|workloads?) (?:is|are) (?:pending|queued)": "waiting",
    r"cancell?ed|cancell?ing": "stopped, stopping",
    r"suspended|suspending": "paused, stopping",
    r"experiments?": "study",
    r"over-?quota": "beyond its guarantee (surplus)",
    r"preemptible": "class",
    r"event log": "journal",
}
_SYNONYM = re.compile(r"\b(?:" + "|".join(f"({pattern})" for pattern in GLOSSARY) + r")\b", re.IGNORECASE)
_WORDS = list(GLOSSARY.values())


def _is_prose(file):
    return file.path.endswith(".md") and file.name != "glossary.md"


@check("glossary")
def glossary(tree):
    """One word for one thing, in documents and in what a user reads."""
    for file in tree.files:
        if _is_prose(file):
            found = [(line, match) for line, match in file.find(_SYNONYM, file.text)]
        elif file.is_cpp and not file.is_test:
            found = [(line, match) for line, text in file.strings for match in [_SYNONYM.search(text)] if match]
        else:
            continue
        for line, match in found:
            yield Problem(file.path, line, f"`{match.group()}`: the glossary says {_WORDS[match.lastindex - 1]}")


_GETTER = re.compile(r"(?<![\w.:>])get_[a-z]\w*")


@check("no_getters")
def no_getters(tree):
    """A function is named for what it gives: `share()`, not with a get in front."""
    for file in tree.cpp():
        for line, match in file.find(_GETTER):
            yield Problem(file.path, line, f"`{match.group()}`: leave out the get")


_ABBREVIATION = re.compile(
    r"(?<![\w.:>])(?:\w+_)?(?:cfg|conf|msg|mgr|cnt|idx|ctx|resp|req|ptr|buf|svc|tmp|pos|prev|cur|desc|proj|wl)"
    r"(?:_\w+)?(?=\s*(?:[=;,)({]|:\s))")
_FROM_OUTSIDE = re.compile(
    r"\b(?:va_arg|shared_ptr|unique_ptr|weak_ptr|exception_ptr|make_\w+_ptr|c_ptr|randombytes_buf)\b")


@check("abbreviations")
def abbreviations(tree):
    """Whole words, but for gpu, id, api and url."""
    for file in tree.cpp():
        for line, match in file.find(_ABBREVIATION, file.body):
            if not _FROM_OUTSIDE.search(match.group()):
                yield Problem(file.path, line, f"`{match.group()}` holds an abbreviation")

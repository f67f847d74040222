"""What must not be called or included, by layer."""

import re

from layering import check
from tree import Problem

PURE_LAYERS = ("base", "model", "scheduler", "core", "flow")

_PURE_HEADERS = re.compile(
    r"^(?:thread|mutex|shared_mutex|condition_variable|atomic|future|semaphore|latch|barrier|stop_token"
    r"|filesystem|fstream|iostream|sstream|random|chrono|ctime|time\.h|locale|unordered_map|unordered_set"
    r"|cmath|math\.h|unistd\.h|fcntl\.h|poll\.h|signal\.h|csignal|dirent\.h|dlfcn\.h|sqlite3\.h|sodium\.h"
    r"|(?:sys|netinet|arpa|linux|boost|openssl)/.*)$")
_PURE_CODE = re.compile(
    r"\b(?:float|double)\b|\bstd::(?:unordered_\w+|random_device|mt19937\w*|chrono|hash|thread|mutex|atomic)\b"
    r"|(?<![\w.:>])(?:std::|::)?"
    r"(?:s?rand|time(?=\s*\(\s*(?:nullptr|NULL|0|&))|gettimeofday|clock_gettime|fopen)\s*\(")


@check("pure_layers")
def pure_layers(tree):
    """No clock, thread, file, socket, randomness, float or unordered container decides."""
    for file in tree.cpp():
        if file.layer not in PURE_LAYERS or file.is_test:
            continue
        for line, bracket, name in file.includes:
            if bracket == "<" and _PURE_HEADERS.match(name):
                yield Problem(file.path, line, f"<{name}> in the pure layer {file.layer}")
        for line, match in file.find(_PURE_CODE, file.body):
            yield Problem(file.path, line, f"`{match.group().strip(' (')}` in the pure layer {file.layer}")


# pattern, layers where it is allowed, what to do instead
_EVERYWHERE = [
    (r"\bthrow\b(?!\s*\()", (), "we throw nothing: return a Result, or MOULIN_CHECK for a bug"),
    (r"(?<![\w.:>])(?:std::|::)?(?:system|popen)\s*\(", (), "no shell: spawn with an argument vector"),
    (r"(?<![\w.>])(?:sprintf|vsprintf|strcpy|strcat|gets|strtok|atoi|atol|atof)\s*\(", (), "unsafe: use base or fmt"),
    (r"(?<![\w.:>])(?:::)?v?fork\s*\(", ("shim",), "never fork from the server: posix_spawn"),
    (r"\bRLIMIT_AS\b", (), "CUDA reserves address space: limit memory another way"),
    (r"(?<![\w.>])(?:getenv|setenv|putenv)\s*\(", ("cli", "main", "shim"), "main reads the environment and passes it"),
    (r"\bstd::(?:endl|rand|srand|regex|auto_ptr|bind)\b", (), "slow, unsafe or replaced by better"),
    (r"(?<![\w.:>])(?:std::this_thread::sleep_\w+|(?:::)?(?:u|nano)?sleep)\s*\(", (), "wait for the event, bounded"),
    (r"\bdynamic_cast\b", (), "ask the type, or use a variant"),
    (r"\bco_(?:await|yield|return)\b", (), "g++ 12 miscompiles coroutines: use callbacks"),
    (r"\bassert\s*\(", (), "MOULIN_CHECK stays on in production"),
]
_EVERYWHERE = [(re.compile(pattern), layers, advice) for pattern, layers, advice in _EVERYWHERE]


@check("banned_calls")
def banned_calls(tree):
    """Calls that are wrong in every layer, or in all but a few."""
    for file in tree.cpp():
        for pattern, layers, advice in _EVERYWHERE:
            if file.layer in layers:
                continue
            for line, match in file.find(pattern, file.body):
                yield Problem(file.path, line, f"`{match.group().strip(' (')}`: {advice}")


BOOST_FILES_MAX = 4


@check("boost_files")
def boost_files(tree):
    """At most four .cc files see Boost, through whatever headers: it costs 15 seconds each."""
    files = {file.path[len("src/"):]: file for file in tree.cpp()}
    seeing = {path for path, file in files.items() if any(name.startswith("boost/") for _, _, name in file.includes)}
    grown = True
    while grown:
        more = {path for path, file in files.items() if any(name in seeing for _, _, name in file.includes)}
        grown = not more <= seeing
        seeing |= more
    units = sorted(path for path in seeing if path.endswith(".cc"))
    for path in units[BOOST_FILES_MAX:]:
        yield Problem("src/" + path, 0, f"the {len(units)} files {', '.join(units)} see Boost; keep to four")


_TEST_CODE = re.compile(
    r"\b(?:std::chrono::(?:system|steady|high_resolution)_clock|clock_gettime|gettimeofday|std::random_device)\b")


@check("tests_are_deterministic")
def tests_are_deterministic(tree):
    """Unit tests read no real clock and roll no real dice."""
    for file in tree.cpp():
        if file.path.endswith("_test.cc"):
            for line, match in file.find(_TEST_CODE):
                yield Problem(file.path, line, f"`{match.group()}` in a unit test")


_SWITCH = re.compile(r"\bswitch\s*\(")
_ENUM_LABEL = re.compile(r"\bcase\s+(?:[\w:]+::)?k[A-Z]\w*\s*:")
_DEFAULT = re.compile(r"\bdefault\s*:")


@check("switch_default")
def switch_default(tree):
    """A switch over one of our enums names every case, so that a new one is an error."""
    for file in tree.cpp():
        for line, match in file.find(_SWITCH, file.body):
            block = _own_block(file.body, match.end())
            if _ENUM_LABEL.search(block) and _DEFAULT.search(block):
                yield Problem(file.path, line, "`default:` in a switch over an enum of ours: name every case")


def _own_block(body, start):
    """The text of the block that opens after `start`, without inner switches."""
    opening = body.find("{", start)
    depth, end = 0, opening
    for match in re.finditer(r"[{}]", body[opening:]):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            end = opening + match.start()
            break
    block = body[opening + 1:end]
    inner = _SWITCH.search(block)
    while inner:
        inside = _own_block_span(block, inner.end())
        block = block[:inner.start()] + block[inside:]
        inner = _SWITCH.search(block)
    return block


def _own_block_span(body, start):
    opening = body.find("{", start)
    depth = 0
    for match in re.finditer(r"[{}]", body[opening:]):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return opening + match.end()
    return len(body)

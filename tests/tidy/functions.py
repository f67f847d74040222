"""Finds function bodies in C++ text that has no comments, strings or macros."""

import re
from dataclasses import dataclass

_TYPE = re.compile(r"^\s*(?:template\s*<.*>\s*|typedef\s+|export\s+)*(?:class|struct|union|enum)\b", re.DOTALL)
_NAMESPACE = re.compile(r"^\s*(?:inline\s+)?namespace\b|^\s*extern\s*\"")
_NAME = re.compile(r"([~\w:]+|operator\S+)\s*\(")


@dataclass(frozen=True)
class Function:
    name: str
    first: int  # line of the start of its header
    last: int

    @property
    def lines(self):
        return self.last - self.first + 1


@dataclass
class _Block:
    kind: str       # namespace, type, function or other
    header: str     # text before the brace, since the last statement
    first: int
    content: int    # offset after the brace


def _kind(header, outer):
    if outer in ("function", "inner"):
        return "inner"
    if _NAMESPACE.match(header):
        return "namespace"
    if ")" in header:
        return "function"
    if _TYPE.match(header):
        return "type"
    return "inner"


def functions(body):
    """All outermost functions; lambdas and blocks count with the function around them."""
    found, stack = [], []
    header_start, line = 0, 1
    for match in re.finditer(r"[{};\n]|\b(?:public|private|protected)\s*:(?!:)", body):
        token = match.group()
        if token == "\n":
            line += 1
        elif token == "{":
            header = body[header_start:match.start()]
            lead = len(header) - len(header.lstrip())
            first = line - header[lead:].count("\n")
            outer = stack[-1].kind if stack else "namespace"
            stack.append(_Block(_kind(header, outer), header, first, match.end()))
            header_start = match.end()
        elif token == "}":
            if not stack:
                continue
            block = stack.pop()
            content = body[block.content:match.start()]
            after = body[match.end():match.end() + 80].lstrip()
            if after[:1] in (",", "{", ")") and ";" not in content:
                header_start = block.content - 1 - len(block.header)  # `member{value}` of a constructor
                continue
            if block.kind == "function":
                found.append(Function(_name(block.header), block.first, line))
            header_start = match.end()
        else:
            header_start = match.end()
    return found


def _name(header):
    match = _NAME.search(header)
    return match.group(1) if match else "?"

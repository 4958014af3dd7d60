"""Blocks of programs, settings, and logs. In programs, each function or class starts a section.

Lines that look like a definition start one, and their indentation shows the end. kg needs no grammar, because
a wrong section only changes the path of a passage.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise, takewhile
from typing import NamedTuple

from kg_api.schemas.documents import Block
from kg_api.text.markdown import split_text_blocks

_INDENTED = frozenset({"py", "pyi", "rb"})
_BRACED = frozenset({
    *("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "java", "go", "rs"),
    *("c", "h", "cc", "cpp", "cxx", "hh", "hpp", "cs", "sh", "bash"),
})  # fmt: skip
_KEYWORD = re.compile(
    r"""[ \t]*(?:[a-z]\w*(?:\([^()\n]{0,40}\))?[ \t]+){0,5}?      # export default, pub(crate), async
    (?:(?P<type>class|@?interface|struct|trait|module|namespace|record|mod
         |impl(?:<[^>\n]{0,200}>)?(?:[ \t]+[^{\n]{1,200}?[ \t]for)?)
       |union|enum|type|def|fn|func|function\*?|macro_rules!)
    [ \t]+(?:\([ \t]*(?:\w+[ \t]+)?\*?(?P<receiver>\w+)[^()\n]{0,100}\)[ \t]*)?  # of a method in Go
    (?P<name>(?:self\.)?\w+(?:(?:::|\.)\w+)*[?!]?)""",
    re.VERBOSE,
)
_VALUE = re.compile(
    r"[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+(?P<name>\w+)[^=\n]{0,200}=[ \t]*(?:async[ \t]*)?"
    r"(?:function\b|class\b|\([^\n]{0,200}=>|\w+[ \t]*=>)"
)
_METHOD = re.compile(
    r"[ \t]*(?:[\w.:<>\[\],?*&~@]+[ \t]+){0,8}[*&]*(?P<name>~?\w+(?:::~?\w+)*)[ \t]*\([^;'\"`=\n]*\Z"
)
_NO_NAMES = re.compile(
    r"[ \t]*(?:if|for|foreach|while|switch|catch|return|else|elif|do|try|new|throw|case|using|lock|match"
    r"|await|sizeof|select|defer|go|yield|delete|assert|super|this|[#}/*])\b"
)
_ABOVE = re.compile(r"[ \t]*(?://|/\*|\*|\#|@|\[\w|template\b)|.*\*/\s*\Z")
_GOES_ON = re.compile(r"\s*[{)\]#]|\s*where\b|\s*\Z")
_CLOSES = re.compile(r"\s*(?:[})\]]|end\b|fi\b)")
_MAX_LINE, _MAX_HEAD, _MAX_ABOVE = 500, 12, 50
"""Characters of a line, lines of a definition before its body, and lines of the comment above."""
_MAX_DEPTH = 8
_MIN_LINES = 4  # shorter definitions belong to the surrounding text
_MIN_WORD_LINES = 3  # lines with words that make the text between definitions a section


class Scope(NamedTuple):
    """Start of a definition, or of the text around definitions."""

    start: int
    path: tuple[str, ...]
    defines: bool = True


def parse_program_blocks(text: str, suffix: str) -> Iterator[Block]:
    """Yield the blocks between blank lines. The first block of each function or class has its path."""
    scopes = find_scopes(text, suffix)
    starts = [scope.start for scope in scopes]
    current = -1
    for block in split_text_blocks(text, "program"):
        within = starts[bisect_right(starts, block.start) : bisect_left(starts, block.end)]
        for start, end in pairwise([block.start, *within, block.end]):
            scope = bisect_right(starts, start) - 1
            yield Block("program", start, end, scope=scopes[scope].path if scope != current else None)
            current = scope


def find_scopes(text: str, suffix: str) -> list[Scope]:
    """Return the positions where functions, classes, and the text around them start (no program: none)."""
    if suffix not in _INDENTED | _BRACED:
        return []
    lines = text.splitlines(keepends=True)
    offsets = [0, *accumulate(map(len, lines))]
    sections: dict[int, Scope] = {}
    around: list[tuple[int, str, bool]] = []  # end and name of the enclosing definitions, and whether types
    for at, line in enumerate(lines):
        while around and around[-1][0] <= at:
            around.pop()
        if len(line) > _MAX_LINE or len(around) > _MAX_DEPTH or not all(is_type for *_, is_type in around):
            continue
        name, is_type = _find_name(lines, at, braced=suffix in _BRACED)
        if not name:
            continue
        end = _find_end(lines, at)
        path = (*(each for _, each, _ in around), name)
        above = reversed(lines[max(0, at - _MAX_ABOVE) : at])
        start = at - sum(1 for _ in takewhile(lambda each: _ABOVE.match(each[:_MAX_LINE]), above))
        if end - start >= _MIN_LINES:
            around.append((end, name, is_type))
            sections.setdefault(end, Scope(offsets[end], path[:-1], defines=False))
            sections[start] = Scope(offsets[start], path)
    return _keep_long([sections[at] for at in sorted(sections)], lines, offsets)


def _find_name(lines: Sequence[str], at: int, *, braced: bool) -> tuple[str, bool]:
    """Return the name that a line defines (empty: none), and whether it may contain other definitions."""
    line = lines[at].rstrip()
    if (found := _KEYWORD.match(line)) or (braced and (found := _VALUE.match(line))):
        pass
    elif not (braced and not _NO_NAMES.match(line) and (found := _METHOD.match(line))):
        return "", False
    parts = found.groupdict()
    name = ".".join(filter(None, (parts.get("receiver"), found["name"])))
    is_type = bool(parts.get("type"))
    # A declaration such as `struct stat buffer;` ends before any body.
    for head in (each.rstrip() for each in lines[at : at + _MAX_HEAD] if braced):
        if head.endswith(";") or not head:
            return "", False
        if "{" in head:
            return name, is_type
    return "" if braced else name, is_type


def _find_end(lines: Sequence[str], at: int) -> int:
    """Find the line behind a definition: the first that is indented as little and does not continue it."""
    indent, end = _indent(lines[at]), at + 1
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if _indent(line) > indent and line.strip():
            end = number + 1
        elif not _GOES_ON.match(line):
            return number + 1 if _CLOSES.match(line) and _indent(line) == indent else end
    return end if end > at + 1 else len(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _keep_long(sections: Sequence[Scope], lines: Sequence[str], offsets: Sequence[int]) -> list[Scope]:
    """Keep sections with enough lines. A short one belongs to the next, or to the last if none follows."""
    kept: list[Scope] = []
    begin = None
    for section, after in pairwise([*sections, Scope(offsets[-1], (), defines=False)]):
        start = section.start if begin is None else begin
        part = lines[bisect_left(offsets, start) : bisect_left(offsets, after.start)]
        count = sum(any(map(str.isalnum, line)) for line in part)
        if count >= _MIN_WORD_LINES or (section.defines and not after.defines):
            kept.append(Scope(start, section.path))
            begin = None
        elif count:
            begin = start
    return kept

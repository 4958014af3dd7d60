"""Names of programs that a text speaks of: `ExceptionGroup` is what it calls an exception group elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HUMP = r"(?:[A-Z]{2,}(?=[A-Z][a-z])|[A-Z][a-z]{2,})"
_CAMEL = re.compile(rf"{_HUMP}{{2,8}}(?:\d{{1,3}})?$")
_HUMPS = re.compile(_HUMP)
_PART = re.compile(r"[^\W_]+")
_SPECIAL = re.compile(r"__\w+__$")
_MAX_LENGTH = 80

_SPAN = re.compile(r"(?<!`)(`{1,2})(?P<code>[^`\n]{2,80})\1(?!`)")
"""Code within a line of text."""
_NAME = re.compile(r"@?(?P<name>[A-Za-z_][\w.]{1,78}\w)(?:\(\))?$")
_WORD = re.compile(r"(?<![\w./:@-])[A-Z][A-Za-z]{4,78}\b(?![/@])")
_FILE = re.compile(r"\.[a-z]{1,4}$")
_SURE = re.compile(
    r"__[a-z]\w+__$"  # __exit__
    r"|[A-Z][A-Z_]{5,}$"  # PYTHONHOME
    r"|[A-Z][A-Z]+(?:_[A-Z]+)+$"  # MAX_AGE
)


def name_words(name: str) -> tuple[str, ...]:
    """The words of a name, folded: of `tempfile.TemporaryDirectory` temporary and directory."""
    if name.isalpha() and not _CAMEL.match(name):
        return (name.casefold(),)
    last = name.rpartition(".")[2]
    if _CAMEL.match(last):
        return tuple(each.casefold() for each in _HUMPS.findall(last))
    parts = _PART.findall(last) if "_" in last else []
    if len(parts) == 1 and _SPECIAL.match(last):  # __file__ is no file
        return (last.casefold(),)
    return tuple(each.casefold() for each in parts) or (name.casefold(),)


def names_in_text(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where a sentence marks names as code: start, end, and whether once is enough."""
    for span in _SPAN.finditer(text):
        found = _NAME.match(span["code"])
        if found:
            start = span.start("code") + found.start("name")
            name = found["name"]
            sure = _is_sure(name)
            if sure or (("." in name or "_" in name) and not _FILE.search(name)):
                yield start, start + len(name), sure


def names_in_code(text: str) -> Iterator[tuple[int, int]]:
    """Where a line of code has names that are written as those of classes are."""
    return ((found.start(), found.end()) for found in _WORD.finditer(text) if _CAMEL.match(found[0]))


def _is_sure(name: str) -> bool:
    last = name.rpartition(".")[2]
    return len(name) <= _MAX_LENGTH and (_CAMEL.match(last) or _SURE.match(name)) is not None

"""Which function or class each part of a program belongs to."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from kg_api.convert.program.definitions import Definition, definitions
from kg_api.convert.program.languages import language_of
from kg_api.models.library.parsing import CodeScope

MIN_LINES = 4
"""A definition of fewer is read with what stands around it."""
_MIN_WORD_LINES = 3
"""Lines with words that what stands between definitions needs to be a section of its own."""
_WORD_LINE = re.compile(r"^.*\w.*$", re.MULTILINE)
_INDENT = re.compile(r"[ \t]*\Z")
_REST = re.compile(r"[ \t;,]*(?:\r\n|\n|\r)?")


class _Section(NamedTuple):
    """From here on the text belongs to a definition, or to what stands around some."""

    start: int
    path: tuple[str, ...]
    defines: bool
    """Whether it begins with a definition."""


def find_scopes(data: bytes, suffix: str) -> list[CodeScope]:
    """Find where functions and classes begin, and where the text around them goes on.

    Args:
        data: the program, in UTF-8.
        suffix: of its file, without the dot; one of `languages.SUFFIXES`.

    Raises:
        UnreadableDocument: as `definitions` does.
    """
    found = definitions(data, language_of(suffix))
    text = data.decode("utf-8", "replace")
    sections = _worth(text, _sections(text, _in_code_points(text, data, found)))
    return [CodeScope(section.start, section.path) for section in sections]


def _in_code_points(text: str, data: bytes, found: list[Definition]) -> list[Definition]:
    found = [each for each in found if each.lines >= MIN_LINES]
    if len(text) == len(data):
        return found
    borders = sorted({border for each in found for border in (each.start, each.end)})
    places, at = dict[int, int](), 0
    for before, border in pairwise([0, *borders]):
        at += len(data[before:border].decode("utf-8", "replace"))
        places[border] = at
    return [replace(each, start=places[each.start], end=places[each.end]) for each in found]


def _sections(text: str, found: list[Definition]) -> list[_Section]:
    """Each definition opens one, and its end another for what follows in the scope around it."""
    sections = dict[int, _Section]()
    for each in found:
        end, path = _line_end(text, each.end), each.path[:-1]
        if end not in sections or len(path) < len(sections[end].path):
            sections[end] = _Section(end, path, defines=False)
    for each in found:
        start = _line_start(text, each.start)
        sections[start] = _Section(start, each.path, defines=True)
    return [sections[start] for start in sorted(sections)]


def _line_start(text: str, place: int) -> int:
    indent = _INDENT.search(text, max(0, place - 1_000), place)
    begin = indent.start() if indent else place
    return begin if begin == 0 or text[begin - 1] in "\r\n" else place


def _line_end(text: str, place: int) -> int:
    rest = _REST.match(text, place)
    return rest.end() if rest else place


def _worth(text: str, sections: list[_Section]) -> list[_Section]:
    """Those that say enough; the lines of others go to the next, and those at the end to the one before."""
    kept: list[_Section] = []
    begin: int | None = None
    for section, after in pairwise([*sections, _Section(len(text), (), defines=False)]):
        start = section.start if begin is None else begin
        lines = len(_WORD_LINE.findall(text[start : after.start]))
        if lines >= _MIN_WORD_LINES or (section.defines and not after.defines):
            kept.append(section._replace(start=start))
            begin = None
        elif lines:
            begin = start
    return kept

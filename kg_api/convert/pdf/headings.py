"""Which lines are headings: by the document's outline, else by their size and weight."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kg_api.convert.pdf.layout import Line

MAX_LEVEL = 6
_MAX_LETTERS = 250
_MAX_BOLD_LETTERS = 120
_MAX_LINES = 4
_LARGER = 1.08
_SAME_SIZE = 0.5
_MAX_PIECES = 2
_WORD = re.compile(r"[^\W\d_]{3}|[\u2e80-\uffff]")
_PAGE_NUMBER = re.compile(r"\W*\d+$")
_MAX_PREFIX = 12
"""Letters that a heading may have in front of its title in the outline: its number, or "Chapter 1"."""


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    title: str
    level: int
    page: int


@dataclass(slots=True)
class Heading:
    """A heading of a document: lines that belong together, and its level."""

    level: int
    lines: list[Line]


def body_size(lines: Iterable[Line]) -> float:
    """Give the font size of most letters."""
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size * 2) / 2] += 0 if line.mono else len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0


def headings(lines: Sequence[Line], outline: Sequence[OutlineEntry]) -> dict[int, Heading]:
    """Find the headings among all lines of a document, by the `id` of each line."""
    body = body_size(lines)
    found = list(_of_outline(lines, outline))
    taken = {id(line) for heading in found for line in heading.lines}
    by_size = [group for group in _groups(lines, body) if not any(id(line) in taken for line in group)]
    by_size = list(_without_contents(by_size, outline))
    found += _by_size(by_size, found)
    return {id(line): heading for heading in found for line in heading.lines}


def _of_outline(lines: Sequence[Line], outline: Sequence[OutlineEntry]) -> Iterator[Heading]:
    pages: dict[int, list[Line]] = defaultdict(list)
    for line in lines:
        pages[line.page].append(line)
    begin: dict[int, int] = defaultdict(int)
    for entry in outline:
        for page in (entry.page, entry.page + 1, entry.page - 1):
            place = _place(pages.get(page, []), _letters(entry.title), begin[page])
            if place:
                yield Heading(min(entry.level, MAX_LEVEL), pages[page][slice(*place)])
                begin[page] = place[1]
                break


def _place(lines: list[Line], title: str, begin: int) -> tuple[int, int] | None:
    """The lines that say a title, and what stands before it at most; the largest of several."""
    found: list[tuple[float, int, int]] = []
    for start in range(begin, len(lines) if title else 0):
        letters = ""
        for stop in range(start, min(start + _MAX_LINES, len(lines))):
            letters += _letters(lines[stop].text)
            prefix = len(letters) - len(title)
            if prefix > _MAX_PREFIX:
                break
            if (
                letters
                and (_says(letters, title) or _says(title, letters))
                and len(letters) > 0.5 * len(title)
            ):
                found.append((lines[start].size + lines[start].bold - abs(prefix) / 50, -start, stop + 1))
    if not found:
        return None
    _, start, stop = max(found)
    return -start, stop


def _says(letters: str, title: str) -> bool:
    """The one is the other, but for a number or the like before it."""
    return letters.endswith(title) and len(letters) - len(title) <= _MAX_PREFIX


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _groups(lines: Sequence[Line], body: float) -> Iterator[list[Line]]:
    """Lines in larger or bold letters that stand together."""
    group: list[Line] = []
    for i, line in enumerate(lines):
        if group and not _goes_on(group[-1], line):
            yield from _checked(group, lines[i - len(group) - 1 : i - len(group)], line, body)
            group = []
        if line.size > body * _LARGER or (line.all_bold and line.size > body * 0.95):
            group.append(line)
    if group:
        yield from _checked(group, lines[-len(group) - 1 : -len(group)], None, body)


def _without_contents(groups: list[list[Line]], outline: Sequence[OutlineEntry]) -> Iterator[list[Line]]:
    """Leave out the lines of a table of contents: what a heading says elsewhere, and its page's number."""
    titles = {_letters(entry.title) for entry in outline} | {_letters(_words(group)) for group in groups}
    for group in groups:
        text = _words(group)
        title = _letters(_PAGE_NUMBER.sub("", text))
        if not (group[-1].ends_in_page_number or (_PAGE_NUMBER.search(text) and title in titles)):
            yield group


def _words(group: Sequence[Line]) -> str:
    return " ".join(line.text for line in group)


def _goes_on(last: Line, line: Line) -> bool:
    same = last.page == line.page and last.column is line.column and last.bold == line.bold
    near = 0 < last.baseline - line.baseline < 1.6 * max(last.size, line.size)
    return same and near and abs(last.size - line.size) < _SAME_SIZE


def _checked(
    group: list[Line], before: Sequence[Line], after: Line | None, body: float
) -> Iterator[list[Line]]:
    text = " ".join(line.text for line in group)
    larger = group[0].size > body * _LARGER
    short = len(text) <= (_MAX_LETTERS if larger else _MAX_BOLD_LETTERS)
    if not short or len(group) > (_MAX_LINES if larger else 2) or not _WORD.search(text):
        return
    if larger or (not text.endswith((".", ",", ";")) and _alone(group, before, after)):
        yield group


def _alone(group: list[Line], before: Sequence[Line], after: Line | None) -> bool:
    """A bold line is a heading when there is room above it, and text below that begins where it begins."""
    first, last = group[0], group[-1]
    if (
        first.mono
        or len(first.pieces) > _MAX_PIECES
        or not (first.text[0].isupper() or first.text[0].isdigit())
    ):
        return False
    above = before[0] if before and before[0].column is first.column else None
    room = above is None or above.baseline - first.baseline > 1.35 * first.size
    follows = after is not None and after.column is last.column and len(after.pieces) == 1
    return room and follows


def _by_size(groups: Sequence[list[Line]], known: Sequence[Heading]) -> Iterator[Heading]:
    """Larger letters are higher levels; beside an outline, its levels count for its headings' letters."""
    levels = _known_levels(known)
    lowest = max(levels.values(), default=0)
    kinds = sorted({_kind(group[0]) for group in groups} - set(levels), reverse=True)
    for rank, kind in enumerate(kinds, 1):
        above = max((level for other, level in levels.items() if other > kind), default=0)
        levels[kind] = min(above + 1, lowest + 1, MAX_LEVEL) if known else min(rank, MAX_LEVEL)
    for group in groups:
        yield Heading(levels[_kind(group[0])], group)


def _known_levels(known: Sequence[Heading]) -> dict[tuple[float, bool], int]:
    votes: dict[tuple[float, bool], Counter[int]] = defaultdict(Counter)
    for heading in known:
        votes[_kind(heading.lines[0])][heading.level] += 1
    return {kind: counter.most_common(1)[0][0] for kind, counter in votes.items()}


def _kind(line: Line) -> tuple[float, bool]:
    return round(line.size), line.bold

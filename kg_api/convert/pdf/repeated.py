"""Detection of headers and footers: equal text, except for digits, at the same position on several pages."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kg_api.convert.pdf.characters import PageText
from kg_api.convert.pdf.layout import TextRun, rows

_MIN_PAGES = 3
_ZONE = 0.25  # share of the page height at both ends
_MAX_ROWS = 2
_NUMBER = re.compile(r"\d+")
_FIRST_NUMBER, _LAST_NUMBER = re.compile(r"(\d{1,5})(?=\s|$)"), re.compile(r"(?:^|\s)(\d{1,5})$")
_ROMAN = re.compile(r"[ivxlc]+|[IVXLC]+")


class _Row(NamedTuple):
    page: int
    place: int
    words: str
    pieces: list[TextRun]


def leave_out(pages: Sequence[PageText]) -> tuple[int, int]:
    """Remove headers, footers, and page numbers from the pages.

    Returns:
        Number of removed lines, and number of their pages.
    """
    if len(pages) < _MIN_PAGES:
        return 0, 0
    ends = list[_Row]()
    for number, page in enumerate(pages):
        ends += _ends(number, page.pieces, page.height)
        ends += _ends(number, page.across, page.breadth) if page.is_vertical else ()
    repeated = [*_same_words(ends), *_with_page_numbers(ends, len(pages))]
    gone: dict[int, set[int]] = defaultdict(set)
    lines: set[tuple[int, int]] = set()
    for row in repeated:
        gone[row.page].update(id(piece) for piece in row.pieces)
        lines.add((row.page, row.place))
    if all(len(gone[number]) == len(_list_pieces(page)) for number, page in enumerate(pages)):
        return 0, 0  # the pages have no other text
    for number, ids in gone.items():
        page = pages[number]
        page.left_out += [piece.text for piece in _list_pieces(page) if id(piece) in ids]
        page.pieces = [piece for piece in page.pieces if id(piece) not in ids]
        page.across = [piece for piece in page.across if id(piece) not in ids]
    return len(lines), len({page for page, _ in lines})


def _list_pieces(page: PageText) -> list[TextRun]:
    """Return the pieces that may be a header. On vertical pages, most headers are across the text."""
    return [*page.pieces, *page.across] if page.is_vertical else page.pieces


def _ends(number: int, pieces: Sequence[TextRun], height: float) -> Iterable[_Row]:
    top, bottom = height * (1 - _ZONE), height * _ZONE
    above = rows(piece for piece in pieces if piece.baseline > top)[:_MAX_ROWS]
    below = rows(piece for piece in pieces if piece.baseline < bottom)[-_MAX_ROWS:]
    for row in above + below:
        words = " ".join(piece.text for piece in row)
        yield _Row(number, round(row[0].baseline / 4), " ".join(words.split()), row)


def _same_words(ends: list[_Row]) -> Iterable[_Row]:
    """Yield rows that recur on nearby pages. Left and right pages may differ."""
    groups: dict[tuple[int, str], list[_Row]] = defaultdict(list)
    for row in ends:
        pattern = "#" if _ROMAN.fullmatch(row.words) else _NUMBER.sub("#", row.words)
        groups[row.place, pattern].append(row)
    for (place, words), group in list(groups.items()):
        near = group + [row for by in (-1, 1) for row in groups.get((place + by, words), [])]
        numbers = sorted({row.page for row in near})
        if len(numbers) >= _MIN_PAGES and len(numbers) * 2.5 >= numbers[-1] - numbers[0]:
            yield from group


def _with_page_numbers(ends: list[_Row], count: int) -> Iterable[_Row]:
    """Yield rows that start or end with the page number, at a position where enough pages have one."""
    groups: dict[tuple[int, int], list[_Row]] = defaultdict(list)
    for row in ends:
        found = (_FIRST_NUMBER.match(row.words), _LAST_NUMBER.search(row.words))
        for number in {int(match[1]) for match in found if match}:
            groups[row.place, number - row.page].append(row)
    pages = Counter({key: len({row.page for row in group}) for key, group in groups.items()})
    for key, on_pages in pages.items():
        if on_pages >= max(_MIN_PAGES, count * 0.3):
            yield from groups[key]

"""Lines of a PDF without a place in its text: unreadable ones, and repeated headers and footers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from kg_api.convert.pdf.characters import PageText
from kg_api.convert.pdf.layout import TextRun, group_into_rows
from kg_api.convert.pdf.letters import UNKNOWN

# Text without a character mapping
#
# A font may lack a ToUnicode map and real glyph names. PDFium then returns bare character codes. These codes
# are correct only if they match ASCII, as in old TeX files, so kg checks whether they form words. Codes of
# other scripts are never correct by chance.

_MOST, _FEW = 0.5, 3
"""Minimum share and number of unmapped characters in a piece. Fewer are signs in readable text."""
_MIN_LETTERS = 60  # of a page to judge it separately
_LETTER_SHARE, _NUMBER_SHARE = 0.5, 0.7
_WORD = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"[-+(]?\d[\d.,:/]*[%)]?")
_SAID = re.compile(r"(?=.*[aeiouy\u00c0-\uffff])(?!.*[b-df-hj-np-tv-xz]{5})(?!.*[aeiou]{4}).*")
_SAID_SHARE, _MAX_WORD = 0.75, 20  # measured: text 0.79 to 1, letters of unknown fonts up to 0.7


def remove_unreadable(pages: Sequence[PageText]) -> None:
    """Move unreadable pieces from the text of the pages to `unreadable`."""
    suspects = [[run for run in (*page.pieces, *page.across) if _is_suspect(run)] for page in pages]
    if not any(suspects) or _is_readable(run for some in suspects for run in some):
        return
    for page, some in zip(pages, suspects, strict=True):
        letters = sum(len(run.text) for run in some)
        if some and not (letters >= _MIN_LETTERS and _is_readable(some)):
            page.unreadable = [run for run in (*page.pieces, *page.across) if _is_suspect(run, 1)]
            page.left_out += [run.text for run in page.unreadable]
            taken = set(map(id, page.unreadable))
            page.pieces = [run for run in page.pieces if id(run) not in taken]
            page.across = [run for run in page.across if id(run) not in taken]


def _is_suspect(run: TextRun, few: int = _FEW) -> bool:
    return run.unmapped >= max(few, _MOST * len(run.text.replace(" ", "")))


def _is_readable(runs: Iterable[TextRun]) -> bool:
    """Check if codes form words of a language or numbers."""
    tokens = " ".join(run.text for run in runs).split()
    rest = [token for token in tokens if not _NUMBER.fullmatch(token)]
    if len(rest) <= (1 - _NUMBER_SHARE) * len(tokens):
        return True
    words = _WORD.findall(" ".join(rest))
    letters = sum(map(len, words))
    if letters < _LETTER_SHARE * sum(map(len, rest)):
        return False
    usual = (word.casefold() for word in words if word[1:].islower() or word.isupper())
    readable = sum(len(word) <= _MAX_WORD and bool(_SAID.fullmatch(word)) for word in usual)
    return readable >= _SAID_SHARE * len(words)


def remove_control_codes(pages: Iterable[PageText]) -> dict[int, int]:
    """Remove the few control codes within readable text, because their letters are unknown.

    Returns:
        The number of removed codes by 1-based page.
    """
    removed: dict[int, int] = {}
    for number, page in enumerate(pages, 1):
        for run in (*page.pieces, *page.across):
            if UNKNOWN in run.text:
                removed[number] = removed.get(number, 0) + run.text.count(UNKNOWN)
                run.text = run.text.replace(UNKNOWN, "")
        page.pieces = [run for run in page.pieces if run.text]
        page.across = [run for run in page.across if run.text]
    return removed


# Headers and footers: equal text, except for page numbers, at the same position on several pages

_MIN_PAGES = 3
_ZONE = 0.25  # share of the page height at both ends
_MAX_ROWS = 2
_DIGITS = re.compile(r"\d+")
_FIRST_NUMBER, _LAST_NUMBER = re.compile(r"(\d{1,5})(?=\s|$)"), re.compile(r"(?:^|\s)(\d{1,5})$")
_ROMAN = re.compile(r"[ivxlc]+|[IVXLC]+")
_PAGE_TOKEN = re.compile(r"\W*\d{1,5}(?:\W+\d{1,5})?\W*")
"""Token such as `3`, `(3)`, or `3/12`, but not `2025-03-12` or `88.50`."""
_ONE_NUMBER = re.compile(r"\W*(\d{1,5})\W*")
_PAGE_WORDS = frozenset({
    *("page", "pages", "pg", "pag", "pagina", "página", "pàgina", "pagină", "seite", "seiten", "blatt"),
    *("folie", "sida", "sidan", "side", "sivu", "blad", "bladzijde", "blz", "strona", "str"),
    *("strana", "stránka", "oldal", "lehekülg", "lappuse", "puslapis", "sayfa", "halaman", "trang", "folio"),
    *("sheet", "slide", "diapositive", "diapositiva", "страница", "стр", "сторінка", "σελίδα", "σελ"),
    *("ページ", "페이지"),
})  # fmt: skip
_STEPS = (0, 1, 2)  # a sheet may show two pages
_NEAR = 4  # rows before and after a row to compare it with
_TITLE = 1.2  # size of a title relative to that of most text
_BODY = 0.95  # of the body text


class _Row(NamedTuple):
    page: int
    place: int
    words: str
    pieces: list[TextRun]
    is_title: bool  # such as `Exercise 3` on the third page
    records: frozenset[int]  # positions of words that are numbers of records, such as `Invoice 1001`


def remove_headers(pages: Sequence[PageText]) -> tuple[int, int]:
    """Remove headers, footers, and page numbers. Return the number of removed lines and of their pages."""
    if len(pages) < _MIN_PAGES:
        return 0, 0
    ends = list[_Row]()
    size = _find_usual_size(pages)
    for number, page in enumerate(pages):
        ends += _list_edge_rows(number, page.pieces, page.height, size)
        ends += _list_edge_rows(number, page.across, page.breadth, size) if page.is_vertical else ()
    repeated = [*_find_recurring_rows(ends), *_find_numbered_rows(ends, len(pages))]
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
    """List the pieces that may be a header. On vertical pages, most headers are across the text."""
    return [*page.pieces, *page.across] if page.is_vertical else page.pieces


def _find_usual_size(pages: Sequence[PageText]) -> float:
    """Return the size of most characters."""
    sizes = Counter[float]()
    for page in pages:
        for piece in _list_pieces(page):
            sizes[round(piece.size, 1)] += len(piece.text)
    return sizes.most_common(1)[0][0] if sizes else 0


def _list_edge_rows(
    number: int, pieces: Sequence[TextRun], height: float, usual_size: float
) -> Iterable[_Row]:
    top, bottom = height * (1 - _ZONE), height * _ZONE
    above = group_into_rows(piece for piece in pieces if piece.baseline > top)[:_MAX_ROWS]
    below = group_into_rows(piece for piece in pieces if piece.baseline < bottom)[-_MAX_ROWS:]
    for at, row in enumerate(above + below):
        words = " ".join(" ".join(piece.text for piece in row).split())
        size = max(piece.size for piece in row)
        is_title = size >= _TITLE * usual_size and not _PAGE_TOKEN.fullmatch(words)
        page_number = number + 1 if at >= len(above) else None
        is_body = size >= _BODY * usual_size
        records = frozenset(_find_records(row, page_number) if is_body else ())
        yield _Row(number, round(row[0].baseline / 4), words, row, is_title, records)


def _find_records(row: Sequence[TextRun], page_number: int | None) -> Iterable[int]:
    """Yield the positions of numbers right after another word than `page`.

    At the bottom of a page, the number of the page may follow a title.
    """
    position = 0
    for piece in row:
        for before, word in pairwise(["", *piece.text.split()]):
            found, label = _ONE_NUMBER.fullmatch(word), before.strip(".:#").casefold()
            is_named = _WORD.fullmatch(label) and label not in _PAGE_WORDS
            if found and is_named and int(found[1]) != page_number:
                yield position
            position += 1


def _find_recurring_rows(ends: list[_Row]) -> Iterable[_Row]:
    """Yield rows that recur on nearby pages. Left and right pages may differ.

    Rows that differ in other numbers than page numbers are text, such as `Total: 88.50`.
    """
    groups: dict[tuple[int, str], list[_Row]] = defaultdict(list)
    for row in ends:
        pattern = "#" if _ROMAN.fullmatch(row.words) else _DIGITS.sub("#", row.words)
        groups[row.place, pattern].append(row)
    for (place, pattern), group in list(groups.items()):
        near = group + [row for by in (-1, 1) for row in groups.get((place + by, pattern), [])]
        near.sort(key=lambda row: row.page)
        numbers = sorted({row.page for row in near})
        if len(numbers) < _MIN_PAGES or len(numbers) * 2.5 < numbers[-1] - numbers[0]:
            continue
        pages = Counter(words for words, _ in {(row.words, row.page) for row in near})
        for at, row in enumerate(near):
            others = near[max(0, at - _NEAR) : at + _NEAR + 1]
            if row.place == place and (
                pages[row.words] >= _MIN_PAGES
                or (not row.is_title and any(_count_pages_alike(row, other) for other in others))
            ):
                yield row


def _count_pages_alike(row: _Row, other: _Row) -> bool:
    """Check if two rows on different pages are equal except for page numbers."""
    apart = other.page - row.page
    if apart == 0:
        return False
    if _ROMAN.fullmatch(row.words) or _ROMAN.fullmatch(other.words):
        return True
    tokens = enumerate(zip(row.words.split(), other.words.split(), strict=True))
    changed = {at: pair for at, pair in tokens if pair[0] != pair[1]}
    is_record = not row.records.isdisjoint(changed)
    return (
        bool(changed)
        and not is_record
        and all(_is_page_step(own, its, apart) for own, its in changed.values())
    )


def _is_page_step(own: str, its: str, apart: int) -> bool:
    if not (_PAGE_TOKEN.fullmatch(own) and _PAGE_TOKEN.fullmatch(its)):
        return False
    steps = zip(_DIGITS.findall(own), _DIGITS.findall(its), strict=False)  # a `#` can be a digit elsewhere
    return all(int(after) - int(before) in {step * apart for step in _STEPS} for before, after in steps)


def _strip_numbers(row: _Row) -> str:
    """Return the words of a row without numbers and signs."""
    return " ".join(_WORD.findall(row.words)).casefold()


def _find_numbered_rows(ends: list[_Row], count: int) -> Iterable[_Row]:
    """Yield rows that start or end with the page number, at a position where enough pages have one.

    Other words of such a row recur. Words of one page only are text, such as the heading `2 Methods`.
    """
    groups: dict[tuple[int, int], list[_Row]] = defaultdict(list)
    pages_by_words: dict[str, set[int]] = defaultdict(set)
    with_words = [(row, _strip_numbers(row)) for row in ends]
    for row, words in with_words:
        pages_by_words[words].add(row.page)
    for row, words in with_words:
        if row.is_title or (words and len(pages_by_words[words]) == 1):
            continue
        is_record = len(row.words.split()) - 1 in row.records
        found = (_FIRST_NUMBER.match(row.words), None if is_record else _LAST_NUMBER.search(row.words))
        for number in {int(match[1]) for match in found if match}:
            groups[row.place, number - row.page].append(row)
    pages = Counter({key: len({row.page for row in group}) for key, group in groups.items()})
    for key, on_pages in pages.items():
        if on_pages >= max(_MIN_PAGES, count * 0.3):
            yield from groups[key]

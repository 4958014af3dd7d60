"""A sheet of a workbook as its readers find it, and what they note."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from kg_api.convert.markdown_text import lower_text, one_line, raise_text
from kg_api.errors import UnreadableDocument

MAX_CELLS = 2_000_000
"""Between the first and the last that is filled, in one sheet; a list of more cells is a database."""
_MAX_EXAMPLE = 80
_MAX_RANGES = 20
_PAGE_NUMBER = re.compile(r"\w*\s*&[PN]")
"""A number of a page or of all pages, with the word before it."""

Range = tuple[int, int, int, int]
"""Top, left, bottom and right of cells, counted from 0; the last are within."""


@dataclass(slots=True)
class Sheet:
    """What a reader of workbooks found on one sheet."""

    name: str
    hidden: bool = False
    rows: list[list[str]] = field(default_factory=list[list[str]])
    """From the first filled row to the last; those between may be empty, and each ends where it ends."""
    merges: list[Range] = field(default_factory=list[Range])
    bold: set[int] = field(default_factory=set[int])
    """Rows whose filled cells are all bold."""
    texts: list[str] = field(default_factory=list[str])
    """Paragraphs of text boxes."""
    hidden_rows: str = ""
    """Those that have cells, such as `4-6, 9`."""
    hidden_columns: str = ""


class GridBuilder:
    """Collects filled rows of a sheet and places them as the sheet has them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rows = list[tuple[int, int, list[str]]]()
        self._left, self._right = 1 << 30, 0
        self.top = 0
        """The first filled row, from 1; 0 if there is none."""

    def add_row(self, number: int, cells: Mapping[int, str], times: int = 1) -> None:
        """Add the filled cells of a row below those before, by their columns from 0.

        Args:
            number: of the row, from 1.
            cells: at least one.
            times: how many rows in a row have these cells.

        Raises:
            UnreadableDocument: there are too many places between the first and the last filled cell.
        """
        left, right = min(cells), max(cells) + 1
        self._left, self._right = min(self._left, left), max(self._right, right)
        self.top = self.top or number
        if (number + times - self.top) * (self._right - self._left) > MAX_CELLS:
            raise too_large(self._name)
        row = [""] * (right - left)
        for column, text in cells.items():
            row[column - left] = text
        self._rows += [(each, left, row) for each in range(number, number + times)]

    def build(self) -> list[list[str]]:
        """Return all rows from the first filled place, with blank ones between."""
        rows = list[list[str]]()
        for number, left, row in self._rows:
            rows += [[] for _ in range(number - self.top - len(rows))]
            rows.append([*[""] * (left - self._left), *row])
        return rows

    @property
    def left(self) -> int:
        """The first filled column."""
        return self._left if self._rows else 0


def too_large(name: str) -> UnreadableDocument:
    """Return the error of a sheet with too many cells."""
    return UnreadableDocument(
        f"{name!r} in it has more than {MAX_CELLS:,} cells between its first and its last; "
        "save the part that is meant as CSV"
    )


class SheetNotes:
    """Count what a person should know of the sheets of a workbook."""

    def __init__(self) -> None:
        self.uncomputed = 0
        """Cells whose formula has no stored result."""
        self._left_out: dict[str, tuple[int, str]] = {}

    def add_page_text(self, text: str) -> None:
        """Count a header or footer, in which `&P` and `&N` stand for numbers of pages."""
        words = one_line(_PAGE_NUMBER.sub(" ", text))
        if any(map(str.isalnum, words)):
            self.leave_out("headers and footers of pages", words)

    def leave_out(self, what: str, example: str = "") -> None:
        count, first = self._left_out.get(what, (0, ""))
        self._left_out[what] = count + 1, first or one_line(example)

    def describe(self) -> Iterator[str]:
        """Return notes such as `left out: comments on cells (3), e.g. "Ask Ann"`."""
        if self.uncomputed:
            yield (
                f"formulas without a stored result (cells: {self.uncomputed:,}): kg stored the formulas. "
                "To store results, open the file in a spreadsheet program and save it"
            )
        for what, (count, example) in self._left_out.items():
            short = example if len(example) <= _MAX_EXAMPLE else f"{example[: _MAX_EXAMPLE - 1]}…"
            yield f"left out: {what} ({count:,})" + (f', e.g. "{short}"' if short else "")


def strike_text(text: str) -> str:
    """Mark text as struck out, as Markdown files do."""
    inner = text.strip()
    if not inner:
        return text
    before = text[: len(text) - len(text.lstrip())]
    return f"{before}~~{inner}~~{text[len(text.rstrip()) :]}"


def join_runs(runs: Iterable[tuple[str, str, bool]]) -> str:
    """Join runs of one text: each with `super`, `sub` or nothing, and whether it is struck out."""
    joined = list[str]()
    for (script, is_struck), group in groupby(runs, key=lambda run: run[1:]):
        text = "".join(run[0] for run in group)
        if script:
            text = raise_text(text) if script == "super" else lower_text(text)
        joined.append(strike_text(text) if is_struck else text)
    return "".join(joined)


def name_ranges(numbers: Iterable[int], name: Callable[[int], str] = str) -> str:
    """Return numbers as `4-6, 9`; the rest of very many is counted."""
    ranges = list[tuple[int, int]]()
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    shown = [
        name(first) if first == last else f"{name(first)}-{name(last)}"
        for first, last in ranges[:_MAX_RANGES]
    ]
    more = sum(last - first + 1 for first, last in ranges[_MAX_RANGES:])
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def name_column(column: int) -> str:
    """Return the letters of a column, counted from 0."""
    letters = ""
    column += 1
    while column > 0:
        column, letter = divmod(column - 1, 26)
        letters = chr(65 + letter) + letters
    return letters

"""Sheet model for all workbook readers, and its conversion to Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.convert.ooxml.text import InlineText, Script
from kg_api.convert.shared.markdown_text import MarkdownWriter, join_lines, write_paragraph, write_table
from kg_api.errors import UnreadableDocument

MAX_CELLS = 2_000_000
"""Limit for the area between the first and the last filled cell of a sheet. Larger data belongs in a
database.
"""
_MAX_EXAMPLE = 80
_PAGE_NUMBER = re.compile(r"\w*\s*&[PN]")  # page number or page count, with the word before it


@dataclass(slots=True)
class Sheet:
    name: str
    hidden: bool = False
    rows: list[list[str]] = field(default_factory=list[list[str]])
    """Rows from the first to the last filled one. Rows may be empty and differ in length."""
    texts: list[str] = field(default_factory=list[str])  # paragraphs of text boxes
    hidden_rows: int = 0  # hidden rows that contain cells
    hidden_columns: int = 0
    _top: int = 0  # first filled row, 1-based (0: none)
    _width: int = 0

    def add_row(self, number: int, cells: Mapping[int, str]) -> None:
        """Add a row below the previous ones, with its filled cells by 0-based column."""
        width, self._top = max(cells) + 1, self._top or number
        self._width = max(self._width, width)
        if (number + 1 - self._top) * self._width > MAX_CELLS:
            raise report_too_large(self.name)
        self.rows += [[] for _ in range(number - self._top - len(self.rows))]
        self.rows.append([cells.get(at, "") for at in range(width)])


def report_too_large(name: str) -> UnreadableDocument:
    return UnreadableDocument(
        f"{name!r} has more than {MAX_CELLS:,} cells between its first and last. Save the relevant "
        "part as CSV"
    )


class SheetNotes:
    def __init__(self) -> None:
        self.uncomputed = 0  # formula cells without a stored result
        self._left_out: dict[str, tuple[int, str]] = {}

    def add_page_text(self, text: str) -> None:
        """Count a page header or footer. `&P` and `&N` are page number and page count."""
        words = join_lines(_PAGE_NUMBER.sub(" ", text))
        if any(map(str.isalnum, words)):
            self.count_skipped("headers and footers of pages", words)

    def count_skipped(self, what: str, example: str = "") -> None:
        count, first = self._left_out.get(what, (0, ""))
        self._left_out[what] = count + 1, first or join_lines(example)

    def describe(self) -> Iterator[str]:
        """Yield notes such as `skipped: comments on cells (3), e.g. "Ask Ann"`."""
        if self.uncomputed:
            yield (
                f"formulas without a stored result (cells: {self.uncomputed:,}): kg stored the formulas. "
                "To store results, open the file in a spreadsheet program and save it"
            )
        for what, (count, example) in self._left_out.items():
            short = example if len(example) <= _MAX_EXAMPLE else f"{example[: _MAX_EXAMPLE - 1]}…"
            yield f"skipped: {what} ({count:,})" + (f', e.g. "{short}"' if short else "")


def join_runs(runs: Iterable[tuple[str, Script, bool]]) -> str:
    """Join the runs (text, script, struck) of a text."""
    text = InlineText()
    for words, script, is_struck in runs:
        text.add(words, script, struck=is_struck)
    return text.render()


# Titles and tables of a grid
#
# Sheets and CSV files mark neither titles nor tables. They only have cells and gaps. A doubtful case stays
# one table with its first row as the header, because a wrong split separates rows from their header.

_VALUE = re.compile(
    r"""=.*|\#[A-Z/0!?]+|true|false
    |[<>≤≥~±]?\s*[+\-−(]?\s*[$€£¥₹]?\s*[+\-−]?[.,]?\d[\d.,\s'’]*(e[+-]?\d+)?\s*(%|‰|[$€£¥₹]|[A-Z]{3}\b)?\s*\)?
    |\d{1,4}[-./]\d{1,2}([-./]\d{1,4})?([T\s]+\d{1,2}:\d\d(:\d\d)?.{0,8})?|\d{1,4}:\d\d(:\d\d([.,]\d+)?)?(\s?[ap]m)?
    |[-–—?.…]+|n/?a|nan|none|null|nil|tbd|unknown""",
    re.IGNORECASE | re.VERBOSE,
)
"""Cells without words: number, date, formula, error, or sign for an unknown value."""
_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d")

Row = Sequence[str]


def write_grid(writer: MarkdownWriter, rows: Sequence[Row]) -> None:
    """Write the titles and tables of a grid. A single-row table becomes a paragraph."""
    for block in split_tables(rows):
        if isinstance(block, str):
            writer.add(write_paragraph(block))
        elif len(block) == 1:
            writer.add(write_paragraph(_join(block[0])))
        else:
            writer.add(write_table(block))


def is_value(cell: str) -> bool:
    """Check if a cell contains a number, a date, or nothing."""
    return not cell or bool(_VALUE.fullmatch(cell.strip("~ ")))


@dataclass(slots=True)
class _Group:
    """Consecutive rows without a blank row."""

    gap: int  # blank rows above
    rows: list[Row] = field(default_factory=list[Row])

    def count_titles(self) -> int:
        """Count the leading rows with a single cell."""
        return next((at for at, row in enumerate(self.rows) if _count(row) > 1), len(self.rows))


def split_tables(rows: Sequence[Row]) -> Iterator[str | list[Row]]:
    """Yield titles and tables in reading order. Rows without a header continue the table above."""
    if len({at for row in rows for at, cell in enumerate(row) if cell}) == 1:
        yield _trim([row for row in rows if any(row)])
        return
    table, held = list[Row](), list[Row]()
    for group in _find_groups(rows):
        titles = group.count_titles()
        if titles == len(group.rows):
            held += group.rows  # a title, a label within the table above, or a remark below
            continue
        if titles and not table and not _is_header(group.rows[titles:]):
            titles -= 1  # a header that names only one column
        below = group.rows[titles:]
        wider = bool(table) and _find_end(below) > _find_end(table)
        apart = group.gap > 1 or wider or any(cell and is_value(cell) for cell in [*below, ()][1])
        if table and not (apart and _is_header(below)):
            table += [*held, *group.rows]
        else:
            yield from [_trim(table)] if table else []
            yield from map(_join, [*held, *group.rows[:titles]])
            table = below
        held = []
    yield from [_trim(table)] if table else []
    yield from map(_join, held)


def _is_header(rows: Sequence[Row]) -> bool:
    """Check if the first of several rows names columns, by words or years."""
    return len(rows) > 1 and all(not is_value(cell) or _YEAR.fullmatch(cell) for cell in rows[0] if cell)


def _find_end(rows: Sequence[Row]) -> int:
    """Count columns up to the last filled one."""
    return max((at + 1 for row in rows for at, cell in enumerate(row) if cell), default=0)


def _find_groups(rows: Sequence[Row]) -> list[_Group]:
    groups, gap = list[_Group](), 1
    for row in rows:
        if not any(row):
            gap += 1
            continue
        if gap:
            groups.append(_Group(gap))
        groups[-1].rows.append(row)
        gap = 0
    if len(groups) > 4 and sum(len(group.rows) == 1 for group in groups) >= 0.8 * len(groups):  # noqa: PLR2004
        # Blank rows that alternate with filled rows are only spacing.
        return [_Group(0, [row for group in groups for row in group.rows])]
    return groups


def _count(row: Row) -> int:
    return len(row) - row.count("")


def _join(row: Row) -> str:
    return " ".join(filter(None, row))


def _trim(rows: Sequence[Row]) -> list[Row]:
    """Remove blank columns."""
    filled = sorted({at for row in rows for at, cell in enumerate(row) if cell})
    if filled == [*range(len(filled))] and all(len(row) <= len(filled) for row in rows):
        return [*rows]
    return [[row[at] for at in filled if at < len(row)] for row in rows]

"""Sheet model for all workbook readers, and its conversion to Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

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
    hidden: bool
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

_JUDGED_ROWS = 200
_SAMPLE = 20  # rows below a header that show the kind of its columns
_VALUE = re.compile(
    r"""=.*|\#[A-Z/0!?]+|true|false
    |[<>≤≥~±]?\s*[+\-−(]?\s*[$€£¥₹]?\s*[+\-−]?[.,]?\d[\d.,\s'’]*(e[+-]?\d+)?\s*(%|‰|[$€£¥₹]|[A-Z]{3}\b)?\s*\)?
    |\d{1,4}[-./]\d{1,2}([-./]\d{1,4})?([T\s]+\d{1,2}:\d\d(:\d\d)?.{0,8})?|\d{1,4}:\d\d(:\d\d([.,]\d+)?)?(\s?[ap]m)?
    |[-–—?.…]+|n/?a|nan|none|null|nil|tbd|unknown""",
    re.IGNORECASE | re.VERBOSE,
)
"""Cells without words: number, date, formula, error, or sign for an unknown value."""
_YEAR_OR_DATE = re.compile(r"(?:1[5-9]|20|21)\d\d(?:-\d\d){0,2}")

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
    """Yield titles and tables in reading order, and neighboring tables from left to right."""
    pending = list[_Group]()
    for group in _find_groups(rows):
        titles = group.count_titles()
        columns = _find_columns(group.rows[titles:])
        if len(columns) < 2:  # noqa: PLR2004
            pending.append(group)
            continue
        yield from _split_groups(pending)
        pending = []
        yield from map(_join, group.rows[:titles])
        for left, right in columns:
            yield from _split_groups(_find_groups([row[left:right] for row in group.rows[titles:]]))
    yield from _split_groups(pending)


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


def _find_columns(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Find the column ranges of neighboring tables."""
    found = list[tuple[int, int]]()
    end = 0
    for at in sorted({at for row in rows for at, cell in enumerate(row) if cell}):
        if not found or (at > end and _is_separate_table(rows, found[-1], at)):
            found.append((at, at + 1))
        else:
            found[-1] = (found[-1][0], at + 1)
        end = at + 1
    return found


def _is_separate_table(rows: Sequence[Row], one: tuple[int, int], left: int) -> bool:
    """Check if a blank column separates tables: the right one has own labels or the left one's header."""
    parts = ([row[part] for row in rows[:_JUDGED_ROWS]] for part in (slice(*one), slice(left, None)))
    first, second = ([row for row in part if _count(row) > 1] for part in parts)
    if min(len(first), len(second)) < 2:  # noqa: PLR2004 - a header and a row
        return False
    labels = [row[0] for row in second[1 : _SAMPLE + 1]]
    words = sum(not is_value(label) for label in labels)
    return 2 * words > len(labels) or {*filter(None, first[0])} >= {*filter(None, second[0])}


def _split_groups(groups: Sequence[_Group]) -> Iterator[str | list[Row]]:
    """Split groups into titles and tables. A group without a header continues the table above."""
    one_column = (
        len({at for group in groups for row in group.rows for at, cell in enumerate(row) if cell}) == 1
    )
    found, held = list[Row](), list[Row]()
    for group in groups:
        rows, titles = group.rows, 0 if one_column else group.count_titles()
        if len(rows) == 1 and not found if one_column else titles == len(rows):
            held += rows  # a title, a label within the table above, or a remark below
            continue
        if titles and not _is_header(rows[titles], rows[titles + 1 :]):
            titles -= 1  # a header that names only one column
        begins = group.gap > 1 and len(rows) > 1 if one_column else _begins_table(group, found)
        if found and not begins:
            found += [*held, *rows]
        else:
            yield from [_trim(found)] if found else []
            yield from map(_join, [*held, *rows[:titles]])
            found = [*rows[titles:]]
        held = []
    yield from [_trim(found)] if found else []
    yield from map(_join, held)


def _begins_table(group: _Group, above: Sequence[Row]) -> bool:
    at = group.count_titles()
    row, below = group.rows[at], group.rows[at + 1 :]
    if above and [*filter(None, row)] == [*filter(None, above[0])]:
        return True
    if not below or not _is_header(row, below):
        return False
    wider = _find_end(group.rows) > _find_end(above)
    return group.gap > 1 or wider or _count_contrasts(row, below) > 0


def _find_end(rows: Sequence[Row]) -> int:
    """Count columns up to the last filled one."""
    return max((at + 1 for row in rows for at, cell in enumerate(row) if cell), default=0)


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


def _is_header(row: Row, below: Sequence[Row]) -> bool:
    """Check if a row can name columns: words, or ordered years, dates, or numbers above different values."""
    cells = [*filter(None, row)]
    values = [(at, cell) for at, cell in enumerate(row) if cell and is_value(cell)]
    if len(cells) < 2:  # noqa: PLR2004
        return False
    if not values:
        return True
    if (row[0] and is_value(row[0])) or [cell for _, cell in values] != [
        *dict.fromkeys(cell for _, cell in values)
    ]:
        return False
    under = [below[0][at] for at, _ in values if below and at < len(below[0])]
    dated = all(_YEAR_OR_DATE.fullmatch(cell) for _, cell in values)
    if dated:
        ordered = [cell for _, cell in values] in (
            sorted(cell for _, cell in values),
            sorted((cell for _, cell in values), reverse=True),
        )
        return ordered and not all(_YEAR_OR_DATE.fullmatch(cell) for cell in under)
    numbers = [int(cell) for _, cell in values if cell.isdecimal()]
    steps = {after - before for before, after in pairwise(numbers)}
    return len(numbers) == len(values) > 2 and steps == {1} and under != [cell for _, cell in values]  # noqa: PLR2004


def _count_contrasts(row: Row, below: Sequence[Row]) -> int:
    """Count columns with words in this row and values below."""
    found = 0
    for at, cell in enumerate(row):
        if cell and not is_value(cell):
            column = [each[at] for each in below[:_SAMPLE] if at < len(each) and each[at]]
            found += bool(column) and 2 * sum(map(is_value, column)) > len(column)
    return found

"""Sheet model for all workbook readers, and its conversion to Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, zip_longest

from kg_api.convert.ooxml.text import InlineText, Script
from kg_api.convert.shared.markdown_text import MarkdownWriter, join_lines, paragraph, table
from kg_api.errors import UnreadableDocument

MAX_CELLS = 2_000_000
"""Limit for the area between the first and the last filled cell of a sheet. Larger data belongs in a
database.
"""
_MAX_EXAMPLE = 80
_PAGE_NUMBER = re.compile(r"\w*\s*&[PN]")  # page number or page count, with the word before it

Range = tuple[int, int, int, int]  # top, left, bottom, and right cell, 0-based and inclusive


@dataclass(slots=True)
class Sheet:
    name: str
    hidden: bool = False
    rows: list[list[str]] = field(default_factory=list[list[str]])
    """Rows from the first to the last filled one. Rows may be empty and differ in length."""
    merges: list[Range] = field(default_factory=list[Range])
    texts: list[str] = field(default_factory=list[str])  # paragraphs of text boxes
    hidden_rows: int = 0  # hidden rows that contain cells
    hidden_columns: int = 0
    _filled: list[tuple[int, int, list[str]]] = field(default_factory=list[tuple[int, int, list[str]]])
    _top: int = 0  # first filled row, 1-based (0: none)
    _left: int = 1 << 30
    _right: int = 0

    def add_row(self, number: int, cells: Mapping[int, str]) -> None:
        """Add a row below the previous ones, with its filled cells by 0-based column."""
        left, right = min(cells), max(cells) + 1
        self._left, self._right = min(self._left, left), max(self._right, right)
        self._top = self._top or number
        if (number + 1 - self._top) * (self._right - self._left) > MAX_CELLS:
            raise report_too_large(self.name)
        row = [""] * (right - left)
        for column, text in cells.items():
            row[column - left] = text
        self._filled.append((number, left, row))

    def place(
        self, merges: Iterable[Range], hidden_rows: Iterable[int], hidden_columns: Sequence[range]
    ) -> None:
        """Set the rows with blank rows between them, the merged ranges, and the counts of hidden parts."""
        top, first = self._top, self._left if self._filled else 0
        for number, left, row in self._filled:
            self.rows += [[] for _ in range(number - top - len(self.rows))]
            self.rows.append([*[""] * (left - first), *row])
        self.merges = [
            (upper - top, left - first, lower - top, right - first)
            for upper, left, lower, right in merges
            if upper >= top and left >= first
        ]
        self.hidden_rows = sum(1 for _ in hidden_rows)
        if hidden_columns:
            filled = {first + at for row in self.rows for at, cell in enumerate(row) if cell}
            self.hidden_columns = sum(any(at in columns for columns in hidden_columns) for at in filled)


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
            self.leave_out("headers and footers of pages", words)

    def leave_out(self, what: str, example: str = "") -> None:
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

_SAMPLE = 20  # rows below a header that show the kind of its columns
_JUDGED_ROWS = 2_000
_MAX_SIDE_BY_SIDE = 50
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


def write_grid(writer: MarkdownWriter, rows: Sequence[Row], merges: Sequence[Range] = ()) -> None:
    """Write the titles and tables of a grid. A single-row table becomes a paragraph."""
    for block in split_tables(rows, merges):
        if isinstance(block, str):
            writer.add(paragraph(block))
        elif len(block) == 1:
            writer.add(paragraph(" ".join(filter(None, block[0]))))
        else:
            writer.add(table(block))


def split_tables(rows: Sequence[Row], merges: Sequence[Range] = ()) -> Iterator[str | list[Row]]:
    """Yield titles and tables in reading order, and neighboring tables from left to right."""
    spans = {(top, left): (bottom, right) for top, left, bottom, right in merges}
    yield from _Grid(_repeat_labels(rows, spans), spans).split()


def _repeat_labels(rows: Sequence[Row], spans: Mapping[tuple[int, int], tuple[int, int]]) -> Sequence[Row]:
    """Repeat a text that spans several rows in each of them, because search reads each row separately."""
    tall = {place: end for place, end in spans.items() if end[0] > place[0]}
    if not tall:
        return rows
    repeated = [list(row) for row in rows]
    for (top, left), (bottom, _) in tall.items():
        text = repeated[top][left] if top < len(rows) and left < len(rows[top]) else ""
        for row in repeated[top + 1 : bottom + 1]:
            if not is_value(text) and any(row):
                row.extend([""] * (left + 1 - len(row)))
                row[left] = row[left] or text
    return repeated


def is_value(cell: str) -> bool:
    """Return whether a cell contains a number, a date, or nothing."""
    return not cell or bool(_VALUE.fullmatch(cell.strip("~ ")))


@dataclass(slots=True)
class _Group:
    """Consecutive rows without a blank row."""

    places: list[int]
    rows: list[Row]
    left: int  # first column
    gap: int  # blank rows above

    def count_titles(self) -> int:
        """Count the leading rows with a single cell."""
        return next((at for at, row in enumerate(self.rows) if _count(row) > 1), len(self.rows))


@dataclass(frozen=True, slots=True)
class _Grid:
    rows: Sequence[Row]
    spans: Mapping[tuple[int, int], tuple[int, int]]

    def split(self) -> Iterator[str | list[Row]]:
        places = range(len(self.rows))
        for left, right in self._find_columns(places, 0, max(map(len, self.rows), default=0)):
            pending = list[_Group]()
            for group in self._find_groups(places, left, right):
                titles = group.count_titles()
                columns = self._find_columns(group.places[titles:], left, right)
                if len(columns) == 1:
                    pending.append(group)
                    continue
                yield from self._split_groups(pending)
                pending = []
                yield from map(_join, group.rows[:titles])
                for start, end in columns:
                    yield from self._split_groups(self._find_groups(group.places[titles:], start, end))
            yield from self._split_groups(pending)

    def _cut(self, place: int, left: int, right: int) -> Row:
        row = self.rows[place]
        return row if left == 0 and right >= len(row) else row[left:right]

    def _find_groups(self, places: Sequence[int], left: int, right: int) -> list[_Group]:
        groups, gap, open_ = list[_Group](), 0, False
        for place in places:
            row = self._cut(place, left, right)
            if not any(row):
                gap, open_ = gap + 1, False
                continue
            if not open_:
                groups.append(_Group([], [], left, gap))
                gap, open_ = 0, True
            groups[-1].places.append(place)
            groups[-1].rows.append(row)
        if len(groups) > 4 and sum(len(group.rows) == 1 for group in groups) >= 0.8 * len(groups):  # noqa: PLR2004
            # Blank rows that alternate with filled rows are only spacing.
            every = [place for group in groups for place in group.places]
            return [_Group(every, [self._cut(place, left, right) for place in every], left, 0)]
        return groups

    def _find_columns(self, places: Sequence[int], left: int, right: int) -> list[tuple[int, int]]:
        """Find the column ranges of neighboring tables."""
        blank = set(range(left, right))
        for place in places:
            blank.difference_update(
                [left + at for at, cell in enumerate(self._cut(place, left, right)) if cell]
            )
            if not blank:
                return [(left, right)]
        found, start = list[tuple[int, int]](), left
        gaps = [at for at in sorted(blank) if at > left and at - 1 not in blank]
        for gap in gaps[:_MAX_SIDE_BY_SIDE]:
            after = next((at for at in range(gap, right) if at not in blank), right)
            following = next((at for at in gaps if at > after), right)
            if after < right and self._has_blank_column_between(
                places[:_JUDGED_ROWS], (start, gap), (after, following)
            ):
                found.append((start, gap))
                start = after
        return [*found, (start, right)]

    def _has_blank_column_between(
        self, places: Sequence[int], one: tuple[int, int], other: tuple[int, int]
    ) -> bool:
        """Return whether a blank column separates two tables and is not just a spacer inside one."""
        sides = list[list[tuple[int, Row]]]()
        for left, right in (one, other):
            rows = [(place, self._cut(place, left, right)) for place in places]
            sides.append([(place, row) for place, row in rows if _count(row) > 1])
        (first, second) = sides
        if min(len(first), len(second)) < 2:  # noqa: PLR2004 - a header and a row
            return False
        if first[0][0] != second[0][0]:
            return True
        lead = _find_extent([row for _, row in second])[0]
        labels = [row[lead] for _, row in second[1 : _SAMPLE + 1] if len(row) > lead]
        words = sum(not is_value(label) for label in labels)
        return (
            2 * words > len(second[1 : _SAMPLE + 1])
            or {*filter(None, first[0][1])} >= {*filter(None, second[0][1])}
            or (len(first) != len(second) and _is_full(first) and _is_full(second))
        )

    def _split_groups(self, groups: Sequence[_Group]) -> Iterator[str | list[Row]]:
        """Split groups into titles and tables. A group without a header continues the table above."""
        if not groups:
            return
        left, right = _find_extent([row for group in groups for row in group.rows])
        one_column = right - left == 1
        header, body, held = list[Row](), list[Row](), list[Row]()
        extent = (left, right)
        for group in groups:
            alone = not header and len(group.rows) == 1
            if alone if one_column else group.count_titles() == len(group.rows):
                held += group.rows
                continue
            begins = not header or (
                group.gap > 1 and len(group.rows) > 1
                if one_column
                else self._begins_table(group, header[0], extent)
            )
            if not begins:
                body += [*held, *group.rows]
                held = []
                continue
            if header:
                yield _trim([*header, *body])
            yield from map(_join, held)
            held = []
            titles, header, body = self._read_header(group, is_last=group is groups[-1])
            yield from map(_join, titles)
            extent = _find_extent([*header, *body])
        if header:
            yield _trim([*header, *body])
        yield from map(_join, held)

    def _begins_table(self, group: _Group, header: Row, extent: tuple[int, int]) -> bool:
        at = group.count_titles()
        row, below = group.rows[at], group.rows[at + 1 :]
        if [*filter(None, row)] == [*filter(None, header)]:
            return True
        if not below or not _is_header(row, below):
            return False
        left, right = _find_extent(group.rows)
        return group.gap > 1 or _count_contrasts(row, below) > 0 or left < extent[0] or right > extent[1]

    def _read_header(self, group: _Group, *, is_last: bool) -> tuple[list[Row], list[Row], list[Row]]:
        """Split the rows of a table into titles, header, and body."""
        rows, titles = group.rows, group.count_titles()
        if titles == len(rows):  # a single column
            return [], rows[:1], rows[1:]
        if titles and not (_is_header(rows[titles], rows[titles + 1 :]) or self._is_wide(group, titles - 1)):
            titles -= 1  # a header that names only one column
        header, at = rows[titles], titles + 1
        while (
            at < len(rows) - is_last  # the values may follow a blank row
            and (names := self._spread(group, at - 1, header))
            and _is_header(rows[at], rows[at + 1 :])
        ):
            pairs = zip_longest(names, rows[at], fillvalue="")
            header = [" ".join(filter(None, dict.fromkeys(pair))) for pair in pairs]
            at += 1
        return rows[:titles], [header], rows[at:]

    def _is_wide(self, group: _Group, at: int) -> bool:
        """Return whether a single cell spans the columns of the rows below."""
        column = next(column for column, cell in enumerate(group.rows[at]) if cell)
        _, last = self.spans.get((group.places[at], group.left + column), (0, 0))
        left, right = _find_extent(group.rows)
        return last - group.left + 1 >= right and column <= left

    def _spread(self, group: _Group, at: int, names: Row) -> Row:
        """Repeat the names of an upper header row over the columns that they span (empty if none spans)."""
        place, left = group.places[at], group.left
        if _count(names) < 2:  # noqa: PLR2004
            return ()
        spread = list(names)
        for column, name in enumerate(names):
            _, last = self.spans.get((place, left + column), (0, 0))
            if name and last > left + column:
                spread[column : last - left + 1] = [name] * (last - left + 1 - column)
        return spread if len([*filter(None, spread)]) > _count(names) else ()


def _count(row: Row) -> int:
    return len(row) - row.count("")


def _join(row: Row) -> str:
    return " ".join(filter(None, row))


def _find_extent(rows: Sequence[Row]) -> tuple[int, int]:
    """Return the first filled column and the end of the last one."""
    filled = [row for row in rows if any(row)]
    return (
        min((0 if row[0] else next(at for at, cell in enumerate(row) if cell) for row in filled), default=0),
        max(
            (
                len(row) if row[-1] else next(at for at in range(len(row), 0, -1) if row[at - 1])
                for row in filled
            ),
            default=0,
        ),
    )


def _trim(rows: list[Row]) -> list[Row]:
    blank = set(range(max(map(len, rows))))
    for row in rows:
        blank.difference_update([at for at, cell in enumerate(row) if cell])
        if not blank:
            return rows
    return [[cell for at, cell in enumerate(row) if at not in blank] for row in rows]


def _is_full(rows: Sequence[tuple[int, Row]]) -> bool:
    left, right = _find_extent([row for _, row in rows])
    return all(_count(row) == right - left for _, row in rows)


def _is_header(row: Row, below: Sequence[Row]) -> bool:
    """Return whether a row can name columns.

    A header contains words, or ordered years, dates, or numbers above different values.
    """
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

"""Headings, tables, and paragraphs of a PDF, and their conversion to Markdown."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Literal

from kg_api.convert.pdf.layout import Line, Vocabulary
from kg_api.convert.shared.markdown_text import (
    get_last_words,
    write_code_block,
    write_heading,
    write_image_line,
    write_paragraph,
    write_table,
)
from kg_api.schemas.documents import WordBox
from kg_api.schemas.images import ReadImage

MAX_LEVEL = 6
_MAX_LETTERS = 250
_MAX_BOLD_LETTERS = 120
_MAX_LINES = 4
_LARGER = 1.08
_HEADINGS_SAME_SIZE = 0.5
_MAX_PIECES = 2
_WORD = re.compile(r"[^\W\d_]{3}|[\u0590-\u06ff\u2e80-\uffff]")
_PAGE_NUMBER = re.compile(r"\W*\d+$")
_MAX_PREFIX = 12
"""Letters before the title of a heading that its outline entry lacks, such as a number or "Chapter 1"."""


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    title: str
    level: int
    page: int


@dataclass(slots=True)
class Heading:
    level: int
    lines: list[Line]


def find_body_size(lines: Iterable[Line]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[round(line.size * 2) / 2] += 0 if line.mono else len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0


def find_headings(lines: Sequence[Line], outline: Sequence[OutlineEntry]) -> dict[int, Heading]:
    """Return the headings among all lines of a document, by the `id` of each line."""
    pages: dict[int, list[Line]] = defaultdict(list)
    for line in lines:
        if line.grid is None:
            pages[line.page].append(line)
    found: list[Heading] = []
    begin: dict[int, int] = defaultdict(int)
    for entry in outline:
        for page in (entry.page, entry.page + 1, entry.page - 1):
            place = _find_title(pages.get(page, []), _normalize_text(entry.title), begin[page])
            if place:
                found.append(Heading(min(entry.level, MAX_LEVEL), pages[page][slice(*place)]))
                begin[page] = place[1]
                break
    taken = {id(line) for heading in found for line in heading.lines}
    groups = [
        group
        for group in _group_heading_lines(lines, find_body_size(lines))
        if not any(id(line) in taken for line in group)
    ]
    # Skip lines of a table of contents: the text of a heading elsewhere, with its page number.
    titles = {_normalize_text(entry.title) for entry in outline} | {
        _normalize_text(_join_words(group)) for group in groups
    }
    by_size: list[list[Line]] = []
    for group in groups:
        text = _join_words(group)
        is_entry = _PAGE_NUMBER.search(text) and _normalize_text(_PAGE_NUMBER.sub("", text)) in titles
        if not (group[-1].ends_in_page_number or is_entry):
            by_size.append(group)
    found += _find_headings_by_size(by_size, found)
    return {id(line): heading for heading in found for line in heading.lines}


def _find_title(lines: list[Line], title: str, begin: int) -> tuple[int, int] | None:
    """Return the range of lines with this title after a short prefix. Prefer the largest font."""
    found: list[tuple[float, int, int]] = []
    for start in range(begin, len(lines) if title else 0):
        letters = ""
        for stop in range(start, min(start + _MAX_LINES, len(lines))):
            letters += _normalize_text(lines[stop].text)
            prefix = len(letters) - len(title)
            if prefix > _MAX_PREFIX:
                break
            # The texts are equal, except for a prefix such as a number.
            is_same = letters.endswith(title) or (title.endswith(letters) and -prefix <= _MAX_PREFIX)
            if letters and is_same and len(letters) > 0.5 * len(title):
                found.append((lines[start].size + lines[start].bold - abs(prefix) / 50, -start, stop + 1))
    if not found:
        return None
    _, start, stop = max(found)
    return -start, stop


def _normalize_text(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _group_heading_lines(lines: Sequence[Line], body: float) -> Iterator[list[Line]]:
    """Yield groups of consecutive lines in larger or bold letters that can be a heading."""
    group: list[Line] = []
    for i, line in enumerate(lines):
        if group and not _continues_heading(group[-1], line):
            if _can_be_heading(group, lines[i - len(group) - 1 : i - len(group)], line, body):
                yield group
            group = []
        is_heading = line.size > body * _LARGER or (line.all_bold and line.size > body * 0.95)
        if is_heading and line.grid is None:
            group.append(line)
    if group and _can_be_heading(group, lines[-len(group) - 1 : -len(group)], None, body):
        yield group


def _join_words(group: Sequence[Line]) -> str:
    return " ".join(line.text for line in group)


def _continues_heading(last: Line, line: Line) -> bool:
    same = last.page == line.page and last.column is line.column and last.bold == line.bold
    near = 0 < last.baseline - line.baseline < 1.6 * max(last.size, line.size)
    return same and near and abs(last.size - line.size) < _HEADINGS_SAME_SIZE


def _can_be_heading(group: list[Line], before: Sequence[Line], after: Line | None, body: float) -> bool:
    text, first, last = _join_words(group), group[0], group[-1]
    larger = first.size > body * _LARGER
    short = len(text) <= (_MAX_LETTERS if larger else _MAX_BOLD_LETTERS)
    if not short or len(group) > (_MAX_LINES if larger else 2) or not _WORD.search(text):
        return False
    if larger:
        return True
    if text.endswith((".", ",", ";")) or first.mono or len(first.pieces) > _MAX_PIECES:
        return False
    if not (first.text[0].isupper() or first.text[0].isdigit()):
        return False
    # A bold line is a heading if there is space above, and text below in the same column.
    above = before[0] if before and before[0].column is first.column else None
    room = above is None or above.baseline - first.baseline > 1.35 * first.size
    if after is None or after.grid:
        return False
    return room and after.column is last.column and len(after.pieces) == 1


def _find_headings_by_size(groups: Sequence[list[Line]], known: Sequence[Heading]) -> Iterator[Heading]:
    """Yield headings with levels by font size, where levels of the outline take precedence."""

    def get_font(line: Line) -> tuple[float, bool]:
        return round(line.size), line.bold

    votes: dict[tuple[float, bool], Counter[int]] = defaultdict(Counter)
    for each in known:
        votes[get_font(each.lines[0])][each.level] += 1
    levels = {kind: counter.most_common(1)[0][0] for kind, counter in votes.items()}
    lowest = max(levels.values(), default=0)
    kinds = sorted({get_font(group[0]) for group in groups} - set(levels), reverse=True)
    for rank, kind in enumerate(kinds, 1):
        above = max((level for other, level in levels.items() if other > kind), default=0)
        levels[kind] = min(above + 1, lowest + 1, MAX_LEVEL) if known else min(rank, MAX_LEVEL)
    for group in groups:
        yield Heading(levels[get_font(group[0])], group)


# Tables: consecutive lines with pieces in the same columns

_MIN_ROWS = 3
_MIN_FULL = 0.6  # minimum share of rows with a piece in every column
_MAX_CELL = 60  # maximum average letters per cell (more: prose in columns)
_MAX_DISTANCE = 2.6
_WRAPPED = 1.35
"""Maximum distance, in font sizes, of a line without a first column that continues the cells above."""


@dataclass(slots=True)
class Table:
    """Lines of a table, and its cells by row."""

    lines: list[Line]
    cells: list[list[str]]


def find_tables(lines: Sequence[Line], is_other: Callable[[Line], bool]) -> dict[int, Table]:
    """Return the tables by the `id` of each line. A line for which `is_other` is true ends a table."""
    groups: list[list[Line]] = [[]]
    for line in (each for each in lines if each.grid is None):
        # Nearby lines with gaps, and single pieces below them
        goes_on = bool(groups[-1]) and _continues_table(groups[-1], line)
        if not goes_on:
            groups.append([])
        if (goes_on or len(line.pieces) > 1) and not is_other(line):
            groups[-1].append(line)
        else:
            groups.append([])
    ruled = ([*rows] for _, rows in groupby(lines, lambda line: id(line.grid)))
    found = [Table(rows, [[*line.pieces[0].cells] for line in rows]) for rows in ruled if rows[0].grid]
    found += [table for group in groups if group and (table := _build_table(group))]
    return {id(line): table for table in found for line in table.lines}


def _continues_table(group: Sequence[Line], line: Line) -> bool:
    last, distance = group[-1], group[-1].baseline - line.baseline
    near = last.column is line.column and 0 < distance < _MAX_DISTANCE * max(last.size, line.size)
    return near and (len(line.pieces) > 1 or line.left > group[0].pieces[0].right)


def _build_table(group: list[Line]) -> Table | None:
    """Assign each piece to its column, or return None if a piece spans columns."""
    counts = Counter(len(line.pieces) for line in group if len(line.pieces) > 1)
    width, count = counts.most_common(1)[0]
    if count < max(_MIN_ROWS, _MIN_FULL * counts.total()):
        return None
    full = [line.pieces for line in group if len(line.pieces) == width]
    ranges = [(min(p.left for p in cells), max(p.right for p in cells)) for cells in zip(*full, strict=True)]
    gaps = [after[0] - before[1] for before, after in pairwise(ranges)]
    letters = sum(len(piece.text) for row in full for piece in row)
    if min(gaps) < group[0].size / 2 or letters > _MAX_CELL * width * len(full):
        return None
    cells: list[list[str]] = []
    for i, line in enumerate(group):
        row = [""] * width
        for piece in line.pieces:
            at = [i for i, (left, right) in enumerate(ranges) if piece.left < right and piece.right > left]
            if len(at) != 1 or row[at[0]]:
                return None
            row[at[0]] = piece.text
        if not row[0] and cells and group[i - 1].baseline - line.baseline < _WRAPPED * line.size:
            cells[-1] = [f"{above}\n{text}".strip() for above, text in zip(cells[-1], row, strict=True)]
        else:
            cells.append(row)
    return Table(group, cells)


# Blocks: headings, paragraphs, list items, code

_BULLET = re.compile(r"([•◦▪‣·●○■□∙⁃➢➤►✓❖–*-])(?:\s+|$)(?=\S|$)")
_ORDINAL = re.compile(r"(\d{1,3})([.)])\s+(?=\S)")
_LETTERED = re.compile(r"(?:\([a-zA-Z\d]{1,4}\)|\[\w{1,9}\]|[a-zA-Z]\))\s+\S")
_SENTENCE_END = re.compile(r"[.!?:;。！？…][\"'”’)\]»]*$")
_LEADERS = re.compile(r"(?:\.\s?){4,}\s*\w*$|…\s*\d+$")
_SAME_SIZE = 0.5
_MONO_SHARE = 0.6  # share of monospace letters above which monospace lines are not code


@dataclass(slots=True)
class PdfBlock:
    """Heading, paragraph, list item, listing, table, or image (with one line without text)."""

    kind: Literal["heading", "paragraph", "item", "code", "table", "image"]
    lines: list[Line] = field(default_factory=list["Line"])
    level: int = 0
    mark: str = ""  # `-`, or the number of an item with its punctuation
    cells: list[list[str]] = field(default_factory=list[list[str]])
    image: ReadImage | None = None
    label: str = ""  # text of the caption
    name: str = ""  # of the image file

    @property
    def last(self) -> Line:
        return self.lines[-1]


def compute_leading(lines: Sequence[Line]) -> float:
    """Return the usual distance of two baselines, as a multiple of the font size."""
    ratios: Counter[float] = Counter()
    for above, line in pairwise(lines):
        is_text = not (above.grid or line.grid)
        if is_text and above.column is line.column and above.size == line.size:
            ratio = round((above.baseline - line.baseline) / line.size, 1)
            if 0.9 <= ratio <= 3:  # noqa: PLR2004  # a larger distance separates paragraphs
                ratios[ratio] += len(line.text)
    return ratios.most_common(1)[0][0] if ratios else 1.2


def is_typescript(lines: Iterable[Line]) -> bool:
    """Check if the document is typewritten: most of it, including prose, is monospace."""
    letters, mono = 0, 0
    for line in lines:
        letters += len(line.text)
        mono += len(line.text) if line.mono else 0
    return mono > _MONO_SHARE * letters


def group_into_blocks(lines: Sequence[Line], found: Mapping[int, Heading]) -> list[PdfBlock]:
    """Group the lines of a document, in reading order, into blocks."""
    code = not is_typescript(lines)

    def cannot_be_cell(line: Line) -> bool:
        return (
            id(line) in found or (code and line.mono) or _is_begun(line) or bool(_LEADERS.search(line.text))
        )

    in_tables = find_tables(lines, cannot_be_cell)
    builder = _Builder(found, compute_leading(lines), code=code)
    for line in lines:
        builder.add(line, in_tables.get(id(line)))
    # Rejoin paragraphs across columns and pages if the sentence clearly continues.
    joined: list[PdfBlock] = []
    for block in builder.blocks:
        if joined and _is_rest(joined[-1], block):
            joined[-1].lines.extend(block.lines)
        else:
            joined.append(block)
    return joined


class _Builder:
    def __init__(self, found: Mapping[int, Heading], usual: float, *, code: bool) -> None:
        self.found, self.usual, self.code = found, usual, code
        self.blocks: list[PdfBlock] = []

    def add(self, line: Line, table: Table | None) -> None:
        heading = self.found.get(id(line))
        open_block = self.blocks[-1] if self.blocks else None
        if heading:
            if line is heading.lines[0] or open_block is None or open_block.kind != "heading":
                self.blocks.append(PdfBlock("heading", [line], heading.level))
            else:
                open_block.lines.append(line)
        elif table:
            if line is table.lines[0]:
                self.blocks.append(PdfBlock("table", table.lines, cells=table.cells))
        elif self.code and line.mono:
            listing = open_block and open_block.kind == "code" and open_block.last.column is line.column
            if open_block and (
                listing or (open_block.kind in {"paragraph", "item"} and self._is_within(open_block, line))
            ):
                open_block.lines.append(line)
            else:
                self.blocks.append(PdfBlock("code", [line]))
        elif open_block and self._continues_block(open_block, line):
            open_block.lines.append(line)
        elif _BULLET.match(line.text):
            self.blocks.append(PdfBlock("item", [line], mark="-"))
        elif match := _ORDINAL.match(line.text):
            self.blocks.append(PdfBlock("item", [line], mark=f"{match[1]}{match[2]}"))
        else:
            self.blocks.append(PdfBlock("paragraph", [line]))

    def _is_within(self, block: PdfBlock, line: Line) -> bool:
        """Check if a monospace line continues a sentence, as a long name may fill a line."""
        last = block.last
        full = last.right > last.column.right - 0.2 * last.column.width
        return (
            last.column is line.column
            and full
            and not self._starts_new_block(last, line)
            and not _ends_sentence(last.text)
        )

    def _continues_block(self, block: PdfBlock, line: Line) -> bool:
        last = block.last
        if block.kind in {"heading", "code", "table"} or last.column is not line.column or _is_begun(line):
            return False
        if self._starts_new_block(last, line) or abs(last.size - line.size) > 0.12 * max(
            last.size, line.size
        ):
            return False
        if (
            _LEADERS.search(last.text)
            or last.ends_in_page_number
            or (last.bold != line.bold and _is_short(last, 0.3))
        ):
            return False
        return not (_is_indented(block, line) or _stops_early(last, line))

    def _starts_new_block(self, last: Line, line: Line) -> bool:
        distance = last.baseline - line.baseline
        size = max(last.size, line.size)
        return distance > self.usual * size * 1.18 + 1.5 or distance < -0.5 * size


def _is_begun(line: Line) -> bool:
    """Check if a line starts with a list marker. A dash at the margin may be accidental."""
    if match := _BULLET.match(line.text):
        return match[1] not in "–-*·" or line.left > line.column.left + 3 or len(line.pieces) > 1
    if _LETTERED.match(line.text):
        return True
    return bool(_ORDINAL.match(line.text)) and line.text[:1] != "0"


def _is_indented(block: PdfBlock, line: Line) -> bool:
    """Check if a line starts a paragraph, by its indentation or at the end of a hanging indent."""
    first, last, step = block.lines[0], block.last, 0.8 * line.size
    if block.kind == "item":
        return len(block.lines) > 1 and line.left < last.left - step
    if len(block.lines) > 1 and first.left < last.left - step:
        return line.left < first.left + step / 2
    if line.left > last.left + step:
        return len(block.lines) > 1 or _is_short(last, 0.1) or _ends_sentence(last.text)
    return False


def _stops_early(last: Line, line: Line) -> bool:
    """Check if the next line's first word fits into the last line, so the line break is intended."""
    room = _compute_room(last, line, last.column.right)
    if last.column.is_ragged and room > 2 * line.size:
        return True
    if room > 0.3 * last.column.width and not line.text[:1].islower():
        return True
    return room > 2 * line.size and _ends_sentence(last.text) and not line.text[:1].islower()


def _compute_room(last: Line, line: Line, right: float) -> float:
    """Return the space that is left in the last line after the first word of the next line."""
    word = line.text.split(maxsplit=1)[0] if line.text else ""
    letter = (line.right - line.left) / max(1, len(line.text))
    return right - last.right - letter * (len(word) + 1)


def _is_short(line: Line, share: float) -> bool:
    return line.right < line.column.right - share * line.column.width


def _ends_sentence(text: str) -> bool:
    return bool(_SENTENCE_END.search(text))


def _is_rest(held: PdfBlock, block: PdfBlock) -> bool:
    first, last = block.lines[0], held.last
    if held.kind not in {"paragraph", "item"} or block.kind != "paragraph" or first.column is last.column:
        return False
    if held.kind == "item":  # most items end without a full stop
        is_aligned = abs(first.column.left - last.column.left) < last.size
        measured = held.lines if len(held.lines) > 1 else [last.column, *([first.column] * is_aligned)]
        right = max(each.right for each in measured)
        if _compute_room(last, first, right) > 2 * last.size:
            return False
    size = abs(first.size - last.size) <= _SAME_SIZE
    goes_on = first.text[:1].islower() and not _ends_sentence(last.text) and not _LEADERS.search(last.text)
    return size and goes_on and 0 <= first.page - last.page <= 1


# Markdown and its page offsets

_MARK = re.compile(r"\S+\s*")
_EMPTY_LINE = 1.9  # times the usual distance of lines of code, above which an empty line is between them


def write_markdown(blocks: Sequence[PdfBlock], pages: int) -> tuple[str, tuple[int, ...], list[int]]:
    """Return the text, the offset of each page, and the offset of each block."""
    words = Vocabulary(line.text for block in blocks for line in block.lines)
    parts: list[str] = []
    begins: dict[int, int] = {}
    each: list[int] = []
    offset = 0
    for i, block in enumerate(blocks):
        is_image = block.kind == "image"
        text = (
            write_image_line(block.label or get_last_words(parts), block.name)
            if is_image
            else _write_block(block, words)
        )
        if not text:
            each.append(offset)
            continue
        if parts:
            tight = block.kind == "item" and i > 0 and blocks[i - 1].kind == "item"
            parts.append("\n" if tight else "\n\n")
            offset += len(parts[-1])
        each.append(offset)
        begins.setdefault(block.lines[0].page, offset)
        for at, (above, line) in enumerate(pairwise(block.lines), 1):
            if line.page != above.page:  # a paragraph may continue on the next page
                before = _write_block(replace(block, lines=block.lines[:at]), words)
                begins.setdefault(line.page, offset + len(before))
        parts.append(text)
        offset += len(text)
    # A page without a new block starts with the next text. The first page starts at 0.
    offsets, following = list[int](), offset
    for page in range(pages - 1, -1, -1):
        following = begins.get(page, following)
        offsets.append(following)
    offsets[-1:] = [0] if offsets else []
    return "".join(parts), tuple(reversed(offsets)), each


def _write_block(block: PdfBlock, words: Vocabulary) -> str:
    if block.kind == "code":
        return _write_code(block.lines)
    if block.kind == "table":
        return write_table([[words.join_lines(cell.split("\n")) for cell in row] for row in block.cells])
    lines = [line.text for line in block.lines]
    if block.kind == "item":
        text = words.join_lines([_MARK.sub("", lines[0].lstrip(), count=1), *lines[1:]])
        return f"{block.mark} {write_paragraph(text)}" if text else ""
    text = words.join_lines(lines)
    if block.kind == "heading":
        return write_heading(block.level, text) if text else ""
    return write_paragraph(text)


def _write_code(lines: Sequence[Line]) -> str:
    left = min(line.left for line in lines)
    pieces = [piece for line in lines for piece in line.pieces]
    longest = max(pieces, key=lambda piece: len(piece.text))
    width = max(0.1, (longest.right - longest.left) / max(1, len(longest.text)))
    steps = [above.baseline - line.baseline for above, line in pairwise(lines)]
    usual = min((step for step in steps if step > 0.5 * lines[0].size), default=0)
    rows: list[str] = []
    for i, line in enumerate(lines):
        if i and steps[i - 1] > _EMPTY_LINE * usual:
            rows.append("")
        row = ""
        for piece in line.pieces:  # keep the position of each piece, to keep indentation and columns of code
            blanks = max(round((piece.left - left) / width) - len(row), 1 if row else 0)
            row += " " * blanks + piece.text.strip()
        rows.append(row.replace("\xad", "").rstrip())
    return write_code_block("\n".join(rows))


# Positions of OCR words in the Markdown

_AHEAD = 80
"""Maximum characters between two words, for list markers, table markup, and differently written words."""
_SCALE = 10_000


def place_words(text: str, blocks: Sequence[PdfBlock], begins: Sequence[int]) -> tuple[WordBox, ...]:
    """Find the OCR words of blocks in the Markdown."""
    boxes: list[WordBox] = []
    for block, at, end in zip(blocks, begins, [*begins, len(text)][1:], strict=True):
        for line in block.lines:
            for word in (word for piece in line.pieces for word in piece.words):
                for written in (word.text, word.text.removesuffix("-")):  # hyphenated at a line end
                    begin = text.find(written, at, min(end, at + len(written) + _AHEAD)) if written else -1
                    if begin >= 0:
                        at = begin + len(written)  # noqa: PLW2901 - the next word is behind
                        left, top, right, bottom = (
                            min(max(round(each * _SCALE), 0), _SCALE) for each in word.box
                        )
                        sure = min(max(round(word.confidence * 100), 0), 100)
                        boxes.append(WordBox(begin, at, line.page + 1, left, top, right, bottom, sure))
                        break
    return tuple(boxes)

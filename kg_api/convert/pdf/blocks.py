"""Lines to blocks: headings, paragraphs, items of lists, code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from kg_api.convert.pdf.headings import Heading
from kg_api.convert.pdf.layout import Line
from kg_api.convert.pdf.tables import Table, tables
from kg_api.models.images import ReadImage

_BULLET = re.compile(r"([•◦▪‣·●○■□∙⁃➢➤►✓❖–*-])(?:\s+|$)(?=\S|$)")
_ORDINAL = re.compile(r"(\d{1,3})([.)])\s+(?=\S)")
_LETTERED = re.compile(r"(?:\([a-zA-Z\d]{1,4}\)|\[\w{1,9}\]|[a-zA-Z]\))\s+\S")
_SENTENCE_END = re.compile(r"[.!?:;。！？…][\"'”’)\]»]*$")
_LEADERS = re.compile(r"(?:\.\s?){4,}\s*\w*$|…\s*\d+$")
_SAME_SIZE = 0.5
_MONO_SHARE = 0.6
"""Of all letters: above it a document is a typescript, and its lines are no code."""


@dataclass(slots=True)
class PdfBlock:
    """Lines that are one heading, paragraph, item or listing; or a picture, whose one line has no words."""

    kind: Literal["heading", "paragraph", "item", "code", "table", "image"]
    lines: list[Line] = field(default_factory=list["Line"])
    level: int = 0
    mark: str = ""
    """What begins an item: `-`, or its number with the point."""
    cells: list[list[str]] = field(default_factory=list[list[str]])
    image: ReadImage | None = None
    label: str = ""
    """What its caption says."""
    name: str = ""
    """Of its file."""

    @property
    def last(self) -> Line:
        return self.lines[-1]


def leading(lines: Sequence[Line]) -> float:
    """Give the usual distance of two baselines, as a multiple of the font size."""
    ratios: Counter[float] = Counter()
    for above, line in pairwise(lines):
        if above.column is line.column and above.size == line.size:
            ratio = round((above.baseline - line.baseline) / line.size, 1)
            if 0.9 <= ratio <= 3:  # noqa: PLR2004  # further apart are paragraphs
                ratios[ratio] += len(line.text)
    return ratios.most_common(1)[0][0] if ratios else 1.2


def is_typescript(lines: Iterable[Line]) -> bool:
    """Most of it is written in letters of one width, prose too."""
    letters, mono = 0, 0
    for line in lines:
        letters += len(line.text)
        mono += len(line.text) if line.mono else 0
    return mono > _MONO_SHARE * letters


def blocks(lines: Sequence[Line], found: Mapping[int, Heading]) -> list[PdfBlock]:
    """Put the lines of a document, in reading order, together to blocks."""
    code = not is_typescript(lines)
    in_tables = tables(lines, lambda line: id(line) in found or (code and line.mono) or _is_listed(line))
    builder = _Builder(found, leading(lines), code=code)
    for line in lines:
        builder.add(line, in_tables.get(id(line)))
    return list(_joined(builder.blocks))


def _is_listed(line: Line) -> bool:
    return _is_begun(line) or bool(_LEADERS.search(line.text))


class _Builder:
    def __init__(self, found: Mapping[int, Heading], usual: float, *, code: bool) -> None:
        self.found, self.usual, self.code = found, usual, code
        self.blocks: list[PdfBlock] = []

    def add(self, line: Line, table: Table | None) -> None:
        heading = self.found.get(id(line))
        open_block = self.blocks[-1] if self.blocks else None
        if heading:
            self._add_heading(line, heading, open_block)
        elif table:
            if line is table.lines[0]:
                self.blocks.append(PdfBlock("table", table.lines, cells=table.cells))
        elif self.code and line.mono:
            self._add_code(line, open_block)
        elif open_block and self._goes_on(open_block, line):
            open_block.lines.append(line)
        else:
            self.blocks.append(_begun(line))

    def _add_heading(self, line: Line, heading: Heading, block: PdfBlock | None) -> None:
        if line is heading.lines[0] or block is None or block.kind != "heading":
            self.blocks.append(PdfBlock("heading", [line], heading.level))
        else:
            block.lines.append(line)

    def _add_code(self, line: Line, block: PdfBlock | None) -> None:
        listing = block and block.kind == "code" and block.last.column is line.column
        if block and (listing or (block.kind in {"paragraph", "item"} and self._is_within(block, line))):
            block.lines.append(line)
        else:
            self.blocks.append(PdfBlock("code", [line]))

    def _is_within(self, block: PdfBlock, line: Line) -> bool:
        """A paragraph's line may be one long name in code's letters: its sentence goes on."""
        last = block.last
        full = last.right > last.column.right - 0.2 * last.column.width
        return last.column is line.column and full and not self._is_apart(last, line) and not _ends(last.text)

    def _goes_on(self, block: PdfBlock, line: Line) -> bool:
        last = block.last
        if block.kind in {"heading", "code", "table"} or last.column is not line.column or _is_begun(line):
            return False
        if self._is_apart(last, line) or abs(last.size - line.size) > 0.12 * max(last.size, line.size):
            return False
        if (
            _LEADERS.search(last.text)
            or last.ends_in_page_number
            or (last.bold != line.bold and _is_short(last, 0.3))
        ):
            return False
        return not (_is_indented(block, line) or _stops_early(last, line))

    def _is_apart(self, last: Line, line: Line) -> bool:
        distance = last.baseline - line.baseline
        size = max(last.size, line.size)
        return distance > self.usual * size * 1.18 + 1.5 or distance < -0.5 * size


def _begun(line: Line) -> PdfBlock:
    if _BULLET.match(line.text):
        return PdfBlock("item", [line], mark="-")
    if match := _ORDINAL.match(line.text):
        return PdfBlock("item", [line], mark=f"{match[1]}{match[2]}")
    return PdfBlock("paragraph", [line])


def _is_begun(line: Line) -> bool:
    """It has the mark of an item; a dash may stand at a line's beginning by chance: at the margin."""
    if match := _BULLET.match(line.text):
        return match[1] not in "–-*·" or line.left > line.column.left + 3 or len(line.pieces) > 1
    if _LETTERED.match(line.text):
        return True
    return bool(_ORDINAL.match(line.text)) and line.text[:1] != "0"


def _is_indented(block: PdfBlock, line: Line) -> bool:
    """It begins a paragraph by its place: indented, or back at the margin after lines that hang."""
    first, last, step = block.lines[0], block.last, 0.8 * line.size
    if block.kind == "item":
        return len(block.lines) > 1 and line.left < last.left - step
    if len(block.lines) > 1 and first.left < last.left - step:
        return line.left < first.left + step / 2
    if line.left > last.left + step:
        return len(block.lines) > 1 or _is_short(last, 0.1) or _ends(last.text)
    return False


def _stops_early(last: Line, line: Line) -> bool:
    """The next line's first word would have had room: the line was broken on purpose."""
    word = line.text.split(maxsplit=1)[0] if line.text else ""
    letter = (line.right - line.left) / max(1, len(line.text))
    room = last.column.right - last.right - letter * (len(word) + 1)
    if last.column.is_ragged and room > 2 * line.size:
        return True
    if room > 0.3 * last.column.width and not line.text[:1].islower():
        return True
    return room > 2 * line.size and _ends(last.text) and not line.text[:1].islower()


def _is_short(line: Line, share: float) -> bool:
    return line.right < line.column.right - share * line.column.width


def _ends(text: str) -> bool:
    return bool(_SENTENCE_END.search(text))


def _joined(found: list[PdfBlock]) -> Iterator[PdfBlock]:
    """Paragraphs that a column or page cut in two are one again, where a sentence plainly goes on."""
    held: PdfBlock | None = None
    for block in found:
        if held and _is_rest(held, block):
            held.lines.extend(block.lines)
            continue
        if held:
            yield held
        held = block
    if held:
        yield held


def _is_rest(held: PdfBlock, block: PdfBlock) -> bool:
    first, last = block.lines[0], held.last
    if held.kind not in {"paragraph", "item"} or block.kind != "paragraph" or first.column is last.column:
        return False
    size = abs(first.size - last.size) <= _SAME_SIZE
    goes_on = first.text[:1].islower() and not _ends(last.text) and not _LEADERS.search(last.text)
    return size and goes_on and 0 <= first.page - last.page <= 1

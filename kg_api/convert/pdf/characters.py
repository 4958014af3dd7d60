"""Characters of PDF pages, with vertical text and ligatures.

For vertical text, kg rotates the coordinates. A column becomes a line from left to right, and the columns to
its left become the lines below, so the rest of the layout code ignores vertical writing.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, pairwise
from statistics import median
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg_api.convert.pdf.direction import Place, is_mark, is_neutral, order_letters
from kg_api.convert.pdf.grids import find_grids
from kg_api.convert.pdf.layout import CJK_BLANK, FoundRun, Grid, TextRun
from kg_api.convert.pdf.letters import (
    BLANKS,
    DOWN,
    LINE_ENDS,
    MEANINGLESS,
    UNKNOWN,
    PageObjects,
    SizedText,
    Style,
    Styles,
    are_cjk,
    combine_accent,
    decode_letters,
    get_extent,
    get_visible_text,
    is_from_right,
    join_letters,
    turn_box,
    write_scripts,
)

_MIN_LETTERS = 3  # minimum letters of a column of single letters (fewer may be table cells)
_VERTICAL_ASIDE = 0.5
_MIN_STEP, _MAX_STEP = 0.7, 2.2
_CELL, _DIGITS = 1.4, 3
"""Maximum width (in font sizes) and digits of a horizontal number within a vertical column."""


def stack_letters(found: Sequence[FoundRun]) -> list[FoundRun]:
    """Join letters that are stacked vertically.

    If most of the page is stacked, the letters become vertical lines, like those of a font for vertical
    writing. Otherwise they are a stacked label, which becomes one piece. Line numbers become one piece as
    well, so that they do not interrupt the lines.
    """
    chains: list[list[FoundRun]] = []
    for each in found:
        if chains and _goes_down(chains[-1][-1], each):
            chains[-1].append(each)
        else:
            chains.append([each])
    stacked = sum(len(each.run.text) for chain in chains if len(chain) >= _MIN_LETTERS for each in chain)
    down = sum(len(each.run.text) for each in found if each.turn == DOWN and _is_cjk(each.run))
    if not (stacked or down):
        return list(found)
    across = sum(len(each.run.text) for each in found if each.turn == 0) - stacked
    turned: list[FoundRun] = []
    for chain in chains:
        has_cjk = any(_is_cjk(each.run) for each in chain)
        if not (has_cjk or _counts_lines(chain)):
            turned += chain
            continue
        first, text = chain[0], ("" if has_cjk else " ").join(each.run.text for each in chain)
        run = replace(first.run, text=text, unmapped=sum(each.run.unmapped for each in chain))
        if stacked + down > across:
            if has_cjk and _is_cell(first):
                left, right = -first.run.top, -chain[-1].run.bottom
                run = replace(run, left=left, right=right, baseline=_get_middle(first.run))
                chain = [FoundRun(DOWN, run)]  # noqa: PLW2901
        elif len(chain) >= _MIN_LETTERS:
            run = replace(run, baseline=chain[len(chain) // 2].run.baseline)
            chain = [FoundRun(0, run)]  # noqa: PLW2901
        turned += chain
    return turned if stacked + down <= across else list(_take_numbers(turned))


def _counts_lines(chain: Sequence[FoundRun]) -> bool:
    numbers = [int(each.run.text) for each in chain if each.run.text.isdecimal()]
    return len(numbers) == len(chain) and all(after == before + 1 for before, after in pairwise(numbers))


def _goes_down(above: FoundRun, below: FoundRun) -> bool:
    if not (_is_cell(above) and _is_cell(below)):
        return False
    size = max(above.run.size, below.run.size)
    beside = abs(_get_middle(above.run) - _get_middle(below.run)) < _VERTICAL_ASIDE * size
    return beside and _MIN_STEP * size < above.run.baseline - below.run.baseline < _MAX_STEP * size


def _is_cell(each: FoundRun) -> bool:
    run = each.run
    narrow = each.turn == 0 and run.right - run.left < _CELL * run.size
    return narrow and (_is_cjk(run) or (run.text.isdigit() and len(run.text) <= _DIGITS))


def _is_cjk(run: TextRun) -> bool:
    return are_cjk(run.text, run.text)


def _get_middle(run: TextRun) -> float:
    return (run.left + run.right) / 2


def _take_numbers(found: Sequence[FoundRun]) -> Iterator[FoundRun]:
    """Turn horizontal numbers within a vertical column, because fonts for vertical text do not place them."""
    columns = [each.run for each in found if each.turn == DOWN]
    for each in found:
        column = next((run for run in columns if _is_cell(each) and _is_within(each.run, run)), None)
        if column is None:
            yield each
        else:
            left = -(each.run.top + each.run.bottom) / 2 - column.size / 2
            turned = replace(each.run, left=left, right=left + column.size, baseline=column.baseline)
            yield FoundRun(DOWN, turned)


def _is_within(run: TextRun, column: TextRun) -> bool:
    beside = abs(_get_middle(run) - column.baseline) < _VERTICAL_ASIDE * column.size
    return beside and column.left - 2 * column.size < -run.baseline < column.right + 2 * column.size


# Text pieces with positions and fonts, from PDFium

_WIDE_GAP = 0.9  # in font sizes: a larger gap separates columns or cells
_SPACE, _NARROW_SPACE, _WIDER = 0.24, 0.15, 0.1
"""Gaps in font sizes: a space, a space in tight lines, and its minimum difference to the previous gap."""
_BLANK_SHARE = 0.05
"""Blanks per Arabic or Hebrew letter, above which no gap is a space: boxes with vowel signs are wrong."""
_OVERLAP = 0.6
_MIN_SPACED = 3  # minimum gaps of a letter-spaced word
_ALIKE = 0.05  # in font sizes: maximum difference of equal gaps
_THIN = 0.01  # points: PDFium skips narrower text
_UNMOVED = raw.FS_MATRIX(1, 0, 0, 1, 0, 0)
_MIN_UNREADABLE = 8  # unreadable letters of a page that justify OCR
_ASIDE = 1.2  # in font sizes: maximum horizontal offset of letters in a column
_OTHER_BASELINE = 0.6
_MONO_SHARE = 0.9


@dataclass
class PageText:
    """Text of a page: pieces in the main direction, and pieces across it."""

    height: float
    pieces: list[TextRun] = field(default_factory=list[TextRun])
    across: list[TextRun] = field(default_factory=list[TextRun])
    is_blank: bool = False  # the page has no content, not even images
    turn: int | None = None  # counter-clockwise quarter turns of most lines (None: no text, or OCR text)
    rotation: int = 0  # clockwise quarter turns of the page
    shown: list[FoundRun] = field(default_factory=list[FoundRun])
    """Text of annotations and values of form fields."""
    unreadable: list[TextRun] = field(default_factory=list[TextRun])
    """Pieces removed from `pieces`, because their letters are unknown."""
    breadth: float = 0  # page size across the lines
    plain: str = ""  # all characters of the page in PDFium's order, without layout
    grids: list[Grid] = field(default_factory=list[Grid])
    left_out: list[str] = field(default_factory=list[str])  # text removed on purpose, reported in a note

    @property
    def needs_ocr(self) -> bool:
        """Whether the page has more than a few unreadable characters."""
        return sum(len(run.text) for run in self.unreadable) >= _MIN_UNREADABLE

    @property
    def is_from_right(self) -> bool:
        """Whether most letters are in right-to-left text."""
        count = sum(len(run.text) * (1 if run.from_right else -1) for run in self.pieces)
        return self.turn != DOWN and count > 0

    @property
    def is_vertical(self) -> bool:
        """Whether lines run from top to bottom. Then `across` contains horizontal lines such as a header."""
        return self.turn == DOWN


def put_shown(pages: Iterable[PageText]) -> None:
    """Move texts of annotations and fields into the pieces of their pages."""
    for page in pages:
        usual = page.rotation if page.turn is None else page.turn
        for turn, run in page.shown:
            (page.pieces if turn == usual else page.across).append(run)
        page.shown = []


def list_pages_without_text(pages: Sequence[PageText]) -> tuple[int, ...]:
    """List the 1-based numbers of pages with content but without text."""
    return tuple(n for n, page in enumerate(pages, 1) if not (page.pieces or page.across or page.is_blank))


class _Open:
    """Piece under construction."""

    def __init__(self, style: Style, text: str, left: float, right: float, bottom: float) -> None:
        self.style, self.letters = style, [text]
        self.left, self.right = left, right
        self.last_left, self.last_right = left, right
        self.last_gap = float("inf")
        self.last_bottom = bottom
        self.last_style, self.of_last_style = style, 1
        self.styles: Counter[Style] = Counter()  # letters by style, without those of the last style
        self.is_from_right = is_from_right(ord(text[0]))  # whether the next letter may follow to the left
        self.from_right, self.unmapped = int(self.is_from_right), 0
        self.starts = [(0, style)]  # starts of letters with another size or baseline
        self.gaps: dict[int, float] = {}  # gaps without a space in the file, by the letter after each
        self.spacing: list[float] = []  # gaps within words, in font sizes

    def continues_with(self, style: Style, left: float, bottom: float) -> bool:
        size = style.size
        if style is not self.style:
            size = max(self.style.size, size)
            if not self._is_adjacent(style, size):
                return False
        gap, step = left - self.last_right, left - self.last_left
        if -_OVERLAP * size < gap < _WIDE_GAP * size:
            return True
        return 0 <= step <= size and bottom > self.last_bottom - size / 2  # letters of a ligature share a box

    def is_above(self, style: Style, left: float, top: float) -> bool:
        """Check if the next letter of the text object is below, so its font is for vertical writing."""
        size = style.size
        below = top < self.last_bottom + size / 2 and abs(left - self.last_left) < _ASIDE * size
        return below and style is self.last_style and style.turn == 0

    def continues_from_right(self, style: Style, right: float) -> bool:
        size = max(self.style.size, style.size)
        return self._is_adjacent(style, size) and -_OVERLAP * size < self.last_left - right < _WIDE_GAP * size

    def _is_adjacent(self, style: Style, size: float) -> bool:
        near = abs(style.baseline - self.style.baseline) < _OTHER_BASELINE * size
        return near and style.turn == self.style.turn

    def has_missing_space(self, style: Style, left: float, text: str, *, inserted: bool) -> bool:
        """Check if a missing space precedes the letter. Letter-spaced text has no such spaces."""
        gap = left - self.last_right
        if gap <= _NARROW_SPACE * style.size and not inserted:  # fast path for nearly all letters
            return False
        if gap < CJK_BLANK * style.size and are_cjk(self.letters[-1], text):
            return False
        if inserted:
            return True
        tight = gap > _NARROW_SPACE * style.size and gap > self.last_gap + _WIDER * style.size
        return tight or gap > _SPACE * style.size

    def add(self, style: Style, text: str, left: float, right: float, *, space: bool) -> None:
        if style is not self.last_style:
            before = self.last_style
            self.styles[before] += self.of_last_style
            self.last_style, self.of_last_style = style, 0
            if style.size != before.size or style.baseline != before.baseline:
                self.starts.append((len(self.letters), style))
        over = left < (self.last_left + self.last_right) / 2
        if over and (letter := combine_accent(self.letters[-1], text)):
            self.letters[-1] = letter
        else:
            self.letters.append(f" {text}" if space else text)
        self.last_gap = left - self.last_right
        if not space:
            self.spacing.append(self.last_gap / style.size)
        self.left, self.right = min(self.left, left), max(self.right, right)
        self.last_left, self.last_right = left, right
        self.of_last_style += 1

    def _close_spaced_words(self) -> None:
        """Remove the spaces within a letter-spaced word: single letters with equal gaps between them."""
        words: list[list[int]] = []
        for at, gap in self.gaps.items():
            is_next = bool(words) and at == words[-1][-1] + 1
            if is_next and abs(gap - self.gaps[words[-1][0]]) < _WIDER:
                words[-1].append(at)
            else:
                words.append([at])
        for word in words:
            if len(word) >= _MIN_SPACED and all(self.letters[at].strip().isalpha() for at in word):
                for at in word:
                    self.letters[at] = self.letters[at].removeprefix(" ")

    def _close_equal_gaps(self) -> None:
        """Remove the spaces that PDFium inserts between two text objects of a word with spaced letters."""
        if not self.gaps or len(self.spacing) < _MIN_SPACED:
            return
        usual = median(self.spacing)
        for at, gap in self.gaps.items():
            if gap < usual + _ALIKE:
                self.letters[at] = self.letters[at].removeprefix(" ")

    def build_run(self) -> TextRun:
        self._close_spaced_words()
        self._close_equal_gaps()
        self.styles[self.last_style] += self.of_last_style
        self.of_last_style = 0
        most = self.styles.most_common(1)[0][0]
        count = self.styles.total()
        bold = sum(number for style, number in self.styles.items() if style.bold) / count
        mono = sum(number for style, number in self.styles.items() if style.mono) / count
        return TextRun(
            join_letters(self._get_parts()),
            self.left,
            self.right,
            most.baseline,
            most.size,
            bold,
            mono >= _MONO_SHARE,
            self.from_right * 2 > count,
            unmapped=self.unmapped,
        )

    def _get_parts(self) -> Sequence[str]:
        if len(self.starts) == 1:
            return self.letters
        ends = [*(at for at, _ in self.starts[1:]), len(self.letters)]
        parts = [
            SizedText("".join(self.letters[at:end]), style.baseline, style.size)
            for (at, style), end in zip(self.starts, ends, strict=True)
        ]
        return write_scripts([part for part in parts if part.text])


class _Reader:
    """Reader of one page. Each PDFium call costs microseconds, and a page needs thousands."""

    def __init__(self, text_page: pdfium.PdfTextPage, grids: Iterable[Grid]) -> None:
        self.page: Any = text_page.raw
        cells = [cell for grid in grids for cell in grid]
        turned = ([turn_box(cell, turn) for cell in cells] for turn in range(4))
        self.sides = [sorted((right, low, high) for _, low, right, high in boxes) for boxes in turned]
        self.styles = Styles(self.page)
        self.style = Style()
        self.box = raw.FS_RECTF()
        self.open: _Open | None = None
        self.space = self.inserted = self.has_blanks = False
        self.found: list[FoundRun] = []

    def read(self) -> list[FoundRun]:
        """Read the pieces in content order."""
        page, styles, address = self.page, self.styles, 0
        unicode_of, object_of = raw.FPDFText_GetUnicode, raw.FPDFText_GetTextObject
        codes = [unicode_of(page, i) for i in range(raw.FPDFText_CountChars(page))]
        if from_right := sum(map(is_from_right, codes)):
            blanks = sum(code in BLANKS and bool(object_of(page, i)) for i, code in enumerate(codes))
            self.has_blanks = blanks > _BLANK_SHARE * from_right
        for i in order_letters(codes, partial(get_place, page, styles)):
            code = codes[i]
            text_object = object_of(page, i)
            if not text_object or (code in BLANKS and not is_ligature(page, code, i)):
                if text_object:
                    self.space = True
                    continue
                if code in LINE_ENDS and self.style.turn:  # PDFium inserts line ends within turned words
                    continue
                if code in LINE_ENDS:  # PDFium inserts line ends and some spaces
                    self._close()
                self.inserted = True
                continue
            if (here := ctypes.addressof(text_object.contents)) != address:
                address, self.style = here, styles.get_style(text_object, i)
            unmapped = code in MEANINGLESS or (styles.font.unchecked and self._is_unmapped(i))
            if text := decode_letters(code) or (UNKNOWN if unmapped else ""):
                self._add(i, code, text)
                if unmapped and self.open:
                    self.open.unmapped += 1
        self._close()
        return self.found

    def _is_unmapped(self, i: int) -> bool:
        """Check if the file does not define the letter. Then kg checks every letter of the font."""
        if raw.FPDFText_HasUnicodeMapError(self.page, i) == 1:
            self.styles.font.unchecked = -1
            return True
        if self.styles.font.unchecked > 0:
            self.styles.font.unchecked -= 1
        return False

    def _add(self, i: int, code: int, text: str) -> None:
        raw.FPDFText_GetLooseCharBox(self.page, i, self.box)
        style, last, bottom = self.style, self.open, self.box.bottom
        left, right = get_extent(style.turn, self.box)
        if last and last.is_from_right and is_mark(code):
            last.letters.append(text)
            last.last_left = min(last.last_left, left)
        elif (
            last
            and (is_from_right(code) or (last.is_from_right and is_neutral(code)))
            and last.continues_from_right(style, right)
            and not self._is_other_cell(last, style, left, right)
        ):
            is_apart = self.inserted or last.last_left - right > _SPACE * style.size
            last.add(style, text, left, right, space=self.space or (is_apart and not self.has_blanks))
            last.from_right += 1
            last.is_from_right = True
        elif (
            last
            and last.continues_with(style, left, bottom)
            and not self._is_other_cell(last, style, left, right)
        ):
            space = self.space or last.has_missing_space(style, left, text, inserted=self.inserted)
            if space and not self.space:
                last.gaps[len(last.letters)] = (left - last.last_right) / style.size
            last.add(style, text, left, right, space=space)
            last.last_bottom, last.is_from_right = bottom, False
        elif last and last.is_above(style, left, self.box.top):
            self._turn_down(last, i)
            self._add(i, code, text)
        else:
            self._close()
            self.open = _Open(style, text, left, right, bottom)
        self.space = self.inserted = False

    def _is_other_cell(self, last: _Open, style: Style, left: float, right: float) -> bool:
        """Check if the side of a cell is between two letters."""
        begin, end = (last.last_right, left) if left > last.last_left else (right, last.last_left)
        if not (sides := self.sides[style.turn]) or end - begin < _NARROW_SPACE * style.size:
            return False
        between = islice(sides, bisect_left(sides, (begin,)), bisect_right(sides, (end,)))
        return any(low < style.baseline < high for _, low, high in between)

    def _turn_down(self, last: _Open, i: int) -> None:
        """Treat the rest of a text object, and its first letter, as vertical text."""
        self.style = self.styles.get_vertical_style(self.style, i)
        if len(last.letters) > 1:
            self._close()
            return
        bottom, unmapped = last.last_bottom, last.unmapped
        top = bottom + self.style.size
        self.open = _Open(self.style, last.letters[0], -top, -bottom, bottom)
        self.open.unmapped = unmapped

    def _close(self) -> None:
        if self.open:
            self.found.append(FoundRun(self.open.style.turn, self.open.build_run()))
            self.open = None


def is_ligature(text_page: Any, code: int, number: int) -> bool:
    """Check if a line-end code is a ligature. TeX fonts without glyph names use this code for one."""
    if code != 0x0D:  # noqa: PLR2004
        return False
    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(text_page, number, box)
    size: float = raw.FPDFText_GetFontSize(text_page, number)
    return bool(box.right - box.left > 0.2 * size)


def open_text(page: pdfium.PdfPage, texts: Iterable[Any]) -> pdfium.PdfTextPage:
    """Open the text of a page with all characters.

    PDFium skips zero-width text, such as a single letter of a font that is neither embedded nor installed. An
    outline gives the text a width.
    """
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for item in texts:
        raw.FPDFPageObj_GetBounds(item, left, bottom, right, top)
        if right.value - left.value < _THIN:
            raw.FPDFTextObj_SetTextRenderMode(item, raw.FPDF_TEXTRENDERMODE_FILL_STROKE)
            raw.FPDFPageObj_TransformF(item, _UNMOVED)
    return page.get_textpage()


def get_place(page: Any, styles: Styles, i: int) -> Place | None:
    """Get the place of an upright letter, or None for others and for spaces that PDFium inserts."""
    if not raw.FPDFText_GetTextObject(page, i) or styles.get_turn(i):
        return None
    box, x, y = raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetLooseCharBox(page, i, box)
    raw.FPDFText_GetCharOrigin(page, i, x, y)
    return Place(box.left, box.right, y.value, styles.get_size(i), x.value)


def read(page: pdfium.PdfPage, objects: PageObjects) -> PageText:
    """Read the text of a page, rotated so that most lines run from left to right."""
    text_page = open_text(page, objects.texts)
    try:
        grids = find_grids(objects.paths)
        runs = _Reader(text_page, grids).read()
        plain = get_visible_text(text_page.get_text_range(errors="ignore"))
    finally:
        text_page.close()
    if any(run.from_right for _, run in runs):  # PDFium may reverse their letters
        plain = "\n".join(run.text for _, run in runs)
    found = stack_letters(runs)
    turns: Counter[int] = Counter()
    for turn, piece in found:
        turns[turn] += len(piece.text)
    most = turns.most_common(1)[0][0] if turns else 0
    return PageText(
        page.get_width() if most in {1, 3} else page.get_height(),
        [piece for turn, piece in found if turn == most],
        [piece for turn, piece in found if turn != most],
        is_blank=objects.is_blank,
        turn=most if turns else None,
        rotation=page.get_rotation() // 90 % 4,
        breadth=page.get_height() if most in {1, 3} else page.get_width(),
        plain=plain,
        grids=[[turn_box(cell, most) for cell in grid] for grid in grids],
    )

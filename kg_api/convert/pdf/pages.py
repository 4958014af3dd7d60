"""Places of a passage on a drawn PDF page.

Passage and page are compared as letters without case, accents, marks, whitespace and hyphens, because
conversion joins, divides and drops some of them.
"""

from __future__ import annotations

import ctypes
import io
import math
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, cast

import pypdfium2 as pdfium
from PIL import Image, ImageChops, ImageDraw
from pypdfium2 import raw

from kg_api.convert.pdf.characters import is_ligature, open_text
from kg_api.convert.pdf.document import opened
from kg_api.convert.pdf.letters import BLANKS, letters, list_objects
from kg_api.convert.pdf.scans import MAX_PIXELS
from kg_api.errors import UnreadableDocument
from kg_api.schemas.images import DrawnPage, PageBox, PageToDraw

_ACCENTS = frozenset({"Mn", "Sk", "Lm"})
"""Categories of what is drawn upon or beside a letter; it divides no word."""


@lru_cache(4096)
def plain(letter: str) -> str:
    """What a letter is compared by: of a ligature its letters, of an accent or a mark nothing."""
    apart = unicodedata.normalize("NFKD", letter).casefold()
    return "".join(each for each in apart if each.isalnum() and unicodedata.category(each) not in _ACCENTS)


@lru_cache(4096)
def _divides(letter: str) -> bool:
    return letter != "" and any(unicodedata.category(each) not in _ACCENTS for each in letter)


@dataclass(slots=True)
class LetterStream:
    """Letters in their order, and where each comes from."""

    text: str = ""
    origin: list[int] = field(default_factory=list[int])
    """By place in the stream: the number of the character that it was."""
    words: list[int] = field(default_factory=list[int])  # by place in the stream: the number of its word
    begins: list[int] = field(default_factory=list[int])  # by word: where it begins in the stream

    @classmethod
    def of(cls, letters: Iterable[str]) -> LetterStream:
        """Read letters; what is no letter and no digit divides words, an accent does not."""
        made, texts, apart = cls(), list[str](), True
        for number, letter in enumerate(letters):
            said = plain(letter)
            if said:
                if apart:
                    made.begins.append(len(made.origin))
                texts.append(said)
                made.origin += [number] * len(said)
                made.words += [len(made.begins) - 1] * len(said)
            apart = not said and (apart or _divides(letter))
        made.text = "".join(texts)
        return made

    def end(self, number: int) -> int:
        """Behind the last letter of a word."""
        return self.begins[number + 1] if number + 1 < len(self.begins) else len(self.text)


# Where the words of a passage stand in the letters of a page. Pure.
#
# kg reads a page in another order than PDFium gives its letters (columns, tables), leaves out running headers
# and joins what a line's end divides. So a passage is found in runs: each begins with a few letters that are
# the same, and goes on as far as they are. Runs may come in any order.

SEED = 12  # letters that begin a run
_NO_BLANKS = "\u2e80"  # from here on most scripts have no blanks between words
_CANDIDATES = 32  # places that are tried for one seed: a page may say the same many times


@dataclass(frozen=True, slots=True)
class EqualLetters:
    passage: int
    page: int  # where it begins in each
    length: int


def find_passage(passage: LetterStream, page: LetterStream) -> list[Sequence[int]]:
    """The words of a passage that stand on a page: of each, the places of its letters there."""
    places = [-1] * len(passage.text)  # by letter of the passage: where it is on the page
    for run in _runs(passage, page):
        places[run.passage : run.passage + run.length] = range(run.page, run.page + run.length)
    words = list[Sequence[int]]()
    for number, begin in enumerate(passage.begins):
        found = [each for each in places[begin : passage.end(number)] if each >= 0]
        if 2 * len(found) > passage.end(number) - begin:  # most of its letters
            words.append(found)
    return words


def find_words(words: Sequence[str], page: LetterStream) -> list[Sequence[int]]:
    """Return where some words stand on a page, whole ones: of each, the places of its letters.

    Words that stand beside each other may be given as one; each of them is given back.
    """
    wanted = {stream.text: len(each.split()) for each in words if (stream := LetterStream.of(each)).text}
    found: list[Sequence[int]] = []
    most = max(map(len, wanted), default=0)
    for number, begin in enumerate(page.begins):
        # The longest of the wanted that begins with this word; several words may be one, torn apart
        end, at = 0, number
        while at < len(page.begins) and page.end(at) - begin <= most:
            if page.text[begin : page.end(at)] in wanted:
                end = page.end(at)
            at += 1
        if not end or (found and begin <= found[-1][-1]):
            continue
        if wanted[page.text[begin:end]] == 1:
            found.append(range(begin, end))
            continue
        at = begin
        while at < end:
            found.append(range(at, page.end(page.words[at])))
            at = page.end(page.words[at])
    for word in sorted(wanted):  # scripts without blanks between words
        at = page.text.find(word) if max(word) >= _NO_BLANKS else -1
        while at >= 0:
            found.append(range(at, at + len(word)))
            at = page.text.find(word, at + len(word))
    return found


def _runs(passage: LetterStream, page: LetterStream) -> Iterator[EqualLetters]:
    """The longest that begins at each place, from the first on; of equals the nearest behind the last."""
    if len(text := passage.text) < SEED:  # such as a heading: where it is whole words for the first time
        for begin in page.begins if text else ():
            ends = begin + len(text)
            if page.text.startswith(text, begin) and (
                ends == len(page.text) or page.words[ends] != page.words[ends - 1]
            ):
                yield EqualLetters(0, begin, len(text))
                return
        return
    seeds: dict[str, list[int]] = {}
    for place in range(len(page.text) - SEED + 1):
        places = seeds.setdefault(page.text[place : place + SEED], [])
        if len(places) < _CANDIDATES:
            places.append(place)
    at = behind = 0
    while at + SEED <= len(passage.text):
        places = sorted(seeds.get(passage.text[at : at + SEED], ()), key=lambda place: abs(place - behind))
        runs = [EqualLetters(at, place, _same(passage.text, at, page.text, place)) for place in places]
        if runs:
            best = max(runs, key=lambda run: run.length)
            yield best
            at, behind = at + best.length, best.page + best.length
        else:
            at = passage.end(passage.words[at])


def _same(one: str, at: int, other: str, place: int) -> int:
    """How many letters are the same from there on; compared by ever longer parts, which is quick."""
    most, same, step = min(len(one) - at, len(other) - place), 0, 64
    while same < most:
        step = min(step, most - same)
        if one[at + same : at + same + step] == other[place + same : place + same + step]:
            same += step
        elif step == 1:
            break
        else:
            step //= 2
    return same


# Where the letters of a page stand on its picture, and the boxes that go around words.

MAX_LETTERS = 200_000  # of a page: a page of a newspaper has 30,000
_GAP, _OVERLAP = 1.0, 0.5
"""Of a box's height: how far apart words of one box are, and how much of it they share."""
_SCALE = 10_000


class Box(NamedTuple):
    """A part of a picture, in pixels from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(frozen=True, slots=True)
class PageLetters:
    """The letters of a page as PDFium gives them."""

    page: pdfium.PdfPage
    text_page: pdfium.PdfTextPage
    size: tuple[int, int]  # of the picture, in pixels
    stream: LetterStream

    @classmethod
    def of(cls, page: pdfium.PdfPage, size: tuple[int, int]) -> PageLetters:
        text_page = open_text(page, list_objects(page).texts)
        count = min(raw.FPDFText_CountChars(text_page.raw), MAX_LETTERS)
        stream = LetterStream.of(_letter(text_page.raw, number) for number in range(count))
        return cls(page, text_page, size, stream)

    def boxes(self, words: Iterable[Sequence[int]]) -> list[Box]:
        """Return boxes around words, each word by the places of its letters; one for each line."""
        numbers = (self.stream.origin[place] for word in words for place in word)
        return join_boxes(self._box(number) for number in dict.fromkeys(numbers))

    def _box(self, number: int) -> Box:
        """Return a letter's place on the picture, whatever the page is turned by and cut to."""
        found: Any = raw.FS_RECTF()
        page: Any = self.page.raw
        raw.FPDFText_GetLooseCharBox(self.text_page.raw, number, found)
        across, down = list[int](), list[int]()
        for x, y in ((found.left, found.top), (found.right, found.bottom)):
            left, top = ctypes.c_int(), ctypes.c_int()
            raw.FPDF_PageToDevice(page, 0, 0, *self.size, 0, x, y, left, top)
            across.append(int(left.value))
            down.append(int(top.value))
        return Box(min(across), min(down), max(across), max(down))


def _letter(text_page: Any, number: int) -> str:
    code = raw.FPDFText_GetUnicode(text_page, number)
    return " " if code in BLANKS and not is_ligature(text_page, code, number) else letters(code)


def of_parts(boxes: Iterable[PageBox], size: tuple[int, int]) -> list[Box]:
    """Boxes that are told in ten thousandths of the page."""
    width, height = size[0] / _SCALE, size[1] / _SCALE
    return join_boxes(
        Box(each.left * width, each.top * height, each.right * width, each.bottom * height) for each in boxes
    )


def join_boxes(boxes: Iterable[Box]) -> list[Box]:
    """Join boxes that follow each other on one line."""
    joined: list[Box] = []
    for box in boxes:
        if joined:
            last = joined[-1]
            height = max(last.height, box.height)
            shared = min(last.bottom, box.bottom) - max(last.top, box.top)
            between = max(box.left - last.right, last.left - box.right)
            if shared > _OVERLAP * min(last.height, box.height) and between < _GAP * height:
                left, top = min(last.left, box.left), min(last.top, box.top)
                joined[-1] = Box(left, top, max(last.right, box.right), max(last.bottom, box.bottom))
                continue
        joined.append(box)
    return joined


# A page as a picture in colours, with words marked, as a converting process draws it.

MAX_PAGE_PIXELS = 8_000_000
MAX_PNG = 11 * 1024 * 1024  # what an answer of a converting process has room for, as base64
_MAX_OBJECTS = 20_000
_PASSAGE, _PASSAGE_EDGE = (255, 243, 170), (222, 165, 32)
_WORD, _WORD_EDGE = (255, 205, 150), (214, 90, 20)


def draw_page(wanted: PageToDraw, data: bytes) -> DrawnPage:
    """Draw one page of a PDF."""
    with opened(data) as document:
        count = len(document)
        if not 1 <= wanted.page <= count:
            return DrawnPage(count, b"", 0)
        document.init_forms()  # what is filled in is to be seen
        try:
            page = document[wanted.page - 1]
            # A picture is unpacked whole before it is drawn; all else meets the limits of the process
            objects = cast("Iterable[Any]", page.get_objects(max_depth=8))
            for item in islice(objects, _MAX_OBJECTS):
                if item.type == raw.FPDF_PAGEOBJ_IMAGE and math.prod(item.get_px_size()) > MAX_PIXELS:
                    told = f"a picture on it has {math.prod(item.get_px_size()) / 1e6:.0f} megapixels"
                    raise UnreadableDocument(f"the page is not drawn: {told}")
            width, height = page.get_size()
            scale = min(wanted.width / width, math.sqrt(MAX_PAGE_PIXELS / (width * height)))
            bitmap = cast("Any", page).render(scale=scale, rev_byteorder=True)
            try:
                picture: Image.Image = bitmap.to_pil().convert("RGB")
            finally:
                bitmap.close()
            boxed = _mark(page, picture, wanted)
        except (pdfium.PdfiumError, ValueError):
            raise UnreadableDocument(f"page {wanted.page} cannot be drawn: it is broken") from None
        grey = picture.convert("L")  # without colours where it has none: a third of the size
        plain = not ImageChops.difference(grey.convert("RGB"), picture).getbbox()
        content = io.BytesIO()
        (grey if plain else picture).save(content, "PNG")
        if content.tell() > MAX_PNG:
            raise UnreadableDocument("the picture of the page is too large: ask for a smaller width")
        return DrawnPage(count, content.getvalue(), boxed)


def _mark(page: pdfium.PdfPage, picture: Image.Image, wanted: PageToDraw) -> int:
    """Mark what is wanted; return how many words that were."""
    passage, words = list[Sequence[int]](), list[Sequence[int]]()
    if wanted.passage or wanted.words:
        on_page = PageLetters.of(page, picture.size)
        passage = find_passage(LetterStream.of(wanted.passage), on_page.stream)
        words = find_words(wanted.words, on_page.stream)
        _fill(picture, on_page.boxes(passage), _PASSAGE, _PASSAGE_EDGE)
        _fill(picture, on_page.boxes(words), _WORD, _WORD_EDGE)
    _fill(picture, of_parts(wanted.passage_boxes, picture.size), _PASSAGE, _PASSAGE_EDGE)
    _fill(picture, of_parts(wanted.word_boxes, picture.size), _WORD, _WORD_EDGE)
    return sum(map(len, (passage, words, wanted.passage_boxes, wanted.word_boxes)))


def _fill(
    picture: Image.Image, boxes: Sequence[Box], colour: tuple[int, int, int], edge: tuple[int, int, int]
) -> None:
    """Colour what is light within boxes, as a marker pen does, and draw a line around them."""
    pen, line = ImageDraw.Draw(picture), max(1, round(picture.width / 800))
    for each in boxes:
        left, top = max(0, math.floor(each.left) - line), max(0, math.floor(each.top))
        right = min(picture.width - 1, math.ceil(each.right) + line)
        bottom = min(picture.height - 1, math.ceil(each.bottom))
        if left < right and top < bottom:
            part = picture.crop((left, top, right + 1, bottom + 1))
            picture.paste(ImageChops.multiply(part, Image.new("RGB", part.size, colour)), (left, top))
            pen.rectangle((left, top, right, bottom), outline=edge, width=line)

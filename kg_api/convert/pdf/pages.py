"""Positions of a passage on a rendered PDF page.

kg compares passage and page as letters without case, accents, punctuation, whitespace, and hyphens, because
the conversion joins, splits, and drops some of these characters.
"""

from __future__ import annotations

import ctypes
import io
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice, pairwise
from typing import Any, NamedTuple, cast

import pypdfium2 as pdfium
from PIL import Image, ImageChops, ImageDraw
from pypdfium2 import raw

from kg_api.convert.pdf.characters import get_place, is_ligature, open_text
from kg_api.convert.pdf.direction import order_letters
from kg_api.convert.pdf.document import open_document
from kg_api.convert.pdf.letters import BLANKS, Styles, decode_letters, join_letters, list_objects
from kg_api.convert.pdf.scans import MAX_PIXELS
from kg_api.errors import UnreadableDocument
from kg_api.schemas.images import DrawnPage, PageBox, PageToDraw

_ACCENTS = frozenset({"Mn", "Sk", "Lm"})  # Unicode categories of accents, which do not separate words


@lru_cache(4096)
def normalize_letter(letter: str) -> str:
    """Return the characters for comparison (the letters of a ligature; empty for accents and punctuation)."""
    apart = unicodedata.normalize("NFKD", letter).casefold()
    return "".join(each for each in apart if each.isalnum() and unicodedata.category(each) not in _ACCENTS)


@lru_cache(4096)
def _separates_words(letter: str) -> bool:
    return letter != "" and any(unicodedata.category(each) not in _ACCENTS for each in letter)


@dataclass(slots=True)
class LetterStream:
    """Letters in order, with their origins."""

    text: str = ""
    origin: list[int] = field(default_factory=list[int])
    """Index of the original character, by position in the stream."""
    words: list[int] = field(default_factory=list[int])  # index of the word, by position in the stream
    begins: list[int] = field(default_factory=list[int])  # start of each word in the stream

    @classmethod
    def from_letters(cls, letters: Iterable[str]) -> LetterStream:
        """Build a stream. Characters other than letters, digits, and accents separate words."""
        made, texts, apart = cls(), list[str](), True
        for number, letter in enumerate(letters):
            character = normalize_letter(letter)
            if character:
                if apart:
                    made.begins.append(len(made.origin))
                texts.append(character)
                made.origin += [number] * len(character)
                made.words += [len(made.begins) - 1] * len(character)
            apart = not character and (apart or _separates_words(letter))
        made.text = "".join(texts)
        return made

    def end(self, number: int) -> int:
        return self.begins[number + 1] if number + 1 < len(self.begins) else len(self.text)


# Passages in the letters of a page
#
# The order of a passage differs from PDFium's (columns, tables), and the passage lacks running headers and
# hyphens at line ends. So kg finds a passage in runs of equal letters, in any order.

SEED = 12  # minimum letters of a run
_NO_BLANKS = "\u2e80"  # most scripts from here on have no spaces
_CANDIDATES = 32  # positions to try for one seed, because a page may repeat a text


@dataclass(frozen=True, slots=True)
class EqualLetters:
    passage: int
    page: int  # start in each text
    length: int


def find_passage(passage: LetterStream, page: LetterStream) -> list[Sequence[int]]:
    """Find the words of a passage on a page, each as the positions of its letters."""
    places = [-1] * len(passage.text)  # position on the page of each letter
    for run in _find_equal_runs(passage, page):
        places[run.passage : run.passage + run.length] = range(run.page, run.page + run.length)
    words = list[Sequence[int]]()
    for number, begin in enumerate(passage.begins):
        found = [each for each in places[begin : passage.end(number)] if each >= 0]
        if 2 * len(found) > passage.end(number) - begin:  # most letters
            words.append(found)
    return words


def find_words(words: Sequence[str], page: LetterStream) -> list[Sequence[int]]:
    """Find all occurrences of words or phrases, each whole word as the positions of its letters."""
    wanted = {
        stream.text: len(each.split()) for each in words if (stream := LetterStream.from_letters(each)).text
    }
    found: list[Sequence[int]] = []
    most = max(map(len, wanted), default=0)
    for number, begin in enumerate(page.begins):
        # Find the longest match that begins here. A hyphenated word may span several words.
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
    for word in sorted(wanted):  # scripts without spaces
        at = page.text.find(word) if max(word) >= _NO_BLANKS else -1
        while at >= 0:
            found.append(range(at, at + len(word)))
            at = page.text.find(word, at + len(word))
    return found


def _find_equal_runs(passage: LetterStream, page: LetterStream) -> Iterator[EqualLetters]:
    """Yield the longest run from each position on. Of equal runs, prefer the nearest to the previous one."""
    if len(text := passage.text) < SEED:  # a short text: its first occurrence as whole words
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
        rest = passage.text[at:]
        runs = [EqualLetters(at, place, _count_equal(rest, page.text[place:])) for place in places]
        if runs:
            best = max(runs, key=lambda run: run.length)
            yield best
            at, behind = at + best.length, best.page + best.length
        else:
            at = passage.end(passage.words[at])


def _count_equal(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


# Positions of letters on the page image, and boxes around words

MAX_LETTERS = 200_000  # per page (a newspaper page: 30,000)
_GAP, _OVERLAP = 1.0, 0.5  # in box heights: maximum gap of words in one box, and minimum vertical overlap
_SCALE = 10_000
_FIRST_HALF, _SECOND_HALF = re.compile("[\ud800-\udbff]"), re.compile("[\udc00-\udfff]")


class Box(NamedTuple):
    """Rectangle in pixels from the upper left corner of the image."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(frozen=True, slots=True)
class PageLetters:
    page: pdfium.PdfPage
    text_page: pdfium.PdfTextPage
    size: tuple[int, int]  # of the image, in pixels
    stream: LetterStream

    @classmethod
    def from_page(cls, page: pdfium.PdfPage, size: tuple[int, int]) -> PageLetters:
        text_page = open_text(page, list_objects(page).texts)
        count = min(raw.FPDFText_CountChars(text_page.raw), MAX_LETTERS)
        codes = [raw.FPDFText_GetUnicode(text_page.raw, number) for number in range(count)]
        order = order_letters(codes, partial(get_place, text_page.raw, Styles(text_page.raw)))
        letters = [
            " "
            if codes[i] in BLANKS and not is_ligature(text_page.raw, codes[i], i)
            else decode_letters(codes[i])
            for i in order
        ]
        stream = LetterStream.from_letters(_join_surrogates(letters))
        stream.origin = [order[at] for at in stream.origin]
        return cls(page, text_page, size, stream)

    def get_boxes(self, words: Iterable[Sequence[int]]) -> list[Box]:
        """Return boxes around words, given as letter positions, with one box per line."""
        numbers = (self.stream.origin[place] for word in words for place in word)
        return join_boxes(self._get_box(number) for number in dict.fromkeys(numbers))

    def _get_box(self, number: int) -> Box:
        """Return the box of a letter on the image, with rotation and crop of the page applied."""
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


def _join_surrogates(letters: Sequence[str]) -> Iterator[str]:
    """Yield a character for the first half of its surrogate pair, and nothing for the second half."""
    is_second = False
    for letter, following in pairwise([*letters, ""]):
        is_first = bool(_FIRST_HALF.match(letter) and _SECOND_HALF.match(following))
        yield "" if is_second else join_letters([letter, following]) if is_first else letter
        is_second = is_first


def convert_boxes(boxes: Iterable[PageBox], size: tuple[int, int]) -> list[Box]:
    """Convert boxes in 1/10,000 of the page to pixels."""
    width, height = size[0] / _SCALE, size[1] / _SCALE
    return join_boxes(
        Box(each.left * width, each.top * height, each.right * width, each.bottom * height) for each in boxes
    )


def join_boxes(boxes: Iterable[Box]) -> list[Box]:
    """Join neighboring boxes on one line."""
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


# Rendering of a page with highlights, in a converter process

MAX_PAGE_PIXELS = 8_000_000
MAX_PNG = 11 * 1024 * 1024  # limit of a response of a converter process, as base64
_MAX_OBJECTS = 20_000
_PASSAGE, _PASSAGE_EDGE = (255, 243, 170), (222, 165, 32)
_WORD, _WORD_EDGE = (255, 205, 150), (214, 90, 20)


def draw_page(wanted: PageToDraw, data: bytes) -> DrawnPage:
    with open_document(data) as document:
        count = len(document)
        if not 1 <= wanted.page <= count:
            return DrawnPage(count, b"", 0)
        document.init_forms()  # show the values of form fields
        try:
            page = document[wanted.page - 1]
            # PDFium decodes an image completely before rendering. The limits of the process cover the rest.
            objects = cast("Iterable[Any]", page.get_objects(max_depth=8))
            for item in islice(objects, _MAX_OBJECTS):
                if item.type == raw.FPDF_PAGEOBJ_IMAGE and math.prod(item.get_px_size()) > MAX_PIXELS:
                    message = f"an image on the page has {math.prod(item.get_px_size()) / 1e6:.0f} megapixels"
                    raise UnreadableDocument(f"the page is not drawn: {message}")
            width, height = page.get_size()
            scale = min(wanted.width / width, math.sqrt(MAX_PAGE_PIXELS / (width * height)))
            bitmap = cast("Any", page).render(scale=scale, rev_byteorder=True)
            try:
                picture: Image.Image = bitmap.to_pil().convert("RGB")
            finally:
                bitmap.close()
            boxed = _mark(page, picture, wanted)
        except (pdfium.PdfiumError, ValueError):
            raise UnreadableDocument(f"page {wanted.page} is damaged and cannot be rendered") from None
        grey = picture.convert("L")  # a third of the size for a page without colors
        plain = not ImageChops.difference(grey.convert("RGB"), picture).getbbox()
        content = io.BytesIO()
        (grey if plain else picture).save(content, "PNG")
        if content.tell() > MAX_PNG:
            raise UnreadableDocument("the image of the page is too large. Request a smaller width")
        return DrawnPage(count, content.getvalue(), boxed)


def _mark(page: pdfium.PdfPage, picture: Image.Image, wanted: PageToDraw) -> int:
    """Highlight the passage and the words, and return their number."""
    passage, words = list[Sequence[int]](), list[Sequence[int]]()
    if wanted.passage or wanted.words:
        on_page = PageLetters.from_page(page, picture.size)
        passage = find_passage(LetterStream.from_letters(wanted.passage), on_page.stream)
        words = find_words(wanted.words, on_page.stream)
        _fill(picture, on_page.get_boxes(passage), _PASSAGE, _PASSAGE_EDGE)
        _fill(picture, on_page.get_boxes(words), _WORD, _WORD_EDGE)
    _fill(picture, convert_boxes(wanted.passage_boxes, picture.size), _PASSAGE, _PASSAGE_EDGE)
    _fill(picture, convert_boxes(wanted.word_boxes, picture.size), _WORD, _WORD_EDGE)
    return sum(map(len, (passage, words, wanted.passage_boxes, wanted.word_boxes)))


def _fill(
    picture: Image.Image, boxes: Sequence[Box], colour: tuple[int, int, int], edge: tuple[int, int, int]
) -> None:
    """Tint light areas within boxes, like a marker pen, and outline the boxes."""
    pen, line = ImageDraw.Draw(picture), max(1, round(picture.width / 800))
    for each in boxes:
        left, top = max(0, math.floor(each.left) - line), max(0, math.floor(each.top))
        right = min(picture.width - 1, math.ceil(each.right) + line)
        bottom = min(picture.height - 1, math.ceil(each.bottom))
        if left < right and top < bottom:
            part = picture.crop((left, top, right + 1, bottom + 1))
            picture.paste(ImageChops.multiply(part, Image.new("RGB", part.size, colour)), (left, top))
            pen.rectangle((left, top, right, bottom), outline=edge, width=line)

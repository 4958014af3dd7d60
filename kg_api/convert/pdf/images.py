"""Images of a PDF: selection, positions, and captions."""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Any, cast

import pypdfium2 as pdfium
from PIL import Image
from pypdfium2 import PdfMatrix, raw

from kg_api.convert.image.embedded import ImagesWithin
from kg_api.convert.pdf.blocks import PdfBlock
from kg_api.convert.pdf.layout import Column, Line, Vocabulary
from kg_api.convert.pdf.letters import Box, DrawnObject, list_objects, turn_box
from kg_api.schemas.images import FoundImage, ReadImage
from kg_api.settings import ConversionSettings

_MAX_DISTANCE = 60.0  # points
_OVERLAP = 8.0
_ABOVE, _BESIDE = 2.0, 3.0  # weights of distances: captions are most likely below an image
_MAX_WORDS = 100
_LABEL = re.compile(
    r"(?:fig(?:ure|ura|uur)?|abb(?:ildung)?|bild|photo(?:graph)?|foto|plate|tafel|image|imagen|immagine|chart|diagram"
    r"|diagramm|grafik|graph|gráfico|illustration|ilustración|scheme|schema|map|karte|exhibit|afb(?:eelding)?"
    r"|obr(?:ázek)?|rys(?:unek)?|рис(?:унок)?|kuva)"
    r"\.?\s*(?:\d+|[IVX]+)(?:[.\-–]\d+)*[a-z]?(?P<rest>.*)",
    re.IGNORECASE,
)
_MARK = re.compile(r"\s?[:|–—]|\.(?:\s|$)")  # separator between label and caption text


@dataclass(frozen=True, slots=True)
class Caption:
    block: int
    page: int
    box: Box
    text: str


def find_captions(blocks: Sequence[PdfBlock]) -> Iterator[Caption]:
    for number, block in enumerate(blocks):
        if block.kind in {"table", "code", "image"}:
            continue
        at = next((i for i, line in enumerate(block.lines) if _starts_caption(line, first=i == 0)), None)
        if at is not None:
            lines = [line for line in block.lines[at:] if line.page == block.lines[at].page]
            texts = [line.text for line in lines]
            left, bottom = min(line.left for line in lines), min(line.main.bottom for line in lines)
            right, top = max(line.right for line in lines), max(line.main.top for line in lines)
            words = " ".join(Vocabulary(texts).join_lines(texts).split()[:_MAX_WORDS])
            yield Caption(number, lines[0].page, (left, bottom, right, top), words)


def _starts_caption(line: Line, *, first: bool) -> bool:
    """Check if a line starts a caption, unlike `see Figure 3. It shows` within a paragraph."""
    if not (found := _LABEL.match(line.text)):
        return False
    rest = found["rest"]
    if not first:
        return rest.lstrip().startswith((":", "|"))
    return not rest.strip() or bool(_MARK.match(rest)) or rest.lstrip()[:1].isupper()


def find_caption(page: int, box: Box, found: Iterable[Caption]) -> Caption | None:
    """Find the nearest caption of an image. Subfigures such as (a) and (b) share one."""
    here = ((_compute_distance(box, each.box), each) for each in found if each.page == page)
    near = [(gap, each) for gap, each in here if gap is not None]
    return min(near, key=lambda pair: pair[0])[1] if near else None


def _compute_distance(box: Box, caption: Box) -> float | None:
    """Return the weighted distance of a caption, or None if the caption is too far."""
    left, bottom, right, top = box
    if caption[0] < right and caption[2] > left:
        below, above = bottom - caption[3], caption[1] - top
        gap, weight = (below, 1.0) if below >= above else (above, _ABOVE)
    elif caption[1] < top and caption[3] > bottom:
        gap, weight = max(caption[0] - right, left - caption[2]), _BESIDE
    else:
        return None
    return weight * max(gap, 0.0) if -_OVERLAP <= gap <= _MAX_DISTANCE else None


# Images in page content and forms, with their positions (y grows upwards)

MAX_FOUND = 1000  # images per page


@dataclass(frozen=True, slots=True)
class FoundPicture:
    page: int  # 0-based
    part: int  # index of the image on its page
    box: Box
    pixels: tuple[int, int]
    key: bytes  # hash of the image data

    @property
    def sides(self) -> list[float]:
        """Shorter and longer side in points."""
        return sorted((self.box[2] - self.box[0], self.box[3] - self.box[1]))


def find(page: pdfium.PdfPage, number: int, images: Sequence[DrawnObject]) -> list[FoundPicture]:
    """Find the images of a page that are at least partly visible."""
    crop_box = cast("Box", page.get_cropbox())
    found: list[FoundPicture] = []
    for part, item in enumerate(islice(images, MAX_FOUND)):
        left, bottom = max(item.box[0], crop_box[0]), max(item.box[1], crop_box[1])
        right, top = min(item.box[2], crop_box[2]), min(item.box[3], crop_box[3])
        if left < right and bottom < top and all(pixels := item.pixels):
            key = hashlib.sha256(item.get_image(page).get_data()).digest()
            found.append(FoundPicture(number, part, (left, bottom, right, top), pixels, key))
    return found


# Selection of images, without decoration and scans

MIN_SIDE = 36.0  # points (0.5 inch): a smaller image is an icon
MIN_SHORT_SIDE = 12.0
MAX_ASPECT = 16.0  # a longer image is a line
MIN_PAGES = 3  # an image on as many pages is a logo or an ornament
_WHOLE, _WHOLE_WITHOUT_TEXT = 0.8, 0.5
"""Shares of the page size above which an image is a scan or a background. OCR reads pages without text."""

TINY, REPEATED = "small images and lines", "images repeated on many pages"
WHOLE = "images behind whole pages"


@dataclass(frozen=True, slots=True)
class PageShape:
    width: float
    height: float
    has_text: bool


def choose(
    found: Iterable[FoundPicture], shapes: Mapping[int, PageShape]
) -> tuple[list[FoundPicture], Counter[str]]:
    """Return the selected images by page, and the number of skipped images by reason."""
    pictures = list(found)
    pages: dict[bytes, set[int]] = defaultdict(set)
    for each in pictures:
        pages[each.key].add(each.page)
    chosen, left_out = list[FoundPicture](), Counter[str]()
    for each in pictures:
        page = shapes[each.page]
        short, long = each.sides
        share = short * long / max(1.0, page.width * page.height)
        if long < MIN_SIDE or short < MIN_SHORT_SIDE or long > MAX_ASPECT * short:
            left_out[TINY] += 1
        elif share > (_WHOLE if page.has_text else _WHOLE_WITHOUT_TEXT):
            left_out[WHOLE] += page.has_text  # the OCR notes report scanned pages
        elif len(pages[each.key]) >= MIN_PAGES:
            left_out[REPEATED] += 1
        else:
            chosen.append(each)
    return chosen, left_out


# Image files: renderings, because a file may turn, mask, invert, or recolor its images

MAX_DRAWN = 25_000_000  # pixels, at 10 bytes each for PDFium and later steps
_MAX_SIDE = 30_000
_QUALITY, _LEVEL = 90, 3
_WHITE = (255, 255, 255)
_LOSSY = frozenset({"DCTDecode", "JPXDecode"})
_TURNS = (PdfMatrix(), PdfMatrix(0, -1, 1, 0), PdfMatrix(-1, 0, 0, -1), PdfMatrix(0, 1, -1, 0))
"""Clockwise rotations by quarter turns."""


def encode_drawn_image(part: DrawnObject, page: pdfium.PdfPage, turn: int) -> bytes:
    """Encode an image as JPEG or PNG (empty: one color only), rotated for lines with `turn`."""
    part = DrawnObject(part.handle, part.matrix.multiply(_TURNS[turn]))
    drawn = _draw(part, page)
    if all(low == high for low, high in cast("Any", drawn).getextrema()):
        return b""
    filters: list[str] = cast("Any", part.get_image(page)).get_filters()
    made = io.BytesIO()
    red, green, blue = drawn.split()
    plain = red if red.tobytes() == green.tobytes() == blue.tobytes() else drawn
    if _LOSSY.isdisjoint(filters):
        plain.save(made, "PNG", compress_level=_LEVEL)
    else:
        plain.save(made, "JPEG", quality=_QUALITY)
    return made.getvalue()


def _draw(part: DrawnObject, page: pdfium.PdfPage) -> Image.Image:
    """Render an image with its mask at its stored size, or with at most `MAX_DRAWN` pixels."""
    left, bottom, right, top = part.box
    width, height = max(1e-3, right - left), max(1e-3, top - bottom)
    across, down = math.hypot(part.matrix.a, part.matrix.b), math.hypot(part.matrix.c, part.matrix.d)
    scale = min(
        max(part.pixels[0] / max(across, 1e-3), part.pixels[1] / max(down, 1e-3)),
        math.sqrt(MAX_DRAWN / (width * height)),
        _MAX_SIDE / max(width, height),
    )
    raw.FPDFPageObj_SetMatrix(part.handle, part.matrix.scale(scale, scale).to_raw())
    found = raw.FPDFImageObj_GetRenderedBitmap(page.pdf.raw, page.raw, part.handle)
    if not found:
        raise pdfium.PdfiumError("an image cannot be rendered")
    drawn = pdfium.PdfBitmap.from_raw(found).to_pil().copy()  # the bitmap is freed with its last reference
    ground = Image.new("RGB", (max(1, round(scale * width)), max(1, round(scale * height))), _WHITE)
    ground.paste(drawn, (0, 0), drawn.getchannel("A") if drawn.mode == "RGBA" else None)
    return ground


# Positions of images between blocks


@dataclass(frozen=True, slots=True)
class PlacedPicture:
    page: int  # 0-based
    box: Box  # in the orientation of the text (y grows upwards)
    image: ReadImage
    name: str


def insert_images(blocks: Sequence[PdfBlock], pictures: Sequence[PlacedPicture]) -> list[PdfBlock]:
    """Insert the images of a document between its blocks."""
    if not pictures:
        return list(blocks)
    ordered = sorted(pictures, key=lambda each: (each.page, -each.box[3], each.box[0]))
    all_captions = list(find_captions(blocks))
    pages = _Pages(blocks)
    slots: dict[int, list[PdfBlock]] = defaultdict(list)
    for each in ordered:
        caption = find_caption(each.page, each.box, all_captions)
        line = Line([], each.page, Column(each.box[0], each.box[2]))  # has no text, but defines the page
        words = caption.text if caption else ""
        block = PdfBlock("image", [line], image=each.image, label=words, name=each.name)
        slots[pages.find_slot(each, caption)].append(block)
    parts = [[*slots[i], block] for i, block in enumerate(blocks)]
    return [*chain.from_iterable(parts), *slots[len(blocks)]]


def locate_images(text: str, blocks: Sequence[PdfBlock], begins: Sequence[int]) -> tuple[FoundImage, ...]:
    found: list[FoundImage] = []
    for block, begin in zip(blocks, begins, strict=True):
        if block.image:
            end = text.find("\n", begin)
            found.append(FoundImage(begin, end if end >= 0 else len(text), block.image))
    return tuple(found)


class _Pages:
    """Lines of each page in reading order, with their blocks."""

    def __init__(self, blocks: Sequence[PdfBlock]) -> None:
        self._blocks = blocks
        self._lines: dict[int, list[tuple[int, Line]]] = defaultdict(list)
        for number, block in enumerate(blocks):
            for line in block.lines:
                if line.column.lines:  # text across the page has a column without lines
                    self._lines[line.page].append((number, line))

    def find_slot(self, picture: PlacedPicture, caption: Caption | None) -> int:
        """Return the block before which the image belongs."""
        page, middle = picture.page, (picture.box[1] + picture.box[3]) / 2
        if caption:
            above = (caption.box[1] + caption.box[3]) / 2 > middle
            return (
                self._find_slot_after(caption.block, page)
                if above
                else self._find_slot_before(caption.block, page)
            )
        lines = self._lines.get(page)
        if not lines:
            following = (i for i, block in enumerate(self._blocks) if block.lines[0].page > page)
            return next(following, len(self._blocks))
        left, right = picture.box[0], picture.box[2]
        beside = [each for each in lines if each[1].left < right and each[1].right > left] or lines
        above = [number for number, line in beside if line.baseline > middle]
        return self._find_slot_after(above[-1], page) if above else self._find_slot_before(beside[0][0], page)

    def _find_slot_after(self, number: int, page: int) -> int:
        """Return the slot after a block, or before a paragraph that continues on the next page."""
        block = self._blocks[number]
        return number if block.lines[0].page == page < block.last.page else number + 1

    def _find_slot_before(self, number: int, page: int) -> int:
        """Return the slot before a block, or after a paragraph that starts on the previous page."""
        return number + 1 if self._blocks[number].lines[0].page < page else number


# Images of one PDF: detection by page, then reading of the selected images within limits

_BROKEN = "images that are damaged or of one color"


class PdfImages:
    def __init__(self, settings: ConversionSettings) -> None:
        self._wanted = settings.images_within
        self._max_megapixels = settings.image_max_megapixels
        self._within = ImagesWithin(settings)
        self._found: list[FoundPicture] = []
        self._shapes: dict[int, PageShape] = {}
        self._turns: dict[int, int] = {}
        self._left_out: Counter[str] = Counter()

    def collect(
        self, page: pdfium.PdfPage, number: int, images: Sequence[DrawnObject], turn: int | None
    ) -> None:
        if not self._wanted:
            return
        try:
            found = find(page, number, images)
        except pdfium.PdfiumError:
            return
        if found:
            width, height = page.get_size()
            self._shapes[number] = PageShape(width, height, turn is not None)
            self._turns[number] = page.get_rotation() // 90 % 4 if turn is None else turn
            self._found += found

    def read(self, document: pdfium.PdfDocument) -> Iterator[PlacedPicture]:
        """Read the selected images in page order."""
        chosen, left_out = choose(self._found, self._shapes)
        self._left_out += left_out
        for number, some in groupby(chosen, key=lambda each: each.page):
            page = document[number]
            try:
                items = list_objects(page).images
                for count, each in enumerate(some, 1):
                    if not self._within.has_room():
                        continue
                    content = self._encode_file(page, items[each.part], each)
                    if image := self._within.read(content):
                        ending = "jpg" if image.content_type == "image/jpeg" else "png"
                        name = f"page-{number + 1}-image-{count}.{ending}"
                        yield PlacedPicture(number, turn_box(each.box, self._turns[number]), image, name)
            finally:
                page.close()

    def notes(self) -> tuple[str, ...]:
        notes = (f"skipped: {what} ({count:,})" for what, count in self._left_out.items() if count)
        return (*notes, *self._within.notes())

    def _encode_file(self, page: pdfium.PdfPage, item: DrawnObject, picture: FoundPicture) -> bytes | None:
        if picture.pixels[0] * picture.pixels[1] > self._max_megapixels * 1e6:
            self._left_out[f"images of more than {self._max_megapixels:g} megapixels"] += 1
            return None
        try:
            made = encode_drawn_image(item, page, self._turns[picture.page])
        except (pdfium.PdfiumError, ValueError):
            made = b""
        self._left_out[_BROKEN] += not made
        return made or None

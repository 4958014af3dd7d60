"""The pictures of one PDF: looked for page by page, then those that are taken are read, within bounds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import pypdfium2 as pdfium

from kg_api.api_settings import ConversionSettings
from kg_api.convert.image.within import ImagesWithin
from kg_api.convert.pdf.images.choice import PageShape, choose
from kg_api.convert.pdf.images.drawing import file_of
from kg_api.convert.pdf.images.found import FoundPicture, find
from kg_api.convert.pdf.images.places import PlacedPicture
from kg_api.convert.pdf.objects import DrawnObject, list_objects, turn_box

_BROKEN = "pictures that are broken or of one colour"


class PdfImages:
    """Finds and reads the pictures of one document."""

    def __init__(self, settings: ConversionSettings) -> None:
        self._wanted = settings.images_within
        self._max_megapixels = settings.image_max_megapixels
        self._within = ImagesWithin(settings)
        self._found: list[FoundPicture] = []
        self._shapes: dict[int, PageShape] = {}
        self._turns: dict[int, int] = {}
        self._left_out: Counter[str] = Counter()

    def look(
        self, page: pdfium.PdfPage, number: int, images: Sequence[DrawnObject], turn: int | None
    ) -> None:
        """Look what is on a page.

        Args:
            page: it.
            number: from 0.
            images: on it.
            turn: quarters against the clock in which most of its lines are written; None: it has none.
        """
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

    def read(self, document: pdfium.PdfDocument) -> list[PlacedPicture]:
        """Read those that are worth it, in the order of their pages."""
        chosen, left_out = choose(self._found, self._shapes)
        self._left_out += left_out
        pages: dict[int, list[FoundPicture]] = defaultdict(list)
        for each in chosen:
            pages[each.page].append(each)
        return [each for number, some in pages.items() for each in self._read(document, number, some)]

    def notes(self) -> tuple[str, ...]:
        """What a person should know."""
        told = (f"left out: {what} ({count:,})" for what, count in self._left_out.items() if count)
        return (*told, *self._within.notes())

    def _read(
        self, document: pdfium.PdfDocument, number: int, chosen: Sequence[FoundPicture]
    ) -> Iterator[PlacedPicture]:
        page = document[number]
        try:
            items = list_objects(page).images
            for count, each in enumerate(chosen, 1):
                if not self._within.has_room():
                    continue
                content = self._file(page, [items[part] for part in each.parts], each)
                if image := self._within.read(content):
                    ending = "jpg" if image.content_type == "image/jpeg" else "png"
                    name = f"page-{number + 1}-image-{count}.{ending}"
                    yield PlacedPicture(number, turn_box(each.box, self._turns[number]), image, name)
        finally:
            page.close()

    def _file(
        self, page: pdfium.PdfPage, items: Sequence[DrawnObject], picture: FoundPicture
    ) -> bytes | None:
        if picture.pixels[0] * picture.pixels[1] > self._max_megapixels * 1e6:
            self._left_out[f"pictures of more than {self._max_megapixels:g} megapixels"] += 1
            return None
        try:
            made = file_of(items, page, self._turns[picture.page], self._max_megapixels)
        except (pdfium.PdfiumError, ValueError):
            made = b""
        self._left_out[_BROKEN] += not made
        return made or None

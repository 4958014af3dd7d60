"""OCR of pages without text: rendering, recognition, and positions in PDF coordinates."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from statistics import median
from typing import Any, cast

import numpy as np
import pypdfium2 as pdfium
from pypdfium2 import raw

from kg_api.convert.pdf import convert as convert_pdf
from kg_api.convert.pdf.characters import PageText, list_pages_without_text
from kg_api.convert.pdf.layout import FoundRun, PageWord, TextRun
from kg_api.convert.pdf.letters import Box, turn_box
from kg_api.convert.shared.ocr import (
    OcrEngine,
    OcrFailed,
    Picture,
    PixelLine,
    PixelWord,
    compute_mean_confidence,
)
from kg_api.schemas.documents import Converted
from kg_api.settings import ConversionSettings
from kg_api.wording import are, name_pages, pluralize, was

# Rendering of a page with limited size

_DPI, _POINTS = 200, 72
MAX_PIXELS = 120_000_000
"""Limit for an image within a page (A3 at 600 dpi, with a margin). Decoding allocates all memory at once."""
_MAX_OBJECTS = 20_000
_MAX_NESTED = 8


def draw(page: pdfium.PdfPage, most_pixels: float) -> Picture:
    """Render a page in grayscale at 200 dpi, or less to stay within `most_pixels`."""
    objects = cast("Iterable[Any]", page.get_objects(max_depth=_MAX_NESTED))
    for count, item in enumerate(objects):
        if count > _MAX_OBJECTS:
            raise OcrFailed(f"the page has more than {_MAX_OBJECTS} objects")
        if item.type == raw.FPDF_PAGEOBJ_IMAGE:
            width, height = item.get_px_size()
            if width * height > MAX_PIXELS:
                raise OcrFailed(f"an image on the page has {width * height / 1e6:.0f} megapixels")
    width, height = page.get_size()
    scale = min(_DPI / _POINTS, math.sqrt(most_pixels / max(1.0, width * height)))
    bitmap = cast("Any", page).render(scale=scale, grayscale=True, may_draw_forms=False)
    try:
        return np.array(bitmap.to_numpy(), dtype=np.uint8).reshape(bitmap.height, bitmap.width)
    finally:
        bitmap.close()


# OCR lines as text pieces in PDF coordinates (points, y grows upwards)

_GAP = 1.2  # in font sizes: a larger gap separates columns or cells
_AROUND = 0.3  # in font sizes: maximum position error of an OCR word
_ALIKE = 0.2  # share: smaller differences of font sizes are measurement errors


@dataclass(frozen=True, slots=True)
class PictureScale:
    size: tuple[float, float]  # width and height of the page, in points
    pixels: tuple[int, int]  # width and height of the image

    @property
    def points(self) -> float:
        return self.size[0] / self.pixels[0]

    def read_page(self, lines: Sequence[PixelLine]) -> PageText:
        usual = median(line.size for line in lines for _ in line.words)
        pieces = [
            self._read_piece(part, line, usual) for line in lines for part in _split_at_gaps(line, usual)
        ]
        return PageText(self.size[1], pieces)

    def pick(
        self,
        lines: Sequence[PixelLine],
        *,
        within: Sequence[TextRun] | None = None,
        without: Sequence[TextRun] = (),
    ) -> list[PixelLine]:
        """Pick the lines with only the words that overlap `within` and do not overlap `without`."""
        picked: list[PixelLine] = []
        for line in lines:
            words = tuple(
                word
                for word in line.words
                if not self._is_on(word, without) and (within is None or self._is_on(word, within))
            )
            if words:
                picked.append(replace(line, words=words))
        return picked

    def _is_on(self, word: PixelWord, runs: Sequence[TextRun]) -> bool:
        across = (word.left + word.right) / 2 * self.points
        up = self.size[1] - (word.top + word.bottom) / 2 * self.points
        return any(
            run.left - _AROUND * run.size < across < run.right + _AROUND * run.size
            and run.bottom - _AROUND * run.size < up < run.top + _AROUND * run.size
            for run in runs
        )

    def _read_piece(self, words: Sequence[PixelWord], line: PixelLine, usual: float) -> TextRun:
        size = usual if abs(line.size - usual) <= _ALIKE * usual else line.size
        return TextRun(
            " ".join(word.text for word in words),
            min(word.left for word in words) * self.points,
            max(word.right for word in words) * self.points,
            self.size[1] - line.baseline * self.points,
            size * self.points,
            words=tuple(map(self._place_word, words)),
        )

    def _place_word(self, word: PixelWord) -> PageWord:
        width, height = self.pixels
        box = (word.left / width, word.top / height, word.right / width, word.bottom / height)
        return PageWord(word.text, box, word.confidence)


def move_run(run: TextRun, right: float, up: float) -> TextRun:
    return replace(run, left=run.left + right, right=run.right + right, baseline=run.baseline + up)


def _split_at_gaps(line: PixelLine, usual: float) -> Iterator[list[PixelWord]]:
    part: list[PixelWord] = []
    for word in line.words:
        if part and word.left - part[-1].right > _GAP * max(line.size, usual):
            yield part
            part = []
        part.append(word)
    yield part


# Selection of pages for OCR, its limits, and notes

MIN_CONFIDENCE = 0.5  # lines below this value are usually not text, as in a photograph


@dataclass
class PictureReader:
    """OCR reader for pages without text or with unreadable letters."""

    read_lines: Callable[[Picture], list[PixelLine]]  # method of an OCR engine
    limits: ConversionSettings
    every: bool = False  # read all pages, including pages with text
    confidences: dict[int, float] = field(default_factory=dict[int, float])
    """Confidence by 1-based page number."""
    reasons: dict[int, str] = field(default_factory=dict[int, str])  # reasons for unread pages
    doubtful: int = 0  # skipped lines

    def read(self, document: pdfium.PdfDocument, pages: list[PageText]) -> None:
        """Replace pages without text, and unreadable lines, by the text from OCR."""
        ends = time.monotonic() + self.limits.ocr_max_seconds
        pictures = set(list_pages_without_text(pages))
        chosen = [
            number
            for number, page in enumerate(pages, 1)
            if (not page.is_blank if self.every else number in pictures or page.needs_ocr)
        ]
        for tried, number in enumerate(chosen):
            if tried >= self.limits.ocr_max_pages:
                reason = f"OCR reads {self.limits.ocr_max_pages} pages of a file"
                self.reasons[number] = reason
            elif time.monotonic() >= ends:
                self.reasons[number] = f"{self.limits.ocr_max_seconds:g} s were over"
            else:
                try:
                    self._read(document, number, pages)
                except OcrFailed as error:
                    self.reasons[number] = str(error)
                except pdfium.PdfiumError:
                    self.reasons[number] = "the page is damaged and cannot be rendered"

    def notes(self) -> tuple[str, ...]:
        return tuple(self._notes())

    def _read(self, document: pdfium.PdfDocument, number: int, pages: list[PageText]) -> None:
        before = pages[number - 1]
        is_part = bool(before.pieces and before.unreadable) and not self.every
        if is_part and before.turn != before.rotation:
            raise OcrFailed("the lines do not run from left to right")
        page = document[number - 1]
        try:
            size = page.get_size()
            left, bottom, *_ = turn_box(cast("Box", page.get_cropbox()), before.rotation)
            picture = draw(page, self.limits.ocr_max_megapixels * 1e6)
        finally:
            page.close()
        scale = PictureScale(size, (picture.shape[1], picture.shape[0]))
        moved_runs = [
            move_run(each.run, -left, -bottom) for each in before.shown if each.turn == before.rotation
        ]
        every = self.read_lines(picture)
        sure = [line for line in every if line.confidence >= MIN_CONFIDENCE]
        self.doubtful += len(every) - len(sure)
        lines = scale.pick(sure, without=moved_runs)
        if is_part:
            lines = scale.pick(lines, within=[move_run(run, -left, -bottom) for run in before.unreadable])
        words = [(word.text, word.confidence) for line in lines for word in line.words]
        if not words:
            raise OcrFailed("OCR found no text")
        found = scale.read_page(lines)
        if is_part:
            for each in found.pieces:  # with size and baseline of the replaced text
                run = move_run(each, left, bottom)
                near = min(before.unreadable, key=lambda one: abs(one.baseline - run.baseline))
                before.pieces.append(replace(run, size=near.size, baseline=near.baseline, bold=near.bold))
            before.unreadable = []
        else:
            found.shown = [FoundRun(0, run) for run in moved_runs]
            found.across = [each.run for each in before.shown if each.turn != before.rotation]
            found.plain = "\n".join(each.run.text for each in before.shown)
            pages[number - 1] = found
        self.confidences[number] = compute_mean_confidence(words)

    def _notes(self) -> Iterator[str]:
        if self.confidences:
            read = f"{name_pages(sorted(self.confidences))} {was(len(self.confidences))} read by OCR"
            sure = sum(self.confidences.values()) / len(self.confidences)
            yield f"{read} (rapidocr, confidence {sure:.2f}): words may be wrong"
        if self.doubtful:
            lines = f"{pluralize(self.doubtful, 'line')} {are(self.doubtful)} left out"
            yield f"{lines}: OCR has a confidence below {MIN_CONFIDENCE:g} in them"
        by_reason = sorted((reason, number) for number, reason in self.reasons.items())
        for reason, pairs in groupby(by_reason, key=lambda pair: pair[0]):
            yield f"{name_pages([number for _, number in pairs])} could not be read by OCR: {reason}"


# Conversion with OCR, in a converter process


def convert(data: bytes, settings: ConversionSettings, *, every: bool = False) -> Converted:
    return convert_pdf(data, settings, PictureReader(OcrEngine(settings).read, settings, every))

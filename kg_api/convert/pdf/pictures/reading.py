"""Which pages are read by OCR, within its bounds, and what is told of that."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import pypdfium2 as pdfium

from kg_api.api_settings import ConversionSettings
from kg_api.convert.ocr.records import OcrEngine, OcrFailed, PixelLine, mean_confidence
from kg_api.convert.pdf.characters import PageText, without_text
from kg_api.convert.pdf.pictures.drawing import draw
from kg_api.convert.pdf.pictures.lines import page_text
from kg_api.wording.pages import name_pages
from kg_api.wording.plural import are, pluralize, was

MIN_CONFIDENCE = 0.5
"""Lines below it are guesses at what is no text, such as a photograph."""


@dataclass
class PictureReader:
    """Reads pages that are pictures, of one document."""

    engine: OcrEngine
    limits: ConversionSettings
    confidences: dict[int, float] = field(default_factory=dict[int, float])
    """Of the pages that were read, by their numbers from 1."""
    reasons: dict[int, str] = field(default_factory=dict[int, str])
    """Why others were not."""
    doubtful: int = 0
    """Lines that were left out."""

    def read(self, document: pdfium.PdfDocument, pages: list[PageText]) -> None:
        """Put what is read into those of the pages that have no text."""
        ends = time.monotonic() + self.limits.ocr_max_seconds
        for tried, number in enumerate(without_text(pages)):
            left = ends - time.monotonic()
            if tried >= self.limits.ocr_max_pages:
                reason = f"it reads {self.limits.ocr_max_pages} of a file (KG_CONVERSION__OCR_MAX_PAGES)"
                self.reasons[number] = reason
            elif left <= 0:
                seconds = f"{self.limits.ocr_max_seconds:g} s were over"
                self.reasons[number] = f"{seconds} (KG_CONVERSION__OCR_MAX_SECONDS)"
            else:
                self._try(document, number, pages, left)

    def notes(self) -> tuple[str, ...]:
        """What a person should know."""
        return tuple(self._notes())

    def _try(self, document: pdfium.PdfDocument, number: int, pages: list[PageText], seconds: float) -> None:
        try:
            self._read(document, number, pages, seconds)
        except OcrFailed as error:
            self.reasons[number] = str(error)
        except pdfium.PdfiumError:
            self.reasons[number] = "it cannot be drawn, it is broken"

    def _read(self, document: pdfium.PdfDocument, number: int, pages: list[PageText], seconds: float) -> None:
        page = document[number - 1]
        try:
            size = page.get_size()
            picture = draw(page, self.limits.ocr_max_megapixels * 1e6)
        finally:
            page.close()
        lines = self._sure(self.engine.read(picture, seconds))
        words = [(word.text, word.confidence) for line in lines for word in line.words]
        if not words:
            raise OcrFailed("no text was found on it")
        pages[number - 1] = page_text(lines, size, (picture.shape[1], picture.shape[0]))
        self.confidences[number] = mean_confidence(words)

    def _sure(self, lines: Sequence[PixelLine]) -> list[PixelLine]:
        sure = [line for line in lines if line.confidence >= MIN_CONFIDENCE]
        self.doubtful += len(lines) - len(sure)
        return sure

    def _notes(self) -> Iterator[str]:
        if self.confidences:
            read = f"{name_pages(sorted(self.confidences))} {was(len(self.confidences))} read by OCR"
            sure = sum(self.confidences.values()) / len(self.confidences)
            yield f"{read} ({self.engine.name}, confidence {sure:.2f}): words may be wrong"
        if self.doubtful:
            lines = f"{pluralize(self.doubtful, 'line')} {are(self.doubtful)} left out"
            yield f"{lines}: OCR has a confidence below {MIN_CONFIDENCE:g} in them"
        by_reason = sorted((reason, number) for number, reason in self.reasons.items())
        for reason, pairs in groupby(by_reason, key=lambda pair: pair[0]):
            yield f"{name_pages([number for _, number in pairs])} could not be read by OCR: {reason}"

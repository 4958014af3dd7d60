"""Which pages are read by OCR, within its bounds, and what is told of that."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import cast

import pypdfium2 as pdfium

from kg_api.api_settings import ConversionSettings
from kg_api.convert.ocr.records import OcrEngine, OcrFailed, PixelLine, mean_confidence
from kg_api.convert.pdf.characters import PageText, without_text
from kg_api.convert.pdf.layout import FoundRun, TextRun
from kg_api.convert.pdf.objects import Box, turn_box
from kg_api.convert.pdf.pictures.drawing import draw
from kg_api.convert.pdf.pictures.lines import PictureScale, move_run
from kg_api.wording.pages import name_pages
from kg_api.wording.plural import are, pluralize, was

MIN_CONFIDENCE = 0.5
"""Lines below it are guesses at what is no text, such as a photograph."""


@dataclass
class PictureReader:
    """Reads pages that are pictures, or whose letters no program can tell, of one document."""

    engine: OcrEngine
    limits: ConversionSettings
    every: bool = False
    """Reads all pages, also those with text."""
    confidences: dict[int, float] = field(default_factory=dict[int, float])
    """Of the pages that were read, by their numbers from 1."""
    reasons: dict[int, str] = field(default_factory=dict[int, str])
    """Why others were not."""
    doubtful: int = 0
    """Lines that were left out."""

    def read(self, document: pdfium.PdfDocument, pages: list[PageText]) -> None:
        """Put what is read into those of the pages that have no text, or in the place of unreadable lines."""
        ends = time.monotonic() + self.limits.ocr_max_seconds
        for tried, number in enumerate(self._choose(pages)):
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

    def _choose(self, pages: Sequence[PageText]) -> list[int]:
        if self.every:
            return [number for number, page in enumerate(pages, 1) if not page.is_blank]
        pictures = set(without_text(pages))
        return [number for number, page in enumerate(pages, 1) if number in pictures or page.needs_ocr]

    def _try(self, document: pdfium.PdfDocument, number: int, pages: list[PageText], seconds: float) -> None:
        try:
            self._read(document, number, pages, seconds)
        except OcrFailed as error:
            self.reasons[number] = str(error)
        except pdfium.PdfiumError:
            self.reasons[number] = "it cannot be drawn, it is broken"

    def _read(self, document: pdfium.PdfDocument, number: int, pages: list[PageText], seconds: float) -> None:
        before = pages[number - 1]
        is_part = bool(before.pieces and before.unreadable) and not self.every
        if is_part and before.turn != before.rotation:
            raise OcrFailed("its lines are not written from left to right")
        page = document[number - 1]
        try:
            size = page.get_size()
            left, bottom, *_ = turn_box(cast("Box", page.get_cropbox()), before.rotation)
            picture = draw(page, self.limits.ocr_max_megapixels * 1e6)
        finally:
            page.close()
        scale = PictureScale(size, (picture.shape[1], picture.shape[0]))
        shown = [move_run(each.run, -left, -bottom) for each in before.shown if each.turn == before.rotation]
        lines = scale.pick(self._sure(self.engine.read(picture, seconds)), without=shown)
        if is_part:
            lines = scale.pick(lines, within=[move_run(run, -left, -bottom) for run in before.unreadable])
        words = [(word.text, word.confidence) for line in lines for word in line.words]
        if not words:
            raise OcrFailed("no text was found on it")
        found = scale.read_page(lines)
        if is_part:
            before.pieces += [_fit(move_run(run, left, bottom), before.unreadable) for run in found.pieces]
            before.unreadable = []
        else:
            found.shown = [FoundRun(0, run) for run in shown]
            found.across = [each.run for each in before.shown if each.turn != before.rotation]
            found.plain = "\n".join(each.run.text for each in before.shown)
            pages[number - 1] = found
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


def _fit(run: TextRun, unreadable: Sequence[TextRun]) -> TextRun:
    """Return what OCR read with the size and baseline of the text that it stands for."""
    near = min(unreadable, key=lambda each: abs(each.baseline - run.baseline))
    return replace(run, size=near.size, baseline=near.baseline, bold=near.bold)

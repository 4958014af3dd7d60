"""OCR and its results. Positions are pixels from the upper left corner."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg_api.schemas.base import compute_digest
from kg_api.settings import ConversionSettings
from kg_api.wording import build_install_command

Picture = NDArray[np.uint8]  # grayscale, shape (height, width)


class OcrFailed(Exception):
    """Error when OCR cannot read an image, with a reason for the user."""


@dataclass(frozen=True, slots=True)
class PixelWord:
    text: str
    left: float
    top: float
    right: float
    bottom: float
    confidence: float  # 0 to 1, from the engine


@dataclass(frozen=True, slots=True)
class PixelLine:
    words: tuple[PixelWord, ...]
    baseline: float
    size: float  # font size of its letters

    @property
    def confidence(self) -> float:
        return compute_mean_confidence([(word.text, word.confidence) for word in self.words])


def compute_mean_confidence(words: Sequence[tuple[str, float]]) -> float:
    """Compute the mean confidence of words, weighted by letters."""
    letters = sum(len(text) for text, _ in words)
    return sum(len(text) * confidence for text, confidence in words) / max(1, letters)


# Availability

OCR_IS_OFF = "OCR is off (KG_CONVERSION__OCR)"
INSTALL = f"install kg with the extra `ocr` ({build_install_command('ocr')} in its checkout)"
_DECIDE = {
    *("ocr_max_pages", "ocr_max_seconds", "ocr_max_megapixels"),
    *("max_memory_mb", "max_seconds", "images_within"),
}


def find_missing_reason(settings: ConversionSettings) -> str:
    """Find the reason why kg does not use OCR (empty: kg uses OCR)."""
    if settings.ocr == "off":
        return OCR_IS_OFF
    return "" if find_spec("rapidocr") else f"no OCR is installed: {INSTALL}"


def compute_fingerprint(settings: ConversionSettings) -> str:
    """Return a fingerprint of OCR and the settings. After a change, kg may read more of a file."""
    limits = settings.model_dump_json(include=_DECIDE)
    return compute_digest("ocr", find_missing_reason(settings) or "rapidocr", limits)


# rapidocr, with models inside its wheel and no download

_ROOM = 0.78  # font size as a share of the box height, because boxes include a margin
_BASE = 0.27  # distance from the middle of a line to its baseline, in font sizes
_DIMENSIONS = 2


class OcrEngine:
    def __init__(self, settings: ConversionSettings) -> None:
        """Load the models with this process's share of the cores."""
        from rapidocr import RapidOCR  # noqa: PLC0415 - an optional extra

        runtime, threads = "EngineConfig.onnxruntime", max(1, (os.cpu_count() or 1) // settings.processes)
        self._read: Any = RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.text_score": 0.0,  # report doubtful lines instead of dropping them
                "Global.use_cls": False,  # no detection of upside-down lines, because scans are upright
                "Rec.rec_batch_num": 1,  # lines of different lengths make batches slower
                f"{runtime}.intra_op_num_threads": threads,
                f"{runtime}.inter_op_num_threads": 1,
            }
        )

    def read(self, picture: Picture) -> list[PixelLine]:
        try:
            found = self._read(np.repeat(picture[:, :, None], 3, axis=_DIMENSIONS), return_word_box=True)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - errors of three C libraries
            raise OcrFailed(f"rapidocr failed on the page ({type(error).__name__})") from None
        return list(_build_lines(found.boxes, found.word_results))


def _build_lines(boxes: Any, words: Sequence[Any] | None) -> Iterator[PixelLine]:
    if boxes is None or not words:
        return
    for box, line in zip(boxes, words, strict=True):
        found = tuple(_build_word(each) for each in line if each[2] is not None and str(each[0]).strip())
        if found:
            corners = np.asarray(box, dtype=float)
            height = float((corners[2:, 1].sum() - corners[:2, 1].sum()) / 2)
            size = max(1.0, _ROOM * height)
            yield PixelLine(found, float(corners[:, 1].mean()) + _BASE * size, size)


def _build_word(found: Any) -> PixelWord:
    text, confidence, box = found
    corners = np.asarray(box, dtype=float)
    left, top = corners.min(axis=0)
    right, bottom = corners.max(axis=0)
    sure = min(max(float(confidence), 0.0), 1.0)
    return PixelWord(str(text).strip(), float(left), float(top), float(right), float(bottom), sure)

"""OCR by rapidocr, whose models come inside its wheel; nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kg_api.api_settings import ConversionSettings
from kg_api.convert.ocr.records import OcrFailed, Picture, PixelLine, PixelWord

_ROOM = 0.78
"""Of a box's height: the font's size, as boxes go a bit beyond their letters."""
_BASE = 0.27
"""Of the font's size: the baseline is so far below the middle of a line."""
_DIMENSIONS = 2


class _Rapid:
    name = "rapidocr"

    def __init__(self, threads: int) -> None:
        from rapidocr import RapidOCR  # noqa: PLC0415 - an optional extra

        runtime = "EngineConfig.onnxruntime"
        self._read: Any = RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.text_score": 0.0,  # what is doubtful is told, not dropped
                "Global.use_cls": False,  # lines upside down: scans are upright
                "Rec.rec_batch_num": 1,  # lines of other lengths in a batch cost more than they save
                f"{runtime}.intra_op_num_threads": threads,
                f"{runtime}.inter_op_num_threads": 1,
            }
        )

    def read(self, picture: Picture, seconds: float) -> list[PixelLine]:
        del seconds  # a model cannot be stopped; the process can
        try:
            found = self._read(np.repeat(picture[:, :, None], 3, axis=_DIMENSIONS), return_word_box=True)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - of three libraries in C
            raise OcrFailed(f"rapidocr failed on it ({type(error).__name__})") from None
        return list(_lines(found.boxes, found.word_results))


def open_engine(settings: ConversionSettings) -> _Rapid:
    """Load its models; each process gets its share of the cores."""
    return _Rapid(max(1, (os.cpu_count() or 1) // settings.processes))


def _lines(boxes: Any, words: Sequence[Any] | None) -> Iterator[PixelLine]:
    if boxes is None or not words:
        return
    for box, line in zip(boxes, words, strict=True):
        found = tuple(_word(each) for each in line if each[2] is not None and str(each[0]).strip())
        if found:
            corners = np.asarray(box, dtype=float)
            height = float((corners[2:, 1].sum() - corners[:2, 1].sum()) / 2)
            size = max(1.0, _ROOM * height)
            yield PixelLine(found, float(corners[:, 1].mean()) + _BASE * size, size)


def _word(found: Any) -> PixelWord:
    text, confidence, box = found
    corners = np.asarray(box, dtype=float)
    left, top = corners.min(axis=0)
    right, bottom = corners.max(axis=0)
    sure = min(max(float(confidence), 0.0), 1.0)
    return PixelWord(str(text).strip(), float(left), float(top), float(right), float(bottom), sure)

"""OCR engines and their results. Positions are pixels from the upper left corner."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, Protocol, cast

import numpy as np
from lxml import html
from numpy.typing import NDArray
from PIL import Image

from kg_api.schemas.base import digest
from kg_api.settings import ConversionSettings

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
    """Return the mean confidence of words, weighted by letters."""
    letters = sum(len(text) for text, _ in words)
    return sum(len(text) * confidence for text, confidence in words) / max(1, letters)


class OcrEngine(Protocol):
    @property
    def name(self) -> str:
        """Display name with the languages."""
        ...

    def read(self, picture: Picture, seconds: float) -> list[PixelLine]: ...


# Selection of the engine

EngineName = Literal["tesseract", "rapidocr"]
INSTALL = "install tesseract, or kg with the extra `ocr` (pip install '.[ocr]' in its checkout)"

_DECIDE = {"ocr_languages", "ocr_max_pages", "ocr_max_seconds", "ocr_max_megapixels", "max_memory_mb"}


def list_installed_engines() -> list[EngineName]:
    """Return the installed engines, fastest first."""
    found: list[EngineName] = ["tesseract"] if shutil.which("tesseract") else []
    return [*found, "rapidocr"] if find_spec("rapidocr") else found


def choose(settings: ConversionSettings) -> tuple[EngineName | None, str]:
    """Return the engine, or None with the reason."""
    if settings.ocr == "off":
        return None, "OCR is off (KG_CONVERSION__OCR)"
    there = list_installed_engines()
    if settings.ocr == "auto":
        return (there[0], "") if there else (None, f"no OCR is installed: {INSTALL}")
    if settings.ocr not in there:
        return None, f"{settings.ocr} is not installed (KG_CONVERSION__OCR={settings.ocr}): {INSTALL}"
    return settings.ocr, ""


def fingerprint(settings: ConversionSettings) -> str:
    """Return a fingerprint of the engine and its settings. After a change, OCR may read more text."""
    engine, reason = choose(settings)
    limits = settings.model_dump_json(include=_DECIDE)
    return digest("ocr", engine or reason, limits)


# Opening of the engine, which imports its libraries


def open_engine(name: EngineName, settings: ConversionSettings) -> OcrEngine:
    return (open_rapidocr if name == "rapidocr" else open_tesseract)(settings)


# rapidocr, with models inside its wheel and no download

_ROOM = 0.78  # font size as a share of the box height, because boxes include a margin
_BASE = 0.27  # distance from the middle of a line to its baseline, in font sizes
_DIMENSIONS = 2


class _Rapid:
    name = "rapidocr"

    def __init__(self, threads: int) -> None:
        from rapidocr import RapidOCR  # noqa: PLC0415 - an optional extra

        runtime = "EngineConfig.onnxruntime"
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

    def read(self, picture: Picture, seconds: float) -> list[PixelLine]:
        del seconds  # only the process can be stopped, not the model
        try:
            found = self._read(np.repeat(picture[:, :, None], 3, axis=_DIMENSIONS), return_word_box=True)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - errors of three C libraries
            raise OcrFailed(f"rapidocr failed on the page ({type(error).__name__})") from None
        return list(_lines(found.boxes, found.word_results))


def open_rapidocr(settings: ConversionSettings) -> _Rapid:
    """Load the models with this process's share of the cores."""
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


# tesseract, with an image in and hOCR out by pipes, without files

_LIST_SECONDS = 20
_MAX_LANGUAGES = 3
_DPI = 200
_BOX = re.compile(r"bbox (-?\d+) (-?\d+) (-?\d+) (-?\d+)")
_BASELINE = re.compile(r"baseline (-?[\d.]+) (-?[\d.]+)")
_SIZE = re.compile(r"x_size ([\d.]+)")
_CONFIDENCE = re.compile(r"x_wconf ([\d.]+)")
_SIZE_SHARE = 0.97
"""Height of letters from lowest to highest point (`x_size` of tesseract), as a share of the font size."""


@dataclass(frozen=True, slots=True)
class _Tesseract:
    program: str
    languages: str

    @property
    def name(self) -> str:
        return f"tesseract, {self.languages}"

    def read(self, picture: Picture, seconds: float) -> list[PixelLine]:
        content = io.BytesIO()
        Image.fromarray(picture).save(content, "BMP", dpi=(_DPI, _DPI))
        given = ["stdin", "stdout", "-l", self.languages, "--psm", "3", "--dpi", str(_DPI), "hocr"]
        told = _run([self.program, *given], content.getvalue(), seconds)
        return list(_lines_tesseract(told))


def open_tesseract(settings: ConversionSettings) -> _Tesseract:
    program = shutil.which("tesseract") or "tesseract"
    there = _run([program, "--list-langs"], b"", _LIST_SECONDS).decode(errors="replace").split("\n")[1:]
    known = [each.strip() for each in there if each.strip() not in {"", "osd", "equ"}]
    # English first. Script models such as `script/Latin` are only for explicit settings.
    plain = sorted((each for each in known if "/" not in each), key=lambda each: each != "eng")
    asked = settings.ocr_languages.split("+") if settings.ocr_languages else plain[:_MAX_LANGUAGES]
    if missing := [each for each in asked if each not in known]:
        told = ", ".join(known) or "none"
        raise OcrFailed(f"tesseract lacks the language {', '.join(missing) or 'data'}. Installed: {told}")
    if not asked:
        raise OcrFailed("tesseract has no language at all: install tesseract-ocr-eng, or others")
    return _Tesseract(program, "+".join(asked))


def _run(command: list[str], given: bytes, seconds: float) -> bytes:
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise OcrFailed(f"tesseract took more than {seconds:.0f} s") from None
    except OSError as error:
        raise OcrFailed(f"tesseract cannot be run ({error})") from None
    if done.returncode:
        raise OcrFailed(f"tesseract failed on the page (exit code {done.returncode})")
    return done.stdout


def _lines_tesseract(hocr: bytes) -> Iterator[PixelLine]:
    tree = cast("Any", html.document_fromstring(hocr, parser=html.HTMLParser(encoding="utf-8")))
    for line in tree.xpath("//span[contains(@title, 'x_size')]"):
        title = str(line.get("title"))
        if words := tuple(_words(line)):
            left, _, _, bottom = _box(title)
            middle = (words[0].left + words[-1].right) / 2 - left
            slope, below = _numbers(_BASELINE, title) or (0.0, 0.0)
            (size,) = _numbers(_SIZE, title) or (max(word.bottom - word.top for word in words),)
            yield PixelLine(words, bottom + below + slope * middle, size / _SIZE_SHARE)


def _words(line: Any) -> Iterator[PixelWord]:
    for word in line.xpath(".//span[@class='ocrx_word']"):
        text = "".join(word.itertext()).strip()
        title = str(word.get("title"))
        if text:
            (sure,) = _numbers(_CONFIDENCE, title) or (0.0,)
            yield PixelWord(text, *_box(title), min(sure / 100, 1.0))


def _box(title: str) -> tuple[float, float, float, float]:
    left, top, right, bottom = _numbers(_BOX, title) or (0.0, 0.0, 0.0, 0.0)
    return left, top, right, bottom


def _numbers(pattern: re.Pattern[str], title: str) -> list[float]:
    found = pattern.search(title)
    return [float(each) for each in found.groups()] if found else []

"""OCR by the program tesseract: a picture goes in by a pipe, hOCR comes out by one; no file is written."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from lxml import html
from PIL import Image

from kg_api.api_settings import ConversionSettings
from kg_api.convert.ocr.records import OcrFailed, Picture, PixelLine, PixelWord

_LIST_SECONDS = 20
_MAX_LANGUAGES = 3
_DPI = 200
_BOX = re.compile(r"bbox (-?\d+) (-?\d+) (-?\d+) (-?\d+)")
_BASELINE = re.compile(r"baseline (-?[\d.]+) (-?[\d.]+)")
_SIZE = re.compile(r"x_size ([\d.]+)")
_CONFIDENCE = re.compile(r"x_wconf ([\d.]+)")
_SIZE_SHARE = 0.97
"""Of a font's size: from the lowest to the highest point of its letters, which tesseract tells."""


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
        return list(_lines(told))


def open_engine(settings: ConversionSettings) -> _Tesseract:
    """Find the program and its languages.

    Raises:
        OcrFailed: a language is not installed.
    """
    program = shutil.which("tesseract") or "tesseract"
    there = _run([program, "--list-langs"], b"", _LIST_SECONDS).decode(errors="replace").split("\n")[1:]
    known = [each.strip() for each in there if each.strip() not in {"", "osd", "equ"}]
    asked = settings.ocr_languages.split("+") if settings.ocr_languages else _usual(known)
    if missing := [each for each in asked if each not in known]:
        told = ", ".join(known) or "none"
        raise OcrFailed(f"tesseract has no language {', '.join(missing) or 'at all'}; installed: {told}")
    if not asked:
        raise OcrFailed("tesseract has no language at all: install tesseract-ocr-eng, or others")
    return _Tesseract(program, "+".join(asked))


def _usual(known: list[str]) -> list[str]:
    """English first; what is a language's second model (`script/Latin`) is only used when asked for."""
    plain = [each for each in known if "/" not in each]
    return sorted(plain, key=lambda each: each != "eng")[:_MAX_LANGUAGES]


def _run(command: list[str], given: bytes, seconds: float) -> bytes:
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise OcrFailed(f"tesseract took more than {seconds:.0f} s") from None
    except OSError as error:
        raise OcrFailed(f"tesseract cannot be run ({error})") from None
    if done.returncode:
        raise OcrFailed(f"tesseract failed on it (exit code {done.returncode})")
    return done.stdout


def _lines(hocr: bytes) -> Iterator[PixelLine]:
    tree = cast("Any", html.document_fromstring(hocr, parser=html.HTMLParser(encoding="utf-8")))
    for line in tree.xpath("//span[contains(@title, 'x_size')]"):
        if words := tuple(_words(line)):
            yield _line(str(line.get("title")), words)


def _line(title: str, words: tuple[PixelWord, ...]) -> PixelLine:
    left, _, _, bottom = _box(title)
    middle = (words[0].left + words[-1].right) / 2 - left
    slope, below = _numbers(_BASELINE, title) or (0.0, 0.0)
    (size,) = _numbers(_SIZE, title) or (max(word.bottom - word.top for word in words),)
    return PixelLine(words, bottom + below + slope * middle, size / _SIZE_SHARE)


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

"""Which OCR there is, and which is used."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from typing import Literal

from kg_api.api_settings import ConversionSettings

EngineName = Literal["tesseract", "rapidocr"]
INSTALL = "install tesseract, or kg with its extra `ocr` (pip install '.[ocr]' in its checkout)"


def installed() -> list[EngineName]:
    """Name those that are installed; the first is the faster one."""
    found: list[EngineName] = ["tesseract"] if shutil.which("tesseract") else []
    return [*found, "rapidocr"] if find_spec("rapidocr") else found


def choose(settings: ConversionSettings) -> tuple[EngineName | None, str]:
    """Give the engine that reads pictures, or none and why."""
    if settings.ocr == "off":
        return None, "OCR is off (KG_CONVERSION__OCR)"
    there = installed()
    if settings.ocr == "auto":
        return (there[0], "") if there else (None, f"no OCR is installed: {INSTALL}")
    if settings.ocr not in there:
        return None, f"{settings.ocr} is not installed (KG_CONVERSION__OCR={settings.ocr}): {INSTALL}"
    return settings.ocr, ""

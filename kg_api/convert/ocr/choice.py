"""Which OCR there is, and which is used."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from typing import Literal

from kg_api.api_settings import ConversionSettings
from kg_api.models.identity import digest

EngineName = Literal["tesseract", "rapidocr"]
INSTALL = "install tesseract, or kg with its extra `ocr` (pip install '.[ocr]' in its checkout)"

_DECIDE = {"ocr_languages", "ocr_max_pages", "ocr_max_seconds", "ocr_max_megapixels", "max_memory_mb"}
_SECONDS = 20


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


def fingerprint(settings: ConversionSettings) -> str:
    """Of all that decides what is read on pictures: where it is another one, more may be read."""
    engine, reason = choose(settings)
    limits = settings.model_dump_json(include=_DECIDE)
    return digest("ocr", engine or reason, _languages() if engine == "tesseract" else "", limits)


def _languages() -> str:
    """As tesseract lists them; empty where it cannot be run."""
    program = shutil.which("tesseract") or "tesseract"
    try:
        told = subprocess.run([program, "--list-langs"], capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.decode(errors="replace")

"""Opening the engine that was chosen; its libraries are imported then."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from kg_api.api_settings import ConversionSettings
from kg_api.convert.ocr.choice import EngineName
from kg_api.convert.ocr.records import OcrEngine


class _Module(Protocol):
    def open_engine(self, settings: ConversionSettings) -> OcrEngine: ...


def open_engine(name: EngineName, settings: ConversionSettings) -> OcrEngine:
    """Make ready an engine that is installed.

    Raises:
        OcrFailed: it cannot be used as the settings say.
    """
    return cast("_Module", import_module(f"kg_api.convert.ocr.{name}")).open_engine(settings)

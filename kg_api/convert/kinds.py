"""Converter modules by format. kg imports a module when it converts the first file of its format."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kg_api.schemas.documents import Converted
from kg_api.schemas.formats import ConvertedFormat
from kg_api.settings import ConversionSettings

_MODULES: dict[ConvertedFormat, str] = {
    "html": "html.page",
    "pdf": "pdf",
    "epub": "epub",
    "docx": "docx.document",
    "pptx": "pptx",
    "spreadsheet": "spreadsheet",
    "csv": "delimited",
    "email": "mail",
    "notebook": "notebook",
    "image": "image.embedded",
}
_OF_IMAGES = frozenset[ConvertedFormat]({"image", "html", "epub", "docx", "pptx", "pdf", "email", "notebook"})
"""Formats that may contain images. Their converters receive the settings for image limits."""


def load(name: str) -> Any:
    """Import a module of `kg_api.convert`. Some imports take a second."""
    return import_module(f"kg_api.convert.{name}")


def convert(data: bytes, form: ConvertedFormat, settings: ConversionSettings) -> Converted:
    """Convert a file to Markdown in this process."""
    module = load(_MODULES[form])
    return module.convert(data, settings) if form in _OF_IMAGES else module.convert(data)

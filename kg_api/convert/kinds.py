"""Which module reads which kind of file; it is imported when the first such file comes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from kg_api.schemas.documents import Converted
from kg_api.schemas.formats import ConvertedFormat
from kg_api.settings import ConversionSettings

_MODULES: dict[ConvertedFormat, str] = {
    "html": "html.page",
    "pdf": "pdf",
    "epub": "epub",
    "docx": "docx",
    "pptx": "pptx",
    "spreadsheet": "spreadsheet",
    "csv": "delimited",
    "email": "mail",
    "notebook": "notebook",
    "image": "image.embedded",
}
_OF_IMAGES = frozenset[ConvertedFormat]({"image", "html", "epub", "docx", "pptx", "pdf", "email", "notebook"})
"""What may hold pictures: their modules are told how large one may be, and what is kept of it."""


def load(name: str) -> Any:
    """Import a module below `kg_api.convert`, some of which take a second."""
    return import_module(f"kg_api.convert.{name}")


def convert(data: bytes, form: ConvertedFormat, settings: ConversionSettings) -> Converted:
    """Make Markdown of a file, in this process."""
    module = load(_MODULES[form])
    return module.convert(data, settings) if form in _OF_IMAGES else module.convert(data)


def convert_with(
    data: bytes, form: str, settings: ConversionSettings, beside: Mapping[str, bytes]
) -> Converted:
    """Make Markdown of a page, or find the places in a Markdown text, with pictures by their references."""
    if form == "html":
        return load("html.page").convert(data, settings, beside)
    return load("image.embedded").convert_markdown(data, settings, beside)

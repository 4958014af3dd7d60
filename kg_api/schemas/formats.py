"""File formats that kg reads, for folders, files, uploads, and docs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

TextFormat = Literal["text", "markdown", "rst", "org"]
"""Formats that kg reads directly. Offsets refer to the text of the file."""
ConvertedFormat = Literal[
    "html", "pdf", "epub", "docx", "pptx", "spreadsheet", "csv", "email", "notebook", "image"
]
"""Formats that a separate process converts to Markdown. Offsets refer to the Markdown."""
Format = TextFormat | ConvertedFormat
OcrMode = Literal["auto", "always", "never"]
"""Pages of a PDF for OCR: pages without readable text, all, or none."""


def _list_suffixes(names: str) -> frozenset[str]:
    return frozenset(f".{name}" for name in names.split())


CONVERTED: Mapping[ConvertedFormat, frozenset[str]] = MappingProxyType(
    {
        "html": _list_suffixes("html htm xhtml"),
        "pdf": _list_suffixes("pdf"),
        "epub": _list_suffixes("epub"),
        "docx": _list_suffixes("docx docm dotx dotm"),
        "pptx": _list_suffixes("pptx pptm ppsx ppsm potx potm"),
        "spreadsheet": _list_suffixes("xlsx xlsm xltx xltm xls ods"),
        "csv": _list_suffixes("csv tsv"),
        "email": _list_suffixes("eml"),
        "notebook": _list_suffixes("ipynb"),
        "image": _list_suffixes("png jpg jpeg webp gif tif tiff bmp"),
    }
)
PROGRAMS = _list_suffixes(
    "py pyi js jsx mjs cjs ts tsx mts cts java go rs c h cc cpp cxx hh hpp cs rb sh bash"
    " sql cypher r jl toml yaml yml ini cfg conf log json jsonl xml"
)
"""Extensions of program text, settings, data, and logs. In the first line, kg finds functions and classes."""
IN_TEXT: frozenset[ConvertedFormat] = frozenset({"html", "csv", "email", "notebook"})
"""Text formats, which a client may send as text."""
CONVERTED_SUFFIXES = frozenset(suffix for some in CONVERTED.values() for suffix in some)
UNREAD_PICTURES = _list_suffixes("heic heif avif jxl jp2 psd svg")
MAILBOXES = _list_suffixes("mbox msg pst")
NOT_READ = UNREAD_PICTURES | MAILBOXES | _list_suffixes("doc odt rtf ppt odp mobi zip gz tar mp3 mp4")
"""Extensions of files that are not text, or not readable as text."""

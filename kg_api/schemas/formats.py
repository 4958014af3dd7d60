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


def _suffixes(names: str) -> frozenset[str]:
    return frozenset(f".{name}" for name in names.split())


CONVERTED: Mapping[ConvertedFormat, frozenset[str]] = MappingProxyType(
    {
        "html": _suffixes("html htm xhtml"),
        "pdf": _suffixes("pdf"),
        "epub": _suffixes("epub"),
        "docx": _suffixes("docx docm dotx dotm"),
        "pptx": _suffixes("pptx pptm ppsx ppsm potx potm"),
        "spreadsheet": _suffixes("xlsx xlsm xltx xltm xls ods"),
        "csv": _suffixes("csv tsv"),
        "email": _suffixes("eml"),
        "notebook": _suffixes("ipynb"),
        "image": _suffixes("png jpg jpeg webp gif tif tiff bmp"),
    }
)
PROGRAMS = _suffixes(
    "py pyi js jsx mjs cjs ts tsx mts cts java go rs c h cc cpp cxx hh hpp cs rb sh bash"
    " sql cypher r jl toml yaml yml ini cfg conf log json jsonl xml"
)
"""Extensions of program text, settings, data, and logs. In the first line, kg finds functions and classes."""
IN_TEXT: frozenset[ConvertedFormat] = frozenset({"html", "csv", "email", "notebook"})
"""Text formats, which a client may send as text."""
CONVERTED_SUFFIXES = frozenset(suffix for some in CONVERTED.values() for suffix in some)
UNREAD_PICTURES = _suffixes("heic heif avif jxl jp2 psd svg")
MAILBOXES = _suffixes("mbox msg pst")
NOT_READ = UNREAD_PICTURES | MAILBOXES | _suffixes("doc odt rtf ppt odp mobi zip gz tar mp3 mp4")
"""Extensions of files that are not text, or not readable as text."""

"""The kinds of files that kg reads: one truth for folders, files, uploads and docs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

TextFormat = Literal["text", "markdown", "rst", "org"]
"""Read as they are: offsets are those of the file's own text."""
ConvertedFormat = Literal[
    "html", "pdf", "epub", "docx", "pptx", "spreadsheet", "csv", "email", "notebook", "image"
]
"""Converted to Markdown in a process apart; offsets are those of that Markdown."""
Format = TextFormat | ConvertedFormat
OcrMode = Literal["auto", "always", "never"]
"""Pages of a PDF that OCR reads: those without readable text, all, or none."""


def _suffixes(names: str) -> frozenset[str]:
    return frozenset(f".{name}" for name in names.split())


CONVERTED: Mapping[ConvertedFormat, frozenset[str]] = MappingProxyType(
    {
        "html": _suffixes("html htm xhtml"),
        "pdf": _suffixes("pdf"),
        "epub": _suffixes("epub"),
        "docx": _suffixes("docx"),
        "pptx": _suffixes("pptx"),
        "spreadsheet": _suffixes("xlsx xls ods"),
        "csv": _suffixes("csv tsv"),
        "email": _suffixes("eml"),
        "notebook": _suffixes("ipynb"),
        "image": _suffixes("png jpg jpeg webp gif tif tiff bmp"),
    }
)
PROGRAMS = _suffixes(
    "py pyi js jsx mjs cjs ts tsx mts cts java go rs c h cc cpp cxx hh hpp cs rb sh bash"
    " sql cypher r jl toml yaml yml ini cfg conf log"
)
"""Text that machines read, too; of the first line functions and classes are known."""
IN_TEXT: frozenset[ConvertedFormat] = frozenset({"html", "csv", "email", "notebook"})
"""Those that are text themselves, and so may be sent as text."""
CONVERTED_SUFFIXES = frozenset(suffix for some in CONVERTED.values() for suffix in some)
UNREAD_PICTURES = _suffixes("heic heif avif jxl jp2 psd svg")
NOT_READ = UNREAD_PICTURES | _suffixes("doc odt rtf ppt odp mobi zip gz tar mp3 mp4")
"""Suffixes of files that are no text, or none that is meant to be read as it stands."""

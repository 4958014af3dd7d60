"""PDF file: opening, metadata, and outline."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from typing import Any, cast

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg_api.convert.pdf.blocks import OutlineEntry
from kg_api.convert.shared.containers import parse_date
from kg_api.errors import UnreadableDocument
from kg_api.schemas.metadata import MetadataValue

_MAX_OUTLINE = 20_000
_MAX_DEPTH = 8
_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?\d*([Zz]|[-+]\d\d(?:'?\d\d)?)?")
_NO_TITLE = re.compile(
    r"^(?:microsoft (?:word|powerpoint|excel)\b.*|untitled.*|\(?(?:anonymous|unspecified)\)?|document\s?\d*"
    r"|\S+\.[a-z]{2,5}|.*\.(?:docx?|pptx?|xlsx?|odt|tex|dvi|indd|pdf|rtf|qxd|fm))$",
    re.IGNORECASE,
)
_NOBODY = {"anonymous", "unspecified", "unknown", "user", "(anonymous)", "(unspecified)"}


@contextmanager
def open_document(data: bytes) -> Generator[pdfium.PdfDocument]:
    """Open a PDF, or raise an error with the reason."""
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        raise UnreadableDocument(_describe_error(data, error)) from None
    try:
        if not len(document):
            raise UnreadableDocument(
                "the PDF has no pages and may be damaged or cut off. Download or save the file again"
            )
        yield document
    finally:
        document.close()


def _describe_error(data: bytes, error: pdfium.PdfiumError) -> str:
    if not data.strip():
        return "the file is empty"
    if error.err_code == raw.FPDF_ERR_PASSWORD:
        return (
            "the PDF is encrypted. Open the file with its password, save it without one, and ingest that file"
        )
    if error.err_code == raw.FPDF_ERR_SECURITY:
        return (
            "the encryption of the PDF is not supported. Save the file without protection and ingest "
            "that file"
        )
    if b"%PDF-" not in data[:1024]:
        return "the file is not a PDF, although its name or media type is of a PDF"
    return "the PDF is damaged or cut off. Download or save the file again"


def read_title(document: pdfium.PdfDocument) -> str:
    """Return the title in the file, unless a program generated it."""
    found = _read_value(document, "Title")
    return "" if _NO_TITLE.match(found) or not any(map(str.isalpha, found)) else found


def read_metadata(document: pdfium.PdfDocument) -> dict[str, MetadataValue]:
    """Return author, date, subject, tags, and language, if the file has them."""
    author, subject = _read_value(document, "Author"), _read_value(document, "Subject")
    found: dict[str, MetadataValue] = {
        "author": "" if author.casefold() in _NOBODY else author,
        "date": _parse_date(_read_value(document, "CreationDate"))
        or _parse_date(_read_value(document, "ModDate")),
        "subject": "" if subject.casefold() in _NOBODY else subject,
        "tags": [tag.strip() for tag in re.split(r"[,;]", _read_value(document, "Keywords")) if tag.strip()],
        "language": _read_language(document),
    }
    return {key: value for key, value in found.items() if value}


def _read_value(document: pdfium.PdfDocument, key: str) -> str:
    with suppress(pdfium.PdfiumError, UnicodeError):
        value = document.get_metadata_value(key)
        return " ".join("".join(c for c in value if c.isprintable() or c.isspace()).split())
    return ""


def _read_language(document: pdfium.PdfDocument) -> str:
    length = raw.FPDFCatalog_GetLanguage(document.raw, None, 0)
    if not 2 < length < 200:  # noqa: PLR2004  # bytes of UTF-16 with terminator
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFCatalog_GetLanguage(document.raw, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return buffer.raw[: length - 2].decode("utf-16-le", "ignore").strip("\0 ")


def _parse_date(value: str) -> str:
    """Convert `D:20240131120000+01'00'` to ISO 8601, with the precision of the file."""
    if not (found := _DATE.match(value)):
        return ""
    day = "-".join(filter(None, found.groups()[:3]))
    zone = (found[7] or "").upper().replace("'", ":")
    return parse_date(
        f"{day}T{found[4]}:{found[5]}:{found[6] or '00'}{zone}" if found[3] and found[5] else day
    )


def read_outline(document: pdfium.PdfDocument) -> list[OutlineEntry]:
    """Return the bookmarks with a target page (empty: broken outline)."""
    found: list[OutlineEntry] = []
    with suppress(pdfium.PdfiumError, UnicodeError, RecursionError):
        bookmarks = cast("Iterable[Any]", document.get_toc(max_depth=_MAX_DEPTH))
        for bookmark in bookmarks:
            destination = bookmark.get_dest()
            page: int | None = destination.get_index() if destination else None
            if page is not None:
                found.append(OutlineEntry(" ".join(bookmark.get_title().split()), bookmark.level + 1, page))
            if len(found) >= _MAX_OUTLINE:
                break
    return found

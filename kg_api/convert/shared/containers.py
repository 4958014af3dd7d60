"""ZIP archives, XML, and metadata of files, with protection against hostile content."""

from __future__ import annotations

import io
import lzma
import re
import struct
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]: no types

from kg_api.convert.shared.markdown_text import join_lines
from kg_api.errors import UnreadableDocument
from kg_api.schemas.metadata import MetadataValue

_MAX_LENGTH = 1_000
_MAX_VALUES = 100
_PARTIAL = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?")


def build_metadata(**said: object) -> dict[str, MetadataValue]:
    """Return the non-empty values: text on one line, lists without duplicates, dates as ISO 8601."""
    found = {key: _normalize_value(value) for key, value in said.items()}
    return {key: value for key, value in found.items() if value}


def _normalize_value(value: object) -> MetadataValue:
    if isinstance(value, list | tuple):
        words = dict.fromkeys(_shorten(str(each)) for each in cast("list[object]", value))
        return [word for word in words if word][:_MAX_VALUES]
    return _shorten(str(value or ""))


def _shorten(text: str) -> str:
    return join_lines(text[: 10 * _MAX_LENGTH])[:_MAX_LENGTH]


def unwrap_single(values: Iterable[object]) -> str | list[str]:
    words = list(dict.fromkeys(filter(None, (_shorten(str(each)) for each in values))))
    return words[0] if len(words) == 1 else words


def split_keywords(text: str) -> list[str]:
    """Split a keyword field at commas, semicolons, and line ends."""
    return [word.strip() for word in re.split(r"[;,\n]", text) if word.strip()]


def parse_date(text: str) -> str:
    """Parse a date in any common notation as ISO 8601 (empty: not a date)."""
    words = text.strip()[:100]
    if _PARTIAL.fullmatch(words):
        return words
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(words)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        return moment.isoformat() if re.search(r"\d:\d", words) else moment.date().isoformat()
    return ""


# ZIP archives, checked by their directory before unpacking

MAX_ENTRIES = 10_000
MAX_BYTES = 512 * 1024 * 1024  # unpacked size of all entries
MAX_ENTRY_BYTES = 128 * 1024 * 1024
MAX_RATIO = 200  # unpacked bytes per packed byte (XML: 20, a ZIP bomb: 1,000)
_SMALL = 4 * 1024 * 1024  # bytes: the ratio of smaller archives is not significant
_DAMAGE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError),
    *(LookupError, ValueError, RuntimeError, OverflowError),
)
"""Errors of the standard library for damaged or malicious archives."""
_RECORD = b"PK\x01\x02"
"""Signature of a directory entry.

`ZipFile` reads all entries at 0.5 kB each, so kg counts the signatures first. Packed bytes match by chance
once in 4 GB, but nested archives contain some.
"""
_MAX_RECORDS = 10 * MAX_ENTRIES
_SAVE = "Open the file in its original program and save it again"


def open_archive(data: bytes, kind: str, *, needs: str = "") -> zipfile.ZipFile:
    """Open a ZIP archive that is safe to read entry by entry."""
    if not data:
        raise UnreadableDocument(f"the file is empty, not {kind}")
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise UnreadableDocument(
            f"the file is not {kind} but an old or encrypted Office file. Save the file again, "
            "without a password"
        )
    if (records := data.count(_RECORD)) > _MAX_RECORDS:
        raise _report_too_many_entries(records)
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _DAMAGE as error:
        raise UnreadableDocument(f"the file is not {kind}, or is damaged ({error}). {_SAVE}") from error
    _check(archive, kind)
    if needs and needs not in archive.namelist():
        raise UnreadableDocument(f"the file is a ZIP archive but not {kind}: {needs} is missing")
    return archive


def _check(archive: zipfile.ZipFile, kind: str) -> None:
    entries = archive.infolist()
    unpacked, packed = sum(each.file_size for each in entries), sum(each.compress_size for each in entries)
    if len(entries) > MAX_ENTRIES:
        raise _report_too_many_entries(len(entries))
    largest = max(entries, key=lambda each: each.file_size, default=None)
    if largest and largest.file_size > MAX_ENTRY_BYTES:
        raise UnreadableDocument(
            f"{largest.filename[:200]!r} in the file unpacks to {largest.file_size:,} bytes, more "
            f"than {MAX_ENTRY_BYTES:,}"
        )
    if unpacked > MAX_BYTES:
        raise UnreadableDocument(f"the file unpacks to {unpacked:,} bytes, more than {MAX_BYTES:,}")
    if unpacked > _SMALL and unpacked > MAX_RATIO * max(packed, 1):
        raise UnreadableDocument(
            f"the file unpacks to more than {MAX_RATIO} times its size, like a ZIP bomb. {_SAVE}"
        )
    if any(each.flag_bits & 1 for each in entries):
        raise UnreadableDocument(f"the file is encrypted. Save {kind} without a password")


def _report_too_many_entries(entries: int) -> UnreadableDocument:
    return UnreadableDocument(f"the file has {entries:,} entries, more than {MAX_ENTRIES:,}")


def read_entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read one entry with at most the size in the directory."""
    try:
        with archive.open(name) as entry:
            return entry.read(MAX_ENTRY_BYTES)
    except _DAMAGE as error:
        raise UnreadableDocument(
            f"{name[:200]!r} in the file is missing or damaged ({error}). {_SAVE}"
        ) from error


# XML, and core properties of Office and OpenDocument files


XmlElement = Any  # lxml element (lxml has no types)
_DOCTYPES = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
_LIBRARIES = frozenset({"python-docx", "openpyxl", "Apache POI"})  # they name themselves as author
_TEMPLATES = frozenset({"2013-12-23T23:15:00Z", "2013-01-27T09:14:16Z"})
"""Dates of the templates of python-docx and python-pptx, which every file from them repeats."""
_PLACES = ("docProps/core.xml", "meta.xml")


def get_local_name(element: Any) -> str:
    """Get the name of an element without its namespace, because programs differ in namespaces."""
    return str(element.tag).rpartition("}")[2]


def read_xml(data: bytes, what: str) -> XmlElement:
    """Parse XML without entities and network access."""
    if b"<!ENTITY" in data.replace(b"\0", b""):  # in UTF-16, too
        raise UnreadableDocument(f"{what} in the file defines entities, which kg does not read")
    library = cast("Any", etree)
    parser = library.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    try:
        return library.fromstring(data, parser)
    except (library.LxmlError, ValueError) as error:
        raise _report_damage(what, error) from error


def iterate_xml(data: bytes, what: str) -> Iterator[Any]:
    """Iterate over the elements of a large part as they end. Clear each after use to save memory."""
    if any(mark in data for mark in _DOCTYPES):
        raise UnreadableDocument(f"{what} in the file has a document type, which is not allowed")
    try:
        for _, element in ET.iterparse(io.BytesIO(data)):  # noqa: S314 - has no document type
            yield element
    except (ET.ParseError, ValueError, LookupError) as error:
        raise _report_damage(what, error) from error


def _report_damage(what: str, error: Exception) -> UnreadableDocument:
    return UnreadableDocument(f"{what} in the file is damaged ({error}). Save the file again")


def open_office(data: bytes, kind: str, *, needs: str) -> zipfile.ZipFile:
    """Open an Office file that is safe for parsing by a library."""
    archive = open_archive(data, kind, needs=needs)
    for name in archive.namelist():
        part = read_entry(archive, name)
        if name.endswith((".xml", ".rels")) and any(mark in part for mark in _DOCTYPES):
            raise UnreadableDocument(
                f"{name[:200]!r} in the file has a document type, which is not allowed in {kind}"
            )
    return archive


def read_core_properties(archive: zipfile.ZipFile) -> tuple[str, dict[str, MetadataValue]]:
    """Return the title and the other properties of a file (empty: missing or damaged)."""
    name = next((each for each in _PLACES if each in archive.namelist()), "")
    try:
        found: list[Any] = list(read_xml(read_entry(archive, name), name).iter()) if name else []
    except UnreadableDocument:
        return "", {}
    properties: dict[str, list[str]] = {}
    for each in found:
        properties.setdefault(get_local_name(each), []).append(str(each.text or "").strip())
    created = _get_first(properties, "created") or _get_first(properties, "creation-date")
    modified = _get_first(properties, "modified") or _get_first(properties, "date")
    creators = properties.get("creator", []) or properties.get("initial-creator", [])
    described = _get_first(properties, "description")
    return join_lines(_get_first(properties, "title")), build_metadata(
        author=unwrap_single([each for each in creators if each not in _LIBRARIES]),
        date="" if created in _TEMPLATES else parse_date(created),
        modified="" if modified in _TEMPLATES else parse_date(modified),
        subject=_get_first(properties, "subject"),
        description="" if described.removeprefix("generated by ") in _LIBRARIES else described,
        tags=[
            word
            for each in properties.get("keywords", []) + properties.get("keyword", [])
            for word in split_keywords(each)
        ],
        language=_get_first(properties, "language"),
    )


def _get_first(properties: dict[str, list[str]], name: str) -> str:
    return next(filter(None, properties.get(name, [])), "")

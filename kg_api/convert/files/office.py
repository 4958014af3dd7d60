"""Core properties of Office files and what OpenDocument calls by the same names."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

import defusedxml
from defusedxml.ElementTree import fromstring

from kg_api.convert.files.about import iso_date, keywords, metadata, one_or_list
from kg_api.convert.files.archive import open_archive, read_entry
from kg_api.convert.markdown_text import one_line
from kg_api.errors import UnreadableDocument
from kg_api.models.library.metadata import MetadataValue

_DOCTYPES = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be"))
_PLACES = ("docProps/core.xml", "meta.xml")


def read_xml(data: bytes, what: str) -> Any:
    """Read XML without entities, document types and network.

    Raises:
        UnreadableDocument: it is damaged, or has entities.
    """
    with note_damage(what):
        if any(mark in data for mark in _DOCTYPES):  # needed to define entities; defusedxml is slow
            return cast("Any", fromstring)(data, forbid_dtd=False)
        return ET.fromstring(data)  # noqa: S314 - see above


def iterate_xml(data: bytes, what: str) -> Iterator[Any]:
    """Return the elements of a large part as they end; clear each after use to keep memory small.

    Raises:
        UnreadableDocument: it is damaged, or has a document type.
    """
    if any(mark in data for mark in _DOCTYPES):
        raise UnreadableDocument(f"{what} in it has a document type, which such a file never has")
    with note_damage(what):
        for _, element in ET.iterparse(io.BytesIO(data)):  # noqa: S314 - see above
            yield element


@contextmanager
def note_damage(what: str) -> Generator[None]:
    """Turn an error of a parser into one that names the part."""
    try:
        yield
    except defusedxml.DefusedXmlException as error:
        raise UnreadableDocument(
            f"{what} in it defines entities, which are not read: it is no ordinary file"
        ) from error
    except (ET.ParseError, ValueError, LookupError) as error:
        raise UnreadableDocument(f"{what} in it is damaged ({error}); save the file anew") from error


def open_office(data: bytes, kind: str, *, needs: str) -> zipfile.ZipFile:
    """Open an Office file whose parts a library can read without harm.

    Raises:
        UnreadableDocument: see `open_archive`; or a part is damaged or has a document type.
    """
    archive = open_archive(data, kind, needs=needs)
    for name in archive.namelist():
        part = read_entry(archive, name)
        if name.endswith((".xml", ".rels")) and any(mark in part for mark in _DOCTYPES):
            raise UnreadableDocument(f"{name[:200]!r} in it has a document type, which {kind} never has")
    return archive


def core_properties(archive: zipfile.ZipFile) -> tuple[str, dict[str, MetadataValue]]:
    """The title, and the properties that are filled; a file whose properties are damaged has none."""
    name = next((each for each in _PLACES if each in archive.namelist()), "")
    try:
        found: list[Any] = list(read_xml(read_entry(archive, name), name).iter()) if name else []
    except UnreadableDocument:
        return "", {}
    said: dict[str, list[str]] = {}
    for each in found:
        said.setdefault(str(each.tag).rpartition("}")[2], []).append(str(each.text or "").strip())
    return one_line(_first(said, "title")), metadata(
        author=one_or_list(said.get("creator", []) or said.get("initial-creator", [])),
        date=iso_date(_first(said, "created") or _first(said, "creation-date")),
        modified=iso_date(_first(said, "modified") or (_first(said, "date"))),
        subject=_first(said, "subject"),
        description=_first(said, "description"),
        tags=[word for each in said.get("keywords", []) + said.get("keyword", []) for word in keywords(each)],
        language=_first(said, "language"),
    )


def _first(said: dict[str, list[str]], name: str) -> str:
    return next(filter(None, said.get(name, [])), "")

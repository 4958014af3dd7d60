"""EPUB books: the chapters in the order of the spine, each by the HTML road."""

from __future__ import annotations

import posixpath
import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from kg_api.convert.html.elements import NAVIGATION, parse
from kg_api.convert.html.page import describe, write_chapter
from kg_api.convert.image.embedded import ImagesWithin
from kg_api.convert.shared.containers import (
    iso_date,
    metadata,
    one_or_list,
    open_archive,
    read_entry,
    read_xml,
)
from kg_api.convert.shared.markdown_text import MarkdownWriter, one_line
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.settings import ConversionSettings
from kg_api.text.decoding import declared_encoding, decode_declared
from kg_api.text.linked_files import from_data_uri, is_data_uri

_KIND = "an EPUB book"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""What only makes fonts useless outside of the book."""
_CHAPTERS = frozenset(
    {
        "application/xhtml+xml",
        "text/html",
        "image/svg+xml",
        "application/x-dtbook+xml",
        "text/x-oeb1-document",
    }
)


def convert(data: bytes, settings: ConversionSettings = DEFAULTS) -> Converted:
    """Make Markdown of a book, with its pictures.

    Raises:
        UnreadableDocument: it is none, it is damaged or protected, or has no text.
    """
    archive = open_archive(data, _KIND, needs=_CONTAINER)
    _refuse_protected(archive)
    place = _package(archive)
    package = read_xml(read_entry(archive, place), "the list of its chapters")
    writer, images = MarkdownWriter(), ImagesWithin(settings)
    chapters = _spine(package, posixpath.dirname(place))
    left_out, missing, sheets = Counter[str](), 0, dict[str, str]()
    for name in chapters:
        if (found := _write(archive, name, writer, images, sheets)) is None:
            missing += 1
        else:
            left_out += found
    del left_out[NAVIGATION]  # the table of contents: the chapters say the same
    if not writer.text():
        raise UnreadableDocument("it holds no text; nothing was stored")
    said = _said(package)
    return Converted(
        writer.text(),
        one_line(next(iter(said.get("title", [])), "")),
        metadata(
            author=one_or_list(said.get("creator", [])),
            date=next((found for each in said.get("date", []) if (found := iso_date(each))), ""),
            language=next(iter(said.get("language", [])), ""),
            publisher=next(iter(said.get("publisher", [])), ""),
            tags=said.get("subject", []),
        ),
        notes=(
            *describe(left_out),
            *images.notes(),
            *((f"left out: chapters that are missing or damaged ({missing})",) if missing else ()),
        ),
        images=tuple(writer.images),
    )


def _refuse_protected(archive: zipfile.ZipFile) -> None:
    if _ENCRYPTION not in archive.namelist():
        return
    root = read_xml(read_entry(archive, _ENCRYPTION), _ENCRYPTION)
    methods = [str(each.get("Algorithm")) for each in root.iter() if _name(each) == "EncryptionMethod"]
    if any(method not in _FONTS for method in methods):
        raise UnreadableDocument(
            "it is protected (DRM); only its reader can open it: get it without protection"
        )


def _package(archive: zipfile.ZipFile) -> str:
    root = read_xml(read_entry(archive, _CONTAINER), _CONTAINER)
    for each in root.iter():
        if _name(each) == "rootfile" and each.get("full-path"):
            return str(each.get("full-path"))
    raise UnreadableDocument(f"{_CONTAINER} in it names no list of chapters; save the book anew")


def _spine(package: Any, folder: str) -> Iterator[str]:
    """The places of its chapters, each once."""
    items = {str(each.get("id")): each for each in package.iter() if _name(each) == "item"}
    order = [str(each.get("idref")) for each in package.iter() if _name(each) == "itemref"]
    for key in dict.fromkeys(order):
        item, seen = items.get(key), set[str]()
        while item is not None and _kind(item) not in _CHAPTERS and str(item.get("fallback")) not in seen:
            seen.add(str(item.get("fallback")))
            item = items.get(str(item.get("fallback")), item)
        if item is not None and _kind(item) in _CHAPTERS:
            yield posixpath.normpath(posixpath.join(folder, unquote(str(item.get("href") or ""))))


def _kind(item: Any) -> str:
    return str(item.get("media-type") or "application/xhtml+xml")


def _write(
    archive: zipfile.ZipFile, name: str, writer: MarkdownWriter, images: ImagesWithin, sheets: dict[str, str]
) -> Counter[str] | None:
    """Write a chapter and count the words left out; None: it could not be read. One without text is none."""
    try:
        chapter = read_entry(archive, name)
        text, _ = decode_declared(chapter, declared_encoding(chapter))
    except UnreadableDocument:
        return None
    try:
        tree = parse(text)
        return write_chapter(
            tree,
            writer,
            lambda address: images.read(_picture(archive, name, address)),
            [_sheet(archive, name, each.get("href", ""), sheets) for each in tree.iter("link")],
        )
    except UnreadableDocument as error:
        return Counter() if "no text" in str(error) else None


def _sheet(archive: zipfile.ZipFile, chapter: str, address: str, sheets: dict[str, str]) -> str:
    """The text of a style sheet: it says what is struck or raised."""
    place = posixpath.normpath(posixpath.join(posixpath.dirname(chapter), unquote(address)))
    if place not in sheets:
        try:
            found = place.endswith(".css") and place in archive.NameToInfo
            sheets[place] = read_entry(archive, place).decode("utf-8", "replace") if found else ""
        except UnreadableDocument:
            sheets[place] = ""
    return sheets[place]


def _picture(archive: zipfile.ZipFile, chapter: str, address: str) -> bytes | None:
    """The file of a picture: in the address, or in the book; nothing is fetched from elsewhere."""
    if is_data_uri(address):
        return from_data_uri(address)
    path = unquote(address.partition("#")[0])
    place = posixpath.normpath(posixpath.join(posixpath.dirname(chapter), path))
    try:
        return read_entry(archive, place) if place in archive.NameToInfo else None
    except UnreadableDocument:
        return b""


def _said(package: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in package.iter():
        if str(each.tag).startswith("{http://purl.org/dc/elements/1.1/}") and (each.text or "").strip():
            found.setdefault(_name(each), []).append(str(each.text).strip())
    return found


def _name(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]

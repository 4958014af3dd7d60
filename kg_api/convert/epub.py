"""Conversion of EPUB books: chapters in spine order, each converted as HTML."""

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
    build_metadata,
    get_local_name,
    open_archive,
    parse_date,
    read_entry,
    read_xml,
    unwrap_single,
)
from kg_api.convert.shared.markdown_text import MarkdownWriter, join_lines
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from kg_api.schemas.images import ReadImage
from kg_api.settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.settings import ConversionSettings
from kg_api.text.decoding import decode_declared, find_declared_encoding
from kg_api.text.image_references import from_data_uri, is_data_uri

_KIND = "an EPUB book"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Encryption methods that only obfuscate fonts."""
_CHAPTERS = frozenset({
    *("application/xhtml+xml", "text/html", "image/svg+xml", "application/x-dtbook+xml"),
    "text/x-oeb1-document",
})  # fmt: skip


def convert(data: bytes, settings: ConversionSettings = DEFAULTS) -> Converted:
    archive = open_archive(data, _KIND, needs=_CONTAINER)
    if _ENCRYPTION in archive.namelist():
        root = read_xml(read_entry(archive, _ENCRYPTION), _ENCRYPTION)
        methods = [
            str(each.get("Algorithm")) for each in root.iter() if get_local_name(each) == "EncryptionMethod"
        ]
        if any(method not in _FONTS for method in methods):
            raise UnreadableDocument(
                "the book is protected (DRM), so only its reader can open it. Use a version without "
                "protection"
            )
    roots = read_xml(read_entry(archive, _CONTAINER), _CONTAINER).iter()
    paths = (str(each.get("full-path") or "") for each in roots if get_local_name(each) == "rootfile")
    if not (place := next(filter(None, paths), "")):
        raise UnreadableDocument(f"{_CONTAINER} has no list of chapters. Save the book again")
    package = read_xml(read_entry(archive, place), "the list of its chapters")
    book = _Book(archive, ImagesWithin(settings))
    writer, images = book.writer, book.images
    left_out, missing = Counter[str](), 0
    for name in _list_chapters(package, posixpath.dirname(place)):
        if (found := book.write(name)) is None:
            missing += 1
        else:
            left_out += found
    del left_out[NAVIGATION]  # the table of contents repeats the chapter titles
    if not writer.text():
        raise UnreadableDocument("the file contains no text. Nothing was stored")
    properties: dict[str, list[str]] = {}
    for each in package.iter():
        if str(each.tag).startswith("{http://purl.org/dc/elements/1.1/}") and (each.text or "").strip():
            properties.setdefault(get_local_name(each), []).append(str(each.text).strip())
    return Converted(
        writer.text(),
        join_lines(next(iter(properties.get("title", [])), "")),
        build_metadata(
            author=unwrap_single(properties.get("creator", [])),
            date=next((found for each in properties.get("date", []) if (found := parse_date(each))), ""),
            language=next(iter(properties.get("language", [])), ""),
            publisher=next(iter(properties.get("publisher", [])), ""),
            tags=properties.get("subject", []),
        ),
        notes=(
            *describe(left_out),
            *images.notes(),
            *((f"skipped: chapters that are missing or damaged ({missing})",) if missing else ()),
        ),
        images=tuple(writer.images),
    )


def _list_chapters(package: Any, folder: str) -> Iterator[str]:
    """Yield the path of each chapter once."""
    items = {str(each.get("id")): each for each in package.iter() if get_local_name(each) == "item"}
    order = [str(each.get("idref")) for each in package.iter() if get_local_name(each) == "itemref"]
    for key in dict.fromkeys(order):
        item, seen = items.get(key), set[str]()
        while (
            item is not None
            and _get_media_type(item) not in _CHAPTERS
            and str(item.get("fallback")) not in seen
        ):
            seen.add(str(item.get("fallback")))
            item = items.get(str(item.get("fallback")), item)
        if item is not None and _get_media_type(item) in _CHAPTERS:
            yield posixpath.normpath(posixpath.join(folder, unquote(str(item.get("href") or ""))))


def _get_media_type(item: Any) -> str:
    return str(item.get("media-type") or "application/xhtml+xml")


class _Book:
    def __init__(self, archive: zipfile.ZipFile, images: ImagesWithin) -> None:
        self.writer, self.images = MarkdownWriter(), images
        self._archive = archive
        self._sheets: dict[str, str] = {}

    def write(self, name: str) -> Counter[str] | None:
        """Write a chapter and count its skipped words, or return None if the chapter is unreadable."""

        def find(address: str) -> bytes | None:
            """Find a file of the book. kg never fetches other files."""
            place = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(address)))
            try:
                return read_entry(self._archive, place) if place in self._archive.NameToInfo else None
            except UnreadableDocument:
                return b""

        def read_image(address: str) -> ReadImage | None:
            image = from_data_uri(address) if is_data_uri(address) else find(address.partition("#")[0])
            return self.images.read(image)

        try:
            chapter = read_entry(self._archive, name)
            text, _ = decode_declared(chapter, find_declared_encoding(chapter))
            if not text.strip():
                return Counter()  # a chapter without text is not an error
            tree = parse(text)
        except UnreadableDocument:
            return None
        sheets = list[str]()
        for address in (each.get("href", "") for each in tree.iter("link")):
            if address.endswith(".css"):  # defines struck and raised text
                place = posixpath.join(posixpath.dirname(name), address)
                if place not in self._sheets:
                    self._sheets[place] = (find(address) or b"").decode("utf-8", "replace")
                sheets.append(self._sheets[place])
        return write_chapter(tree, self.writer, read_image, sheets)

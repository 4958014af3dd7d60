"""DOCX: to HTML by mammoth, which knows what styles mean, and on by the HTML road."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from functools import partial
from html import unescape
from typing import Any, cast

import mammoth

from kg_api.api_settings import DEFAULT_CONVERSION as DEFAULTS
from kg_api.api_settings import ConversionSettings
from kg_api.convert.files.archive import MAX_ENTRY_BYTES, read_entry
from kg_api.convert.files.office import core_properties, open_office
from kg_api.convert.html.page import write_chapter
from kg_api.convert.html.tree import parse
from kg_api.convert.image.within import ImagesWithin
from kg_api.convert.markdown_text import MarkdownWriter
from kg_api.errors import UnreadableDocument
from kg_api.models.library.conversion import Converted

_KIND = "a Word document (DOCX)"
_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Code'] => pre:separator('\\n')
p[style-name='HTML Preformatted'] => pre:separator('\\n')
p[style-name='Source Code'] => pre:separator('\\n')
"""
_WORDS = re.compile(rb"<w:t(?: [^<>]*)?>([^<]*)")
_COMMENT = re.compile(rb"<w:comment[ >]")
_FORMULA = re.compile(rb"<m:oMath[ >]")
_CHART = re.compile(rb"<(?:c:chart|dgm:relIds)[ >]")
_SCHEME = "media:/image"
_MARGIN = re.compile(r"word/(?:header|footer)\d*\.xml")


def convert(data: bytes, settings: ConversionSettings = DEFAULTS) -> Converted:
    """Make Markdown of a Word document, with its pictures.

    Raises:
        UnreadableDocument: it is none, it is damaged or encrypted, or has no text.
    """
    archive = open_office(data, _KIND, needs="word/document.xml")
    writer, files, images = MarkdownWriter(), list[bytes | None](), ImagesWithin(settings)
    page = _as_html(data, files)
    if page.strip():
        write_chapter(parse(page), writer, lambda address: images.read(_file(files, address)))
    if not writer.text():
        raise UnreadableDocument("it holds no text; nothing was stored")
    title, about = core_properties(archive)
    notes = _notes(archive) + images.notes()
    return Converted(writer.text(), title, about, notes=notes, images=tuple(writer.images))


def _as_html(data: bytes, files: list[bytes | None]) -> str:
    """A page in which each picture has the place of its file in `files` for an address."""
    library = cast("Any", mammoth)
    try:
        pictures = library.images.img_element(partial(_keep, files))
        return str(library.convert_to_html(io.BytesIO(data), style_map=_STYLES, convert_image=pictures).value)
    except RecursionError as error:
        raise UnreadableDocument("it is nested too deeply; save it anew as a simpler document") from error
    except Exception as error:  # mammoth names no errors: keys, indexes, XML, ZIP
        raise UnreadableDocument(
            f"it is not {_KIND}, or a damaged one ({error!r:.200}); save it anew"
        ) from error


def _keep(files: list[bytes | None], picture: Any) -> dict[str, str]:
    """One that is not in the document is not opened: mammoth refuses files of the machine, and addresses."""
    try:
        with picture.open() as file:
            files.append(file.read(MAX_ENTRY_BYTES))
    except RecursionError:
        raise
    except Exception:  # noqa: BLE001 - mammoth names no errors: what is missing, damaged or elsewhere
        files.append(None)
    return {"src": f"{_SCHEME}{len(files)}"}


def _file(files: list[bytes | None], address: str) -> bytes | None:
    number = address.removeprefix(_SCHEME)
    return files[int(number) - 1] if number != address and number.isdecimal() else None


def _notes(archive: zipfile.ZipFile) -> tuple[str, ...]:
    body = read_entry(archive, "word/document.xml")
    found = Counter(
        {"formulas": len(_FORMULA.findall(body)), "charts and diagrams": len(_CHART.findall(body))}
    )
    if "word/comments.xml" in archive.namelist():
        found["comments"] = len(_COMMENT.findall(read_entry(archive, "word/comments.xml")))
    margins = (read_entry(archive, name) for name in archive.namelist() if _MARGIN.fullmatch(name))
    words = {unescape(text.decode("utf-8", "replace")) for part in margins for text in _WORDS.findall(part)}
    found["words of page headers and footers"] = sum(len(each.split()) for each in words)
    return tuple(f"left out: {what} ({count:,})" for what, count in found.items() if count)

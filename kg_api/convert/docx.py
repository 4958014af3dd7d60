"""DOCX: to HTML by mammoth, which knows what styles mean, and on by the HTML road."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from html import unescape
from typing import Any, cast

import mammoth

from kg_api.convert.files.archive import read_entry
from kg_api.convert.files.office import core_properties, open_office
from kg_api.convert.html.page import write_chapter
from kg_api.convert.html.tree import parse
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
_MARGIN = re.compile(r"word/(?:header|footer)\d*\.xml")


def convert(data: bytes) -> Converted:
    """Make Markdown of a Word document.

    Raises:
        UnreadableDocument: it is none, it is damaged or encrypted, or has no text.
    """
    archive = open_office(data, _KIND, needs="word/document.xml")
    writer = MarkdownWriter()
    page = _as_html(data)
    if page.strip():
        write_chapter(parse(page), writer)
    if not writer.text():
        raise UnreadableDocument("it holds no text (a document of pictures?); nothing was stored")
    title, about = core_properties(archive)
    return Converted(writer.text(), title, about, notes=_notes(archive))


def _as_html(data: bytes) -> str:
    library = cast("Any", mammoth)
    try:
        pictures = library.images.img_element(_without_data)
        return str(library.convert_to_html(io.BytesIO(data), style_map=_STYLES, convert_image=pictures).value)
    except RecursionError as error:
        raise UnreadableDocument("it is nested too deeply; save it anew as a simpler document") from error
    except Exception as error:  # mammoth names no errors: keys, indexes, XML, ZIP
        raise UnreadableDocument(
            f"it is not {_KIND}, or a damaged one ({error!r:.200}); save it anew"
        ) from error


def _without_data(_picture: object) -> dict[str, str]:
    return {"src": ""}


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

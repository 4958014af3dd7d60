"""A simple reader of all text nodes of Word and PowerPoint files, to find text that their converters lost.

It shares nothing with the converters but the parser, and knows no lists, looks or positions.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]: no types

from kg_api.convert.files.archive import read_entry
from kg_api.convert.ooxml.package import XmlElement
from kg_api.convert.ooxml.symbols import is_symbol_font

WORD_PARTS = re.compile(
    r"word/(?:document\d*|footnotes|endnotes|charts/chart(?:ex)?\d+|diagrams/data\d+)\.xml", re.IGNORECASE
)
SLIDE_PARTS = re.compile(
    r"ppt/(?:slides/slide|notesSlides/notesSlide|charts/chart(?:ex)?|diagrams/data)\d+\.xml", re.IGNORECASE
)
_STYLES = "word/styles.xml"
_FOOTERS = frozenset({"sldNum", "ftr", "hdr", "dt"})
_SHAPES = frozenset({"sp", "pic", "grpSp", "graphicFrame", "cxnSp", "wsp", "spTree"})
_OFF = frozenset({"0", "false", "off"})


def read_pieces(archive: zipfile.ZipFile, parts: re.Pattern[str]) -> Iterator[str]:
    """Yield the text of each paragraph of these parts, without deleted and hidden text."""
    names = archive.namelist()
    styles = _parse(read_entry(archive, _STYLES)) if _STYLES in names else None
    hidden = set[str]() if styles is None else _find_hidden_styles(styles)
    for name in filter(parts.fullmatch, names):
        root = _parse(read_entry(archive, name))
        if root is None:
            continue  # the converter reports damaged parts
        if "chart" in name.lower():
            yield from _read_chart(root)
        else:
            yield from _read_paragraphs(root, hidden)


def _parse(data: bytes) -> XmlElement | None:
    library = cast("Any", etree)
    try:
        return library.fromstring(data, library.XMLParser(resolve_entities=False, no_network=True))
    except library.LxmlError:
        return None


def _read_chart(root: XmlElement) -> set[str]:
    """Titles and names; each series repeats the categories, and numbers are shown in their formats."""
    names = (
        each
        for cache in root.iter("{*}strCache", "{*}strDim", "{*}txData")
        for each in cache.iter("{*}v", "{*}pt")
    )
    return {each.text for each in (*names, *root.iter("{*}t")) if each.text}


def _read_paragraphs(root: XmlElement, hidden: set[str]) -> Iterator[str]:
    skipped = set(_find_skipped(root, hidden))
    owner, pieces = None, list[str]()
    for each in root.iter("{*}t", "{*}tab", "{*}br", "{*}cr"):
        if _name(each) != "t":
            pieces.append(" ")
        elif each.text and each not in skipped:
            above = next((up for up in _climb(each) if _name(up) in {"p", "rt", "oMath"}), each)
            if above is not owner:
                yield "".join(pieces)
                pieces = []
            owner = above
            pieces.append(each.text)
    yield "".join(pieces)


def _find_codes(root: XmlElement) -> Iterator[XmlElement]:
    """Text within the codes of fields, such as a field that another one compares."""
    begun = list[list[XmlElement] | None]()  # the text of each code so far; None: its result has begun
    for each in root.iter("{*}t", "{*}fldChar"):
        kind = _get(each, "fldCharType")
        if each.tag.endswith("}t"):
            for code in begun:
                if code is not None:
                    code.append(each)
        elif kind == "begin":
            begun.append([])
        elif begun and kind in {"separate", "end"}:
            yield from begun.pop() or ()
            begun += [None] if kind == "separate" else []


def _find_skipped(root: XmlElement, hidden: set[str]) -> Iterator[XmlElement]:
    """Text nodes that nobody sees: other branches, deleted and hidden text, what each slide repeats."""
    yield from _find_codes(root)
    for holder in (
        *_find_other_branches(root),
        *root.iter("{*}del", "{*}moveFrom"),
        *_find_hidden(root, hidden),
    ):
        yield from holder.iter("{*}t")


def _find_other_branches(root: XmlElement) -> Iterator[XmlElement]:
    for each in root.iter("{*}AlternateContent"):
        said = [
            any((text.text or "").strip() for text in branch.iter("{*}t"))
            or next(branch.iter("{*}chart", "{*}relIds", "{*}blip"), None) is not None
            for branch in each
        ]
        yield from (branch for at, branch in enumerate(each) if any(said) and at != said.index(True))


def _find_hidden(root: XmlElement, styles: set[str]) -> Iterator[XmlElement]:
    for each in root.iter("{*}vanish", "{*}rStyle", "{*}pStyle"):
        shown = _get(each, "val") not in styles if _name(each) != "vanish" else _get(each, "val") in _OFF
        above = list(islice(_climb(each), 2))
        if not shown and _name(above[-1]) in {"r", "p"}:
            yield above[-1]
    for each in root.iter("{*}rFonts", "{*}latin"):  # letters of a symbol font are signs
        if is_symbol_font(_get(each, "ascii") or each.get("typeface", "")):
            yield from islice(_climb(each), 1, 2)
    for each in root.iter("{*}trPr"):
        if any(_name(child) in {"hidden", "del"} for child in each):
            yield from islice(_climb(each), 1)
    yield from (each for each in root.iter("{*}fld") if each.get("type", "") == "slidenum")
    for each in root.iter("{*}ph", "{*}cNvPr"):
        if each.get("type", "") in _FOOTERS or each.get("hidden", "0") in {"1", "true"}:
            yield next((up for up in _climb(each) if _name(up) in _SHAPES), each)


def _find_hidden_styles(styles: XmlElement) -> set[str]:
    found = dict[str, tuple[str, str]]()
    for each in styles.iter("{*}style"):
        said = {_name(child): _get(child, "val") for child in each.iter("{*}vanish", "{*}basedOn")}
        own = (said["vanish"] or "on") if "vanish" in said else ""
        found[_get(each, "styleId")] = own, said.get("basedOn", "")
    hidden = set[str]()
    while (
        more := {name for name, (own, base) in found.items() if own not in _OFF and (own or base in hidden)}
        - hidden
    ):
        hidden |= more
    return hidden


def _climb(element: XmlElement) -> Iterator[XmlElement]:
    while (above := element.getparent()) is not None:
        yield above
        element = above


def _name(element: XmlElement) -> str:
    return element.tag.rpartition("}")[2]


def _get(element: XmlElement, name: str) -> str:
    """An attribute in the namespace of its element."""
    return element.get(element.tag.rpartition("}")[0] + "}" + name, "")

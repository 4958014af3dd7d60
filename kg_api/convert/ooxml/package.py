"""Parts of an Office file with their relationships, as XML trees with resolved alternatives."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Collection, Iterator
from functools import cache
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

from kg_api.convert.ooxml.text import is_symbol_font
from kg_api.convert.shared.containers import XmlElement, get_local_name, read_entry, read_xml
from kg_api.errors import UnreadableDocument

_PREFIXES = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "cx": "http://schemas.microsoft.com/office/drawing/2014/chartex",
    "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
    "o": "urn:schemas-microsoft-com:office:office",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "pic": "http://schemas.openxmlformats.org/drawingml/2006/picture",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "v": "urn:schemas-microsoft-com:vml",
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
    "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
}
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
"""Namespaces of ISO/IEC 29500 Strict, which has the same element names."""


@cache
def qualify(name: str) -> str:
    """Return the qualified name of `prefix:name`."""
    prefix, _, local = name.partition(":")
    return f"{{{_PREFIXES[prefix]}}}{local}"


class Relationship(NamedTuple):
    kind: str
    target: str
    external: bool


class Package:
    """Office file with a checked archive."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {name.lower(): name for name in archive.namelist()}
        self._relationships: dict[str, dict[str, Relationship]] = {}
        self._roots: dict[str, XmlElement] = {}

    def get_main_part(self, default: str) -> str:
        found = (each.target for each in self.get_relationships("").values() if each.kind == "officeDocument")
        return next((name for name in found if self.has(name)), default)

    def has(self, name: str) -> bool:
        return name.lower() in self._names

    def get_relationships(self, part: str) -> dict[str, Relationship]:
        if part not in self._relationships:
            folder, _, name = part.rpartition("/")
            path = posixpath.join(folder, "_rels", f"{name}.rels")
            root = self.parse(path) if self.has(path) else ()
            self._relationships[part] = {
                each.get("Id", ""): Relationship(
                    each.get("Type", "").rpartition("/")[2],
                    posixpath.normpath(posixpath.join("/", folder, unquote(each.get("Target", "")))).lstrip(
                        "/"
                    ),
                    each.get("TargetMode", "") == "External",
                )
                for each in root
            }
        return self._relationships[part]

    def find_related(self, part: str, kind: str) -> str | None:
        found = (each.target for each in self.get_relationships(part).values() if each.kind == kind)
        return next((name for name in found if self.has(name)), None)

    def get_target(self, part: str, identity: str) -> str | None:
        """Get the name of the part with this relationship id, if the file contains the part."""
        found = self.get_relationships(part).get(identity)
        return found.target if found and not found.external and self.has(found.target) else None

    def read(self, name: str) -> bytes:
        return read_entry(self._archive, self._names[name.lower()])

    def parse(self, name: str) -> XmlElement:
        """Parse the cached tree of a part."""
        key = name.lower()
        if key not in self._roots:
            self._roots[key] = parse_part(self.read(name), name)
        return self._roots[key]

    def read_pieces(self, parts: re.Pattern[str], unshown: Collection[XmlElement] = ()) -> Iterator[str]:
        """Read the text of each run in some parts, to detect text that a converter lost.

        The text has no lists, formats, or positions. It excludes nodes in `unshown`, footers, hidden shapes,
        and letters of symbol fonts.
        """
        for name in filter(parts.fullmatch, self._names.values()):
            try:
                root = self.parse(name)
            except UnreadableDocument:
                continue  # the converter reports damaged parts
            if "chart" in name.lower():  # skip numbers, which have formats, and repeated categories
                caches = root.iter("{*}strCache", "{*}strDim", "{*}txData")
                names = (each for cache in caches for each in cache.iter("{*}v", "{*}pt"))
                yield from {each.text for each in (*names, *root.iter("{*}t")) if each.text}
            else:
                unseen = {*unshown} | {text for each in _find_unseen(root) for text in each.iter("{*}t")}
                yield from (each.text for each in root.iter("{*}t") if each.text and each not in unseen)


def parse_part(data: bytes, name: str) -> XmlElement:
    """Parse XML without entities and network access, and resolve its alternatives."""
    data = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", data)
    root = read_xml(data, f"{name[:200]!r}")
    resolve_alternatives(root)
    return root


_ALTERNATIVES, _CHOICE, _FALLBACK = (
    qualify("mc:AlternateContent"),
    qualify("mc:Choice"),
    qualify("mc:Fallback"),
)
_TEXTS = (qualify("w:t"), qualify("a:t"), qualify("m:t"))
_SHOWN = (
    qualify("a:blip"),
    qualify("v:imagedata"),
    qualify("c:chart"),
    qualify("cx:chart"),
    qualify("dgm:relIds"),
)


def resolve_alternatives(root: XmlElement) -> None:
    """Replace each `mc:AlternateContent` in a tree by one of its branches.

    The first branch with text or a graphic is the one that Office shows. Some programs write an empty Choice
    and a Fallback with text, to preserve content for older Office versions as an image or as text.
    """
    for each in list(root.iter(_ALTERNATIVES)):
        parent = each.getparent()
        if parent is None:
            continue
        branches = [branch for branch in each if branch.tag in {_CHOICE, _FALLBACK}]
        chosen = next(
            (branch for branch in branches if _shows_something(branch)), branches[0] if branches else ()
        )
        at = parent.index(each)
        for offset, child in enumerate(list(chosen)):
            parent.insert(at + offset, child)
        parent.remove(each)


def _shows_something(branch: XmlElement) -> bool:
    return (
        any((text.text or "").strip() for text in branch.iter(*_TEXTS))
        or next(branch.iter(*_SHOWN), None) is not None
    )


WORD_PARTS = re.compile(
    r"word/(?:document\d*|footnotes|endnotes|charts/chart(?:ex)?\d+|diagrams/data\d+)\.xml", re.IGNORECASE
)
SLIDE_PARTS = re.compile(
    r"ppt/(?:slides/slide|notesSlides/notesSlide|charts/chart(?:ex)?|diagrams/data)\d+\.xml", re.IGNORECASE
)
_FOOTERS = frozenset({"sldNum", "ftr", "hdr", "dt"})
_SHAPES = frozenset({"sp", "pic", "grpSp", "graphicFrame", "cxnSp", "wsp", "spTree"})


def _find_unseen(root: XmlElement) -> Iterator[XmlElement]:
    for each in root.iter("{*}rFonts", "{*}latin"):  # letters of a symbol font are symbols
        if is_symbol_font(each.get(qualify("w:ascii"), "") or each.get("typeface", "")):
            yield from islice(_climb(each), 1, 2)
    yield from (each for each in root.iter("{*}fld") if each.get("type", "") == "slidenum")
    for each in root.iter("{*}ph", "{*}cNvPr"):
        if each.get("type", "") in _FOOTERS or each.get("hidden", "0") in {"1", "true"}:
            yield next((up for up in _climb(each) if get_local_name(up) in _SHAPES), each)


def _climb(element: XmlElement) -> Iterator[XmlElement]:
    while (above := element.getparent()) is not None:
        yield above
        element = above

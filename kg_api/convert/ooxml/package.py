"""Parts of an Office file with their relationships, as XML trees in which every alternative is decided."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import unquote

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]: no types

from kg_api.convert.ooxml.text import is_symbol_font
from kg_api.convert.shared.containers import local_name, read_entry
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
"""ISO/IEC 29500 Strict names the same elements in other namespaces."""


@cache
def q(name: str) -> str:
    """Return the full name of `prefix:name`."""
    prefix, _, local = name.partition(":")
    return f"{{{_PREFIXES[prefix]}}}{local}"


class XmlElement(Protocol):
    """An element of lxml as far as it is used here; lxml has no types."""

    tag: str
    text: str | None
    tail: str | None
    attrib: Mapping[str, str]

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[XmlElement]: ...
    def get(self, name: str, default: str, /) -> str: ...
    def find(self, path: str, /) -> XmlElement | None: ...
    def findall(self, path: str, /) -> list[XmlElement]: ...
    def iter(self, *tags: str) -> Iterator[XmlElement]: ...
    def getparent(self) -> XmlElement | None: ...
    def index(self, child: XmlElement, /) -> int: ...
    def insert(self, at: int, child: XmlElement, /) -> None: ...
    def remove(self, child: XmlElement, /) -> None: ...


class Relationship(NamedTuple):
    """A part that another part names."""

    kind: str
    target: str
    external: bool


class Package:
    """An Office file whose archive was checked."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = {name.lower(): name for name in archive.namelist()}
        self._relationships: dict[str, dict[str, Relationship]] = {}

    def get_main_part(self, default: str) -> str:
        """Return the name of the part that is the document."""
        found = (each.target for each in self.get_relationships("").values() if each.kind == "officeDocument")
        return next((name for name in found if self.has(name)), default)

    def has(self, name: str) -> bool:
        return name.lower() in self._names

    def get_relationships(self, part: str) -> dict[str, Relationship]:
        """Return the relationships of a part by their ids."""
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
        """Return the name of the first part that `part` names as a `kind`."""
        found = (each.target for each in self.get_relationships(part).values() if each.kind == kind)
        return next((name for name in found if self.has(name)), None)

    def get_target(self, part: str, identity: str) -> str | None:
        """Return the name of the part behind a relationship id, if it is in the file."""
        found = self.get_relationships(part).get(identity)
        return found.target if found and not found.external and self.has(found.target) else None

    def read(self, name: str) -> bytes:
        return read_entry(self._archive, self._names[name.lower()])

    def parse(self, name: str) -> XmlElement:
        """Parse a part.

        Raises:
            UnreadableDocument: The part is damaged.
        """
        return parse_part(self.read(name), name)


def parse_part(data: bytes, name: str) -> XmlElement:
    """Parse XML without entities and network, and decide its alternatives.

    Raises:
        UnreadableDocument: The part is damaged.
    """
    library = cast("Any", etree)
    parser = library.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = cast(
            "XmlElement",
            library.fromstring(_STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", data), parser),
        )
    except (library.LxmlError, ValueError) as error:
        raise UnreadableDocument(f"{name[:200]!r} in it is damaged ({error}); save the file anew") from error
    resolve_alternatives(root)
    return root


_ALTERNATIVES, _CHOICE, _FALLBACK = q("mc:AlternateContent"), q("mc:Choice"), q("mc:Fallback")
_TEXTS = (q("w:t"), q("a:t"), q("m:t"))
_SHOWN = (q("a:blip"), q("v:imagedata"), q("c:chart"), q("cx:chart"), q("dgm:relIds"))


def resolve_alternatives(root: XmlElement) -> None:
    """Put the content of one branch in the place of each `mc:AlternateContent`, in a whole tree.

    The first branch with text or a graphic is the one that Office shows. An empty Choice with text in its
    Fallback comes from programs that keep what an older Office cannot draw as a picture or as text.
    """
    for each in list(root.iter(_ALTERNATIVES)):
        parent = each.getparent()
        if parent is None:
            continue
        branches = [branch for branch in each if branch.tag in {_CHOICE, _FALLBACK}]
        shown = next(
            (branch for branch in branches if _shows_something(branch)), branches[0] if branches else ()
        )
        at = parent.index(each)
        for offset, child in enumerate(list(shown)):
            parent.insert(at + offset, child)
        parent.remove(each)


def _shows_something(branch: XmlElement) -> bool:
    return (
        any((text.text or "").strip() for text in branch.iter(*_TEXTS))
        or next(branch.iter(*_SHOWN), None) is not None
    )


# A simple reader of all text nodes of Word and PowerPoint files, to find text that their converters lost.
#
# It shares nothing with the converters but the parser, and knows no lists, looks or positions.

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
        if local_name(each) != "t":
            pieces.append(" ")
        elif each.text and each not in skipped:
            above = next((up for up in _climb(each) if local_name(up) in {"p", "rt", "oMath"}), each)
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
        shown = _get(each, "val") not in styles if local_name(each) != "vanish" else _get(each, "val") in _OFF
        above = list(islice(_climb(each), 2))
        if not shown and local_name(above[-1]) in {"r", "p"}:
            yield above[-1]
    for each in root.iter("{*}rFonts", "{*}latin"):  # letters of a symbol font are signs
        if is_symbol_font(_get(each, "ascii") or each.get("typeface", "")):
            yield from islice(_climb(each), 1, 2)
    for each in root.iter("{*}trPr"):
        if any(local_name(child) in {"hidden", "del"} for child in each):
            yield from islice(_climb(each), 1)
    yield from (each for each in root.iter("{*}fld") if each.get("type", "") == "slidenum")
    for each in root.iter("{*}ph", "{*}cNvPr"):
        if each.get("type", "") in _FOOTERS or each.get("hidden", "0") in {"1", "true"}:
            yield next((up for up in _climb(each) if local_name(up) in _SHAPES), each)


def _find_hidden_styles(styles: XmlElement) -> set[str]:
    found = dict[str, tuple[str, str]]()
    for each in styles.iter("{*}style"):
        said = {local_name(child): _get(child, "val") for child in each.iter("{*}vanish", "{*}basedOn")}
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


def _get(element: XmlElement, name: str) -> str:
    """An attribute in the namespace of its element."""
    return element.get(element.tag.rpartition("}")[0] + "}" + name, "")

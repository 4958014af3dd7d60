"""Automatic numbers of paragraphs as Word shows them: `1.`, `2.1`, `Article IV`, `(c)`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from kg_api.convert.docx.styles import VALUE, Styles, is_on
from kg_api.convert.markdown_text import one_line
from kg_api.convert.ooxml.lists import BULLET
from kg_api.convert.ooxml.numbers import format_number
from kg_api.convert.ooxml.package import XmlElement, q

_LEVELS = 9
_NUMBERING, _NUM_ID, _LEVEL, _LEVEL_AT = q("w:numPr"), q("w:numId"), q("w:lvl"), q("w:ilvl")
_PLACE = re.compile(r"%([1-9])")


class ParagraphNumber(NamedTuple):
    """What stands before a paragraph."""

    level: int
    text: str
    """The number, or `BULLET`."""


@dataclass(frozen=True, slots=True)
class _Level:
    form: str
    text: str
    start: int
    restart: int | None
    """Restarts below a paragraph of one of the first `restart` levels; None: of each level above."""
    style: str
    legal: bool


@dataclass(slots=True)
class _List:
    """A `w:num`: a list definition with what it overrides."""

    abstract: str
    levels: dict[int, _Level] = field(default_factory=dict[int, _Level])
    starts: dict[int, int] = field(default_factory=dict[int, int])


class Numbering:
    """Counts the numbered paragraphs of a document in reading order.

    Word counts by list definition: lists of one definition continue each other, unless one of them overrides
    the start.
    """

    def __init__(self, root: XmlElement | None, styles: Styles) -> None:
        self._styles = styles
        self._lists: dict[str, _List] = {}
        self._counts: dict[str, list[int | None]] = {}
        self._overridden: set[tuple[str, int]] = set()
        self.unknown: Counter[str] = Counter()
        """Numbers in formats that are not known, and shown as decimals."""
        if root is not None:
            self._read(root)

    def count(self, properties: XmlElement | None) -> ParagraphNumber | None:
        """Count a paragraph, and return what Word shows before it."""
        place = self._find_place(properties)
        if place is None:
            return None
        identity, at = place
        found = self._lists[identity]
        level = found.levels.get(at)
        if level is None:
            return None
        counts = self._counts.setdefault(found.abstract, [None] * _LEVELS)
        if at in found.starts and (identity, at) not in self._overridden:
            self._overridden.add((identity, at))
            counts[at] = None
        above = counts[at]
        counts[at] = _get_start(found, at) if above is None else above + 1
        for upper in range(at):  # a level that was passed over counts as begun
            counts[upper] = _get_start(found, upper) if counts[upper] is None else counts[upper]
        for lower in range(at + 1, _LEVELS):
            restart = found.levels[lower].restart if lower in found.levels else None
            if restart is None or at < restart:
                counts[lower] = None
        if level.form == "bullet":
            return ParagraphNumber(at, BULLET)
        text = _PLACE.sub(lambda number: self._format(found, level, int(number[1]) - 1, counts), level.text)
        return ParagraphNumber(at, one_line(text)) if text.strip() else None

    def _format(self, found: _List, level: _Level, at: int, counts: list[int | None]) -> str:
        shown, value = found.levels.get(at), counts[at]
        if shown is None or value is None or shown.form == "bullet":
            return ""
        form = "decimal" if level.legal and shown.form != "decimalZero" else shown.form
        text = format_number(value, form, self._styles.language)
        if text is None:
            self.unknown[form] += 1
            return str(value)
        return text

    def _find_place(self, properties: XmlElement | None) -> tuple[str, int] | None:
        """The list and the level of a paragraph: its own, or those of its style."""
        chain = self._styles.follow(self._styles.get_paragraph_style(properties))
        identity, at = "", None
        for style, settings in ((None, properties), *((style, style.paragraph) for style in chain)):
            numbering = None if settings is None else settings.find(_NUMBERING)
            if numbering is None:
                continue
            level, name = numbering.find(_LEVEL_AT), numbering.find(_NUM_ID)
            if at is None and level is not None and level.get(VALUE, "").isdecimal():
                at = int(level.get(VALUE, ""))
            if name is None:
                continue
            identity = name.get(VALUE, "")
            if (
                style is not None and identity in self._lists
            ):  # the level names the style, whatever the style says
                linked = (
                    i for i, each in self._lists[identity].levels.items() if each.style == style.identity
                )
                at = next(linked, at)
            break
        return (identity, min(at or 0, _LEVELS - 1)) if identity in self._lists else None

    def _read(self, root: XmlElement) -> None:
        abstracts = {each.get(q("w:abstractNumId"), ""): each for each in root.findall(q("w:abstractNum"))}
        linked = {
            link.get(VALUE, ""): identity
            for identity, each in abstracts.items()
            if (link := each.find(q("w:styleLink"))) is not None
        }
        for each in root.findall(q("w:num")):
            name = each.find(q("w:abstractNumId"))
            abstract = "" if name is None else name.get(VALUE, "")
            link = abstracts[abstract].find(q("w:numStyleLink")) if abstract in abstracts else None
            if link is not None:
                abstract = linked.get(link.get(VALUE, ""), abstract)
            found = _List(abstract)
            for level in abstracts[abstract].findall(_LEVEL) if abstract in abstracts else ():
                _add_level(found, level)
            for override in each.findall(q("w:lvlOverride")):
                start, level = override.find(q("w:startOverride")), override.find(_LEVEL)
                if level is not None:
                    _add_level(found, level)
                if start is not None and override.get(_LEVEL_AT, "").isdecimal():
                    found.starts[int(override.get(_LEVEL_AT, ""))] = _to_int(start.get(VALUE, ""), 1)
            self._lists[each.get(_NUM_ID, "")] = found


def _get_start(found: _List, at: int) -> int:
    level = found.levels.get(at)
    return found.starts.get(at, 1 if level is None else level.start)


def _add_level(found: _List, element: XmlElement) -> None:
    if element.get(_LEVEL_AT, "").isdecimal():
        found.levels[int(element.get(_LEVEL_AT, ""))] = _read_level(element)


def _read_level(element: XmlElement) -> _Level:
    said = {
        name: each
        for name in ("numFmt", "lvlText", "start", "lvlRestart", "pStyle", "isLgl")
        if (each := element.find(q(f"w:{name}"))) is not None
    }
    form = said["numFmt"].get(VALUE, "decimal") if "numFmt" in said else "decimal"
    return _Level(
        said["numFmt"].get(q("w:format"), "decimal") if form == "custom" else form,
        said["lvlText"].get(VALUE, "") if "lvlText" in said else "",
        _to_int(said["start"].get(VALUE, ""), 0) if "start" in said else 0,
        _to_int(said["lvlRestart"].get(VALUE, ""), 0) if "lvlRestart" in said else None,
        said["pStyle"].get(VALUE, "") if "pStyle" in said else "",
        is_on(said.get("isLgl")),
    )


def _to_int(text: str, default: int) -> int:
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else default

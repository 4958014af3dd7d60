"""Styles of a Word document: headings, numbering, and how runs look, through the chains of styles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kg_api.convert.ooxml.inline import Script
from kg_api.convert.ooxml.package import XmlElement, q

VALUE = q("w:val")
_STYLE, _NAME, _BASE, _ID, _TYPE = q("w:style"), q("w:name"), q("w:basedOn"), q("w:styleId"), q("w:type")
_PARAGRAPH, _RUN, _RUN_STYLE, _OUTLINE = q("w:pPr"), q("w:rPr"), q("w:rStyle"), q("w:outlineLvl")
_VANISH, _STRIKE, _DOUBLE, _SHIFT = q("w:vanish"), q("w:strike"), q("w:dstrike"), q("w:vertAlign")
_FONTS, _ASCII, _MOVE = q("w:rFonts"), q("w:ascii"), q("w:position")
_MIN_MOVE = 4
"""Half points; less than two points is a correction of the font."""
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_CODE = frozenset({"code", "html preformatted", "source code", "preformatted text"})
_BODY_LEVEL = 9
_SCRIPTS: dict[str, Script] = {"superscript": "raised", "subscript": "lowered"}


def is_on(element: XmlElement | None) -> bool:
    """Whether a property that is switched on by its presence is on."""
    return element is not None and element.get(VALUE, "1") not in {"0", "false", "off", "none"}


@dataclass(frozen=True, slots=True)
class Style:
    """One style, without those that it is based on."""

    identity: str
    name: str
    based_on: str
    paragraph: XmlElement | None
    run: XmlElement | None


class Look(NamedTuple):
    """How a run is shown."""

    script: Script = ""
    moved: Script = ""
    """Whether it stands above or below its line, as drop caps and old superscripts do."""
    struck: bool = False
    hidden: bool = False
    font: str = ""


class Styles:
    """The styles of a document; their chains are followed once."""

    def __init__(self, root: XmlElement | None) -> None:
        self._styles: dict[str, Style] = {}
        self._chains: dict[str, tuple[Style, ...]] = {}
        self._looks: dict[tuple[str, str], Look] = {}
        self._default = ""
        for each in () if root is None else root.iter(_STYLE):
            identity = each.get(_ID, "")
            self._styles[identity] = Style(
                identity,
                _value(each.find(_NAME)).lower(),
                _value(each.find(_BASE)),
                each.find(_PARAGRAPH),
                each.find(_RUN),
            )
            if each.get(_TYPE, "") == "paragraph" and each.get(q("w:default"), "") in {"1", "true", "on"}:
                self._default = identity
        defaults = None if root is None else root.find(f"{q('w:docDefaults')}/{q('w:rPrDefault')}/{_RUN}")
        self._defaults = defaults
        language = None if defaults is None else defaults.find(q("w:lang"))
        self.language = "en" if language is None else language.get(VALUE, "en")

    def get_paragraph_style(self, properties: XmlElement | None) -> str:
        """Return the id of the style of a paragraph."""
        style = None if properties is None else properties.find(q("w:pStyle"))
        return self._default if style is None else style.get(VALUE, "")

    def follow(self, identity: str) -> tuple[Style, ...]:
        """Return a style and those that it is based on, the nearest first."""
        if identity not in self._chains:
            found: dict[str, Style] = {}
            at = identity
            while at in self._styles and at not in found:
                found[at] = self._styles[at]
                at = self._styles[at].based_on
            self._chains[identity] = tuple(found.values())
        return self._chains[identity]

    def get_heading_level(self, properties: XmlElement | None) -> int:
        """Return 1 to 9 for a heading, or 0."""
        chain = self.follow(self.get_paragraph_style(properties))
        for name, settings in (("", properties), *((style.name, style.paragraph) for style in chain)):
            outline = None if settings is None else settings.find(_OUTLINE)
            if outline is not None and outline.get(VALUE, "").isdecimal():
                level = int(outline.get(VALUE, ""))
                return level + 1 if level < _BODY_LEVEL else 0
            if found := _HEADING.fullmatch(name):
                return int(found[1])
            if name == "title":
                return 1
        return 0

    def is_code(self, properties: XmlElement | None) -> bool:
        return any(style.name in _CODE for style in self.follow(self.get_paragraph_style(properties)))

    def get_look(self, paragraph_style: str, run: XmlElement | None) -> Look:
        """Return how a run with these properties looks in a paragraph of this style."""
        style = None if run is None else run.find(_RUN_STYLE)
        key = paragraph_style, "" if style is None else style.get(VALUE, "")
        if key not in self._looks:
            self._looks[key] = self._combine(*key)
        look = self._looks[key]
        if run is None or len(run) == (style is not None):
            return look
        shift, font, move = run.find(_SHIFT), run.find(_FONTS), run.find(_MOVE)
        hidden, struck, double = run.find(_VANISH), run.find(_STRIKE), run.find(_DOUBLE)
        return Look(
            look.script if shift is None else _SCRIPTS.get(shift.get(VALUE, ""), ""),
            look.moved if move is None else _read_move(move),
            (look.struck if struck is None else is_on(struck)) or is_on(double),
            look.hidden if hidden is None else is_on(hidden),
            look.font if font is None else font.get(_ASCII, look.font),
        )

    def _combine(self, paragraph_style: str, run_style: str) -> Look:
        chains = [list(self._get_runs(each)) for each in (run_style, paragraph_style)]
        defaults = [] if self._defaults is None else [self._defaults]
        every = [*chains[0], *chains[1], *defaults]
        # A switch that paragraph style and character style both set is off again (ECMA-376, 17.7.3).
        struck, hidden = (
            sum(is_on(_find_first(chain, name)) for chain in chains) == 1
            or is_on(_find_first(defaults, name))
            for name in (_STRIKE, _VANISH)
        )
        shift, font = _find_first(every, _SHIFT), _find_first(every, _FONTS)
        return Look(
            "" if shift is None else _SCRIPTS.get(shift.get(VALUE, ""), ""),
            _read_move(_find_first(chains[0], _MOVE)),
            struck or is_on(_find_first(every, _DOUBLE)),
            hidden,
            "" if font is None else font.get(_ASCII, ""),
        )

    def _get_runs(self, identity: str) -> Iterator[XmlElement]:
        return (style.run for style in self.follow(identity) if style.run is not None)


def _find_first(runs: list[XmlElement], name: str) -> XmlElement | None:
    return next((found for run in runs if (found := run.find(name)) is not None), None)


def _read_move(element: XmlElement | None) -> Script:
    text = _value(element)
    points = int(text) if re.fullmatch(r"-?[0-9]{1,4}", text) else 0
    return "raised" if points >= _MIN_MOVE else "lowered" if points <= -_MIN_MOVE else ""


def _value(element: XmlElement | None) -> str:
    return "" if element is None else element.get(VALUE, "")

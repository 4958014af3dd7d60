"""Styles of a Word document: headings, numbering, and appearance of runs, with inheritance."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from kg_api.convert.ooxml.package import XmlElement, qualify
from kg_api.convert.ooxml.text import BULLET, Script, format_number
from kg_api.convert.shared.markdown_text import join_lines

VALUE = qualify("w:val")
_STYLE, _NAME, _BASE, _ID, _TYPE = (
    qualify("w:style"),
    qualify("w:name"),
    qualify("w:basedOn"),
    qualify("w:styleId"),
    qualify("w:type"),
)
_PARAGRAPH, _RUN, _RUN_STYLE, _OUTLINE = (
    qualify("w:pPr"),
    qualify("w:rPr"),
    qualify("w:rStyle"),
    qualify("w:outlineLvl"),
)
_VANISH, _STRIKE, _DOUBLE, _SHIFT = (
    qualify("w:vanish"),
    qualify("w:strike"),
    qualify("w:dstrike"),
    qualify("w:vertAlign"),
)
_FONTS, _ASCII, _MOVE = qualify("w:rFonts"), qualify("w:ascii"), qualify("w:position")
_MIN_MOVE = 4  # half points: a smaller move only adjusts the font
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_CODE = frozenset({"code", "html preformatted", "source code", "preformatted text"})
_BODY_LEVEL = 9
_SCRIPTS: dict[str, Script] = {"superscript": "raised", "subscript": "lowered"}


def is_switched_on(element: XmlElement | None) -> bool:
    """Check if an on/off property is present and not switched off."""
    return element is not None and element.get(VALUE, "1") not in {"0", "false", "off", "none"}


@dataclass(frozen=True, slots=True)
class Style:
    """Style without its base styles."""

    identity: str
    name: str
    based_on: str
    paragraph: XmlElement | None
    run: XmlElement | None


class Look(NamedTuple):
    script: Script = ""
    moved: Script = ""  # vertical position, as for drop caps and old superscripts
    struck: bool = False
    hidden: bool = False
    font: str = ""


class Styles:
    """Styles of a document, with cached inheritance."""

    def __init__(self, root: XmlElement | None) -> None:
        self._styles: dict[str, Style] = {}
        self._chains: dict[str, tuple[Style, ...]] = {}
        self._looks: dict[tuple[str, str], Look] = {}
        self._default = ""
        for each in () if root is None else root.iter(_STYLE):
            identity = each.get(_ID, "")
            self._styles[identity] = Style(
                identity,
                _read_value(each.find(_NAME)).lower(),
                _read_value(each.find(_BASE)),
                each.find(_PARAGRAPH),
                each.find(_RUN),
            )
            if each.get(_TYPE, "") == "paragraph" and each.get(qualify("w:default"), "") in {
                "1",
                "true",
                "on",
            }:
                self._default = identity
        defaults = (
            None
            if root is None
            else root.find(f"{qualify('w:docDefaults')}/{qualify('w:rPrDefault')}/{_RUN}")
        )
        self._defaults = defaults
        language = None if defaults is None else defaults.find(qualify("w:lang"))
        self.language = "en" if language is None else language.get(VALUE, "en")

    def get_paragraph_style(self, properties: XmlElement | None) -> str:
        style = None if properties is None else properties.find(qualify("w:pStyle"))
        return self._default if style is None else style.get(VALUE, "")

    def follow(self, identity: str) -> tuple[Style, ...]:
        """Return a style and its base styles, nearest first."""
        if identity not in self._chains:
            found: dict[str, Style] = {}
            at = identity
            while at in self._styles and at not in found:
                found[at] = self._styles[at]
                at = self._styles[at].based_on
            self._chains[identity] = tuple(found.values())
        return self._chains[identity]

    def get_heading_level(self, properties: XmlElement | None) -> int:
        """Return 1 to 9 for a heading (0: not a heading)."""
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
            (look.struck if struck is None else is_switched_on(struck)) or is_switched_on(double),
            look.hidden if hidden is None else is_switched_on(hidden),
            look.font if font is None else font.get(_ASCII, look.font),
        )

    def _combine(self, paragraph_style: str, run_style: str) -> Look:
        names = run_style, paragraph_style
        chains = [[style.run for style in self.follow(each) if style.run is not None] for each in names]
        defaults = [] if self._defaults is None else [self._defaults]
        every = [*chains[0], *chains[1], *defaults]
        # A toggle property in both paragraph style and character style is off (ECMA-376, 17.7.3).
        struck, hidden = (
            sum(is_switched_on(_find_first(chain, name)) for chain in chains) == 1
            or is_switched_on(_find_first(defaults, name))
            for name in (_STRIKE, _VANISH)
        )
        shift, font = _find_first(every, _SHIFT), _find_first(every, _FONTS)
        return Look(
            "" if shift is None else _SCRIPTS.get(shift.get(VALUE, ""), ""),
            _read_move(_find_first(chains[0], _MOVE)),
            struck or is_switched_on(_find_first(every, _DOUBLE)),
            hidden,
            "" if font is None else font.get(_ASCII, ""),
        )


def _find_first(runs: list[XmlElement], name: str) -> XmlElement | None:
    return next((found for run in runs if (found := run.find(name)) is not None), None)


def _read_move(element: XmlElement | None) -> Script:
    text = _read_value(element)
    points = int(text) if re.fullmatch(r"-?[0-9]{1,4}", text) else 0
    return "raised" if points >= _MIN_MOVE else "lowered" if points <= -_MIN_MOVE else ""


def _read_value(element: XmlElement | None) -> str:
    return "" if element is None else element.get(VALUE, "")


# Automatic paragraph numbers: `1.`, `2.1`, `Article IV`, `(c)`

_LEVELS = 9
_NUMBERING, _NUM_ID, _LEVEL, _LEVEL_AT = (
    qualify("w:numPr"),
    qualify("w:numId"),
    qualify("w:lvl"),
    qualify("w:ilvl"),
)
_PLACE = re.compile(r"%([1-9])")


class ParagraphNumber(NamedTuple):
    level: int
    text: str  # the number, or `BULLET`


@dataclass(frozen=True, slots=True)
class _Level:
    form: str
    text: str
    start: int
    restart: int | None
    """Restart after a paragraph of one of the first `restart` levels (None: of any higher level)."""
    style: str
    legal: bool


@dataclass(slots=True)
class _List:
    """`w:num`: a list definition with overrides."""

    abstract: str
    levels: dict[int, _Level] = field(default_factory=dict[int, _Level])
    starts: dict[int, int] = field(default_factory=dict[int, int])


class Numbering:
    """Counter of the numbered paragraphs of a document in reading order.

    Word counts by list definition, so lists with the same definition continue each other unless one overrides
    the start.
    """

    def __init__(self, root: XmlElement | None, styles: Styles) -> None:
        self._styles = styles
        self._lists: dict[str, _List] = {}
        self._counts: dict[str, list[int | None]] = {}
        self._overridden: set[tuple[str, int]] = set()
        self.unknown: Counter[str] = Counter()  # numbers in unknown formats, shown as decimals
        if root is not None:
            self._read(root)

    def count(self, properties: XmlElement | None) -> ParagraphNumber | None:
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
        for upper in range(at):  # a skipped level counts as started
            counts[upper] = _get_start(found, upper) if counts[upper] is None else counts[upper]
        for lower in range(at + 1, _LEVELS):
            restart = found.levels[lower].restart if lower in found.levels else None
            if restart is None or at < restart:
                counts[lower] = None
        if level.form == "bullet":
            return ParagraphNumber(at, BULLET)
        text = _PLACE.sub(lambda number: self._format(found, level, int(number[1]) - 1, counts), level.text)
        return ParagraphNumber(at, join_lines(text)) if text.strip() else None

    def _format(self, found: _List, level: _Level, at: int, counts: list[int | None]) -> str:
        level_format, value = found.levels.get(at), counts[at]
        if level_format is None or value is None or level_format.form == "bullet":
            return ""
        form = "decimal" if level.legal and level_format.form != "decimalZero" else level_format.form
        text = format_number(value, form, self._styles.language)
        if text is None:
            self.unknown[form] += 1
            return str(value)
        return text

    def _find_place(self, properties: XmlElement | None) -> tuple[str, int] | None:
        """Return list and level of a paragraph, from its properties or its style."""
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
            ):  # a level linked to the style overrides the level in the style
                linked = (
                    i for i, each in self._lists[identity].levels.items() if each.style == style.identity
                )
                at = next(linked, at)
            break
        return (identity, min(at or 0, _LEVELS - 1)) if identity in self._lists else None

    def _read(self, root: XmlElement) -> None:
        abstracts = {
            each.get(qualify("w:abstractNumId"), ""): each for each in root.findall(qualify("w:abstractNum"))
        }
        linked = {
            link.get(VALUE, ""): identity
            for identity, each in abstracts.items()
            if (link := each.find(qualify("w:styleLink"))) is not None
        }
        for each in root.findall(qualify("w:num")):
            name = each.find(qualify("w:abstractNumId"))
            abstract = "" if name is None else name.get(VALUE, "")
            link = abstracts[abstract].find(qualify("w:numStyleLink")) if abstract in abstracts else None
            if link is not None:
                abstract = linked.get(link.get(VALUE, ""), abstract)
            found = _List(abstract)
            for level in abstracts[abstract].findall(_LEVEL) if abstract in abstracts else ():
                _add_level(found, level)
            for override in each.findall(qualify("w:lvlOverride")):
                start, level = override.find(qualify("w:startOverride")), override.find(_LEVEL)
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
        values = {
            name: each
            for name in ("numFmt", "lvlText", "start", "lvlRestart", "pStyle", "isLgl")
            if (each := element.find(qualify(f"w:{name}"))) is not None
        }
        form = values["numFmt"].get(VALUE, "decimal") if "numFmt" in values else "decimal"
        found.levels[int(element.get(_LEVEL_AT, ""))] = _Level(
            values["numFmt"].get(qualify("w:format"), "decimal") if form == "custom" else form,
            values["lvlText"].get(VALUE, "") if "lvlText" in values else "",
            _to_int(values["start"].get(VALUE, ""), 0) if "start" in values else 0,
            _to_int(values["lvlRestart"].get(VALUE, ""), 0) if "lvlRestart" in values else None,
            values["pStyle"].get(VALUE, "") if "pStyle" in values else "",
            is_switched_on(values.get("isLgl")),
        )


def _to_int(text: str, default: int) -> int:
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else default

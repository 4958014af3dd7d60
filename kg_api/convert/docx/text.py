"""Text of Word paragraphs: fields, content controls, notes, and images."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from kg_api.convert.docx.styles import VALUE, Look, Styles, is_switched_on
from kg_api.convert.ooxml.package import XmlElement, qualify
from kg_api.convert.ooxml.text import ALTERNATIVES, InlineText, is_symbol_font, translate_symbols
from kg_api.convert.shared.formulas import write_formula
from kg_api.schemas.images import ReadImage

_MARK, _KIND, _DATA = qualify("w:fldChar"), qualify("w:fldCharType"), qualify("w:ffData")
_DELETED = (qualify("w:del"), qualify("w:moveFrom"))
_CHECKED, _UNCHECKED = "☒", "☐"
_MAX_EXAMPLE = 60
_SILENT = frozenset(
    {"XE", "TC", "TA", "RD", "SET", "ASK", "PRIVATE", "ADVANCE", "BIBLIOGRAPHY", "NEXT", "NEXTIF"}
)
"""Fields without visible text: index entries, variables, and mail merge commands."""


@dataclass(slots=True)
class _Field:
    data: XmlElement | None
    code: str = ""
    in_result: bool = False
    has_result: bool = False


class Fields:
    """Open fields at a position of the document."""

    def __init__(self) -> None:
        self._open: list[_Field] = []
        self._unmatched: set[XmlElement] = set()
        self.without_result: Counter[str] = Counter()
        """Codes of fields without a stored result, which Word computes when it shows them."""

    def find_unmatched(self, root: XmlElement) -> None:
        """Record fields that never end, so that their code does not hide the following text."""
        deleted = {each for gone in root.iter(*_DELETED) for each in gone.iter(_MARK)}
        begun = list[XmlElement]()
        for each in root.iter(_MARK):
            if each in deleted:
                continue
            if each.get(_KIND, "") == "begin":
                begun.append(each)
            elif begun and each.get(_KIND, "") == "end":
                begun.pop()
        self._unmatched.update(begun)

    @property
    def in_code(self) -> bool:
        return any(not each.in_result for each in self._open)

    def add_code(self, text: str) -> None:
        if self._open:
            self._open[-1].code += text

    def note_result(self) -> None:
        """Record that the results of all open fields have text."""
        for each in self._open:
            each.has_result = True

    def switch(self, element: XmlElement) -> str:
        """Start, separate, or end a field, and return the text of a form field that stores only its state."""
        kind = element.get(_KIND, "")
        if kind == "begin" and element not in self._unmatched:
            self._open.append(_Field(element.find(_DATA)))
        elif kind == "separate" and self._open:
            self._open[-1].in_result = True
        elif kind == "end" and self._open:
            return self._close(self._open.pop())
        return ""

    def begin_simple(self, code: str) -> None:
        """Start a `w:fldSimple`, which contains only its result."""
        self._open.append(_Field(None, code, in_result=True))

    def end_simple(self) -> None:
        ended = self._open.pop()
        if not ended.has_result and not self.in_code:
            self._count_missing(ended)

    def _close(self, ended: _Field) -> str:
        words = ended.code.split()
        name = words[0].upper() if words else ""
        if ended.has_result or self.in_code:
            return ""
        if name == "FORMCHECKBOX":
            return read_check_box(ended.data)
        if name == "FORMDROPDOWN":
            items = None if ended.data is None else ended.data.find(qualify("w:ddList"))
            if items is None:
                return ""
            chosen = items.find(qualify("w:result"))
            entries = [each.get(VALUE, "") for each in items.findall(qualify("w:listEntry"))]
            at = "0" if chosen is None else chosen.get(VALUE, "0")
            return entries[int(at)] if at.isdecimal() and int(at) < len(entries) else ""
        if not ended.in_result or name == "EQ":  # Word renders the formula from the field code
            self._count_missing(ended)
        return ""

    def _count_missing(self, ended: _Field) -> None:
        words = ended.code.split()
        if words and words[0].upper() not in _SILENT:
            self.without_result[" ".join(words)[:_MAX_EXAMPLE]] += 1


def read_check_box(data: XmlElement | None) -> str:
    box = None if data is None else data.find(qualify("w:checkBox"))
    if box is None:
        return _UNCHECKED
    checked = box.find(qualify("w:checked"))
    return (
        _CHECKED
        if is_switched_on(box.find(qualify("w:default")) if checked is None else checked)
        else _UNCHECKED
    )


def read_control_state(properties: XmlElement | None) -> str:
    """Read the value of a content control without text: its check box, selected item, or date."""
    if properties is None:
        return ""
    if (box := properties.find(qualify("w14:checkbox"))) is not None:
        checked = box.find(qualify("w14:checked"))
        on = checked is not None and checked.get(qualify("w14:val"), "1") not in {"0", "false"}
        return _CHECKED if on else _UNCHECKED
    for kind in ("w:dropDownList", "w:comboBox"):
        if (choice := properties.find(qualify(kind))) is not None and (
            last := choice.get(qualify("w:lastValue"), "")
        ):
            items = choice.findall(qualify("w:listItem"))
            texts = {
                each.get(qualify("w:value"), ""): each.get(qualify("w:displayText"), "") for each in items
            }
            return texts.get(last) or last
    date = properties.find(qualify("w:date"))
    return "" if date is None else date.get(qualify("w:fullDate"), "").partition("T")[0]


# Displayed text of a paragraph, and its anchored objects

HIDDEN, DELETED, OBJECTS = "hidden words", "words of tracked deletions", "embedded objects"
SYMBOLS = "signs of fonts that are not known"
_MAX_MOVED = 8
_RUN_PROPERTIES, _TEXT = qualify("w:rPr"), qualify("w:t")
_CONTENT = (
    _TEXT,
    qualify("a:t"),
    qualify("v:textpath"),
    qualify("c:chart"),
    qualify("cx:chart"),
    qualify("dgm:relIds"),
)  # of a graphic
_SKIPPED = frozenset(
    qualify(f"w:{name}")
    for name in (
        *("pPr", "rPr", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr", "tblPr", "tblGrid"),
        *("delInstrText", "fldData", "footnoteRef", "endnoteRef", "annotationRef"),
    )
) | {qualify("wp:positionH"), qualify("wp:positionV")}


@dataclass(frozen=True, slots=True)
class FoundPicture:
    image: ReadImage
    name: str
    words: str


Anchored = FoundPicture | XmlElement | str
"""Image, text of a shape (`w:txbxContent` or `a:p`) outside the line of its anchor, or relationship id of a
chart or diagram.
"""


@dataclass(slots=True)
class ParagraphText:
    inline: InlineText = field(default_factory=InlineText)
    anchored: list[Anchored] = field(default_factory=list[Anchored])


class NoteReference(NamedTuple):
    kind: str
    identity: str
    has_own_mark: bool


class TextReader:
    """Reader of paragraphs in document order. Fields may span several paragraphs."""

    def __init__(
        self,
        styles: Styles,
        left_out: Counter[str],
        mark_note: Callable[[NoteReference], str],
        find_picture: Callable[[str], tuple[ReadImage, str] | None],
    ) -> None:
        self.fields = Fields()
        self.unshown = set[XmlElement]()
        """Hidden, deleted, and computed texts, which are not part of the document text."""
        self._styles = styles
        self._left_out = left_out
        self._mark_note = mark_note
        self._find_image = find_picture
        self._style = ""
        self._text = ParagraphText()
        self._handlers: dict[str, Callable[[XmlElement], None]] = {
            **{qualify(f"w:{name}"): self.count_skipped for name in ("del", "moveFrom")},
            qualify("w:r"): self._read_run,
            qualify("w:sdt"): self._read_control,
            qualify("w:fldSimple"): self._read_simple_field,
            qualify("m:oMath"): self._read_formula,
            qualify("m:oMathPara"): self._read_formula,
        }
        self._in_run: dict[str, Callable[[XmlElement, Look], None]] = {
            _TEXT: self._add_text,
            qualify("w:sym"): self._add_symbol,
            qualify("w:ruby"): self._add_ruby,
            **{qualify(f"w:{kind}"): self._add_note for kind in ("footnoteReference", "endnoteReference")},
            **{qualify(name): self._add_graphic for name in ("w:drawing", "w:pict", "w:object")},
        }
        self._signs = {
            qualify("w:tab"): "\t",
            qualify("w:ptab"): "\t",
            qualify("w:br"): "\n",
            qualify("w:cr"): "\n",
            qualify("w:noBreakHyphen"): "-",
        }

    def read(self, paragraph: XmlElement) -> ParagraphText:
        before = self._text, self._style
        self._text = ParagraphText()
        self._style = self._styles.get_paragraph_style(paragraph.find(qualify("w:pPr")))
        self._read_children(paragraph)
        read, (self._text, self._style) = self._text, before
        return read

    def _read_children(self, element: XmlElement) -> None:
        for child in element:
            if handler := self._handlers.get(child.tag):
                handler(child)
            elif (
                child.tag not in _SKIPPED
            ):  # links, insertions, tags, bidirectional text, and other containers of runs
                self._read_children(child)

    def count_skipped(self, element: XmlElement, reason: str = DELETED) -> None:
        """Count the words below a skipped element."""
        texts = list(element.iter(_TEXT, qualify("w:delText")))
        self.unshown.update(texts)
        self._left_out[reason] += sum(len((each.text or "").split()) for each in texts)

    def _read_control(self, element: XmlElement) -> None:
        before = self._text.inline.size
        self._read_children(element)
        if self._text.inline.size == before and not self.fields.in_code:
            self._text.inline.add(read_control_state(element.find(qualify("w:sdtPr"))))

    def _read_simple_field(self, element: XmlElement) -> None:
        self.fields.begin_simple(element.get(qualify("w:instr"), ""))
        self._read_children(element)
        self.fields.end_simple()

    def _read_formula(self, element: XmlElement) -> None:
        if not self.fields.in_code:
            self._text.inline.add(f" {write_formula(element)} ")
            self.fields.note_result()

    def _read_run(self, run: XmlElement) -> None:
        look = self._styles.get_look(self._style, run.find(_RUN_PROPERTIES))
        for child in run:
            tag = child.tag
            if tag == qualify("w:fldChar"):
                self._text.inline.add(self.fields.switch(child), look.script, struck=look.struck)
            elif tag == qualify("w:instrText"):
                self.fields.add_code(child.text or "")
                self.unshown.update(child.iter(_TEXT))  # nested fields in the field code
            elif self.fields.in_code:
                self.unshown.update(child.iter(_TEXT))
            elif tag in _SKIPPED:
                continue
            elif look.hidden:
                self.count_skipped(child, HIDDEN)
            elif tag in self._signs:
                self._text.inline.add(self._signs[tag], look.script, struck=look.struck)
            elif handler := self._in_run.get(tag):
                self.fields.note_result()
                handler(child, look)
            else:  # some tools nest runs
                self._read_children(child)

    def _add_text(self, element: XmlElement, look: Look) -> None:
        text = element.text or ""
        if look.font and is_symbol_font(look.font):
            text = self._translate(text, look.font)
        moved = look.moved if re.search(r"\d", text) and len(text) <= _MAX_MOVED else ""
        self._text.inline.add(text, look.script or moved, struck=look.struck)

    def _add_symbol(self, element: XmlElement, look: Look) -> None:
        code = element.get(qualify("w:char"), "")
        try:
            sign = chr(int(code, 16))
        except (ValueError, OverflowError):
            return
        symbol = self._translate(sign, element.get(qualify("w:font"), ""))
        self._text.inline.add(symbol, look.script, struck=look.struck)

    def _translate(self, text: str, font: str) -> str:
        translated = translate_symbols(text, font)
        self._left_out[SYMBOLS] += translated.count("\ufffd") - text.count("\ufffd")
        return translated

    def _add_ruby(self, element: XmlElement, look: Look) -> None:
        base, reading = element.find(qualify("w:rubyBase")), element.find(qualify("w:rt"))
        if base is not None:
            self._read_children(base)
        annotation = "" if reading is None else "".join(each.text or "" for each in reading.iter(_TEXT))
        self._text.inline.add(
            f"({annotation})" if annotation.strip() else "", look.script, struck=look.struck
        )

    def _add_note(self, element: XmlElement, look: Look) -> None:
        kind = "endnote" if element.tag == qualify("w:endnoteReference") else "footnote"
        own_mark = element.get(qualify("w:customMarkFollows"), "0") in {"1", "true", "on"}
        mark = self._mark_note(NoteReference(kind, element.get(qualify("w:id"), ""), own_mark))
        self._text.inline.add("" if own_mark else f"[{mark}]", struck=look.struck)

    def _add_graphic(self, element: XmlElement, look: Look) -> None:
        self._left_out[OBJECTS] += sum(1 for _ in element.iter(qualify("o:OLEObject")))
        self._read_graphic(element, "", look)
        if (
            next(element.iter(qualify("a:blip"), qualify("v:imagedata")), None) is None
        ):  # images have their own
            self._add_alternatives(element, look)

    def _add_alternatives(self, element: XmlElement, look: Look) -> None:
        """Add the alternative texts of a graphic without other content, or count them."""
        texts = {
            text for each in element.iter() if (text := (each.get("descr") or each.get("alt", "")).strip())
        }
        if next(element.iter(*_CONTENT), None) is None:
            self._text.inline.add(f" {' '.join(sorted(texts))} ", struck=look.struck)
        else:
            self._left_out[ALTERNATIVES] += len(texts)

    def _read_graphic(self, element: XmlElement, words: str, look: Look) -> None:
        for child in element:
            tag = child.tag
            if tag in {qualify("w:txbxContent"), qualify("a:p")}:
                self._text.anchored.append(child)
            elif tag in {qualify("wp:docPr"), qualify("pic:cNvPr")}:
                words = child.get("descr", "").strip() or child.get("title", "").strip() or words
            elif tag in {qualify("a:blip"), qualify("v:imagedata")}:
                title = child.get(qualify("o:title"), "") if tag == qualify("v:imagedata") else ""
                relationship = child.get(qualify("r:embed"), "") or child.get(qualify("r:id"), "")
                self._add_image(relationship, words or title, look)
            elif tag in {qualify("c:chart"), qualify("cx:chart")}:
                self._text.anchored.append(child.get(qualify("r:id"), ""))
            elif tag == qualify("dgm:relIds"):
                self._text.anchored.append(child.get(qualify("r:dm"), ""))
            elif tag == qualify("v:textpath"):
                self._text.inline.add(f" {child.get('string', '')} ", struck=look.struck)
            elif tag not in _SKIPPED:
                alternative = child.get("alt", "") if tag == qualify("v:shape") else ""
                self._read_graphic(child, alternative or words, look)

    def _add_image(self, relationship: str, words: str, look: Look) -> None:
        if found := self._find_image(relationship):
            self._text.inline.add(" ")
            self._text.anchored.append(FoundPicture(*found, words))
        else:
            self._text.inline.add(f" {words} ", struck=look.struck)

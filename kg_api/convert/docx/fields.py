"""Fields of Word, which may last over paragraphs: their results are shown, never their codes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from kg_api.convert.docx.styles import VALUE, is_on
from kg_api.convert.ooxml.package import XmlElement, q
from kg_api.convert.ooxml.symbols import translate_symbols

_MARK, _KIND, _DATA = q("w:fldChar"), q("w:fldCharType"), q("w:ffData")
_DELETED = (q("w:del"), q("w:moveFrom"))
_CHECKED, _UNCHECKED = "☒", "☐"
_MAX_EXAMPLE = 60
_SILENT = frozenset(
    {"XE", "TC", "TA", "RD", "SET", "ASK", "PRIVATE", "ADVANCE", "BIBLIOGRAPHY", "NEXT", "NEXTIF"}
)
"""Fields that show nothing: entries of indexes, variables, and steps of mail merge."""


@dataclass(slots=True)
class _Field:
    data: XmlElement | None
    code: str = ""
    in_result: bool = False
    has_result: bool = False


class Fields:
    """The fields that are open at a place of the document."""

    def __init__(self) -> None:
        self._open: list[_Field] = []
        self._unmatched: set[XmlElement] = set()
        self.without_result: Counter[str] = Counter()
        """Codes of fields that Word computes anew and stores no result of."""

    def find_unmatched(self, root: XmlElement) -> None:
        """Find fields of a part that begin and never end: their code must not hide what follows."""
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
        """Remember that a result has text."""
        for each in self._open:
            each.has_result = True

    def switch(self, element: XmlElement) -> str:
        """Begin, divide or end a field; return the text of a form field that stores its state alone."""
        kind = element.get(_KIND, "")
        if kind == "begin" and element not in self._unmatched:
            self._open.append(_Field(element.find(_DATA)))
        elif kind == "separate" and self._open:
            self._open[-1].in_result = True
        elif kind == "end" and self._open:
            return self._close(self._open.pop())
        return ""

    def begin_simple(self, code: str) -> None:
        """Begin a `w:fldSimple`, which holds its result alone."""
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
            return _read_choice(ended.data)
        if name == "SYMBOL":
            return _read_symbol(words)
        if not ended.in_result or name == "EQ":  # Word draws the formula that is in its code
            self._count_missing(ended)
        return ""

    def _count_missing(self, ended: _Field) -> None:
        words = ended.code.split()
        if words and words[0].upper() not in _SILENT:
            self.without_result[" ".join(words)[:_MAX_EXAMPLE]] += 1


def read_check_box(data: XmlElement | None) -> str:
    """Return the state of a check box of a form."""
    box = None if data is None else data.find(q("w:checkBox"))
    if box is None:
        return _UNCHECKED
    checked = box.find(q("w:checked"))
    return _CHECKED if is_on(box.find(q("w:default")) if checked is None else checked) else _UNCHECKED


def read_control_state(properties: XmlElement | None) -> str:
    """Return what a content control holds that has no text: the state of its box, its choice or its date."""
    if properties is None:
        return ""
    if (box := properties.find(q("w14:checkbox"))) is not None:
        checked = box.find(q("w14:checked"))
        on = checked is not None and checked.get(q("w14:val"), "1") not in {"0", "false"}
        return _CHECKED if on else _UNCHECKED
    for kind in ("w:dropDownList", "w:comboBox"):
        if (choice := properties.find(q(kind))) is not None and (last := choice.get(q("w:lastValue"), "")):
            items = choice.findall(q("w:listItem"))
            texts = {each.get(q("w:value"), ""): each.get(q("w:displayText"), "") for each in items}
            return texts.get(last) or last
    date = properties.find(q("w:date"))
    return "" if date is None else date.get(q("w:fullDate"), "").partition("T")[0]


def _read_choice(data: XmlElement | None) -> str:
    items = None if data is None else data.find(q("w:ddList"))
    if items is None:
        return ""
    chosen = items.find(q("w:result"))
    entries = [each.get(VALUE, "") for each in items.findall(q("w:listEntry"))]
    at = "0" if chosen is None else chosen.get(VALUE, "0")
    return entries[int(at)] if at.isdecimal() and int(at) < len(entries) else ""


def _read_symbol(words: list[str]) -> str:
    """Read the sign of `SYMBOL 177` in its font."""
    code = words[1] if len(words) > 1 else ""
    if not re.fullmatch(r"[0-9]{1,6}|0[xX][0-9a-fA-F]{1,5}", code):
        return ""
    font = re.search(r'\\f\s*"?([^"\\]+)', " ".join(words[2:]))
    return translate_symbols(
        chr(int(code, 16 if "x" in code.lower() else 10)), font[1].strip() if font else ""
    )

"""The label that a browser shows before each item of a list."""

from __future__ import annotations

import re

from kg_api.convert.html.elements import Element
from kg_api.convert.ooxml.numbers import format_number

_INTEGER = re.compile(r"\s*([+-]?[0-9]{1,10})(?![0-9])")
_STYLE = re.compile(r"(?:^|;)\s*list-style(?:-type)?\s*:([^;]*)", re.IGNORECASE)
_TYPES = {"1": "decimal", "a": "lower-alpha", "A": "upper-alpha", "i": "lower-roman", "I": "upper-roman"}
_LETTERS = {
    **dict.fromkeys(("lower-alpha", "lower-latin"), "abcdefghijklmnopqrstuvwxyz"),
    **dict.fromkeys(("upper-alpha", "upper-latin"), "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "lower-greek": "αβγδεζηθικλμνξοπρστυφχψω",
}
_BULLETS = frozenset({"none", "disc", "circle", "square", "disclosure-open", "disclosure-closed"})
_ROMAN = {"lower-roman": "lowerRoman", "upper-roman": "upperRoman"}
_NUMBERS = frozenset({"decimal", "decimal-leading-zero", *_ROMAN, *_LETTERS})
_MAX_ROMAN = 3_999


class ListNumbering:
    """Counts the items of one list."""

    def __init__(self, element: Element) -> None:
        self._style = _style(element) or ("decimal" if element.tag == "ol" else "disc")
        descending = element.tag == "ol" and "reversed" in element.attrib
        self._step = -1 if descending else 1
        first = sum(1 for _ in element.iterchildren("li")) if descending else 1
        start = _integer(element.get("start", "")) if element.tag == "ol" else None
        self._next = first if start is None else start

    def count(self, item: Element) -> str:
        """Return the label of the next item, such as `12.` or `iv.`; empty for a bullet."""
        value = _integer(item.get("value", ""))
        number = self._next if value is None else value
        self._next = number + self._step
        style = _style(item) or self._style
        return "" if style in _BULLETS else f"{_format(number, style)}."


def _style(element: Element) -> str:
    attributes = element.attrib
    if said := _STYLE.search(attributes.get("style", "")):
        names = said[1].lower().split()
        if known := next((name for name in names if name in _NUMBERS or name in _BULLETS), ""):
            return known
    kind = attributes.get("type", "").strip()
    return _TYPES.get(kind) or (kind.lower() if kind.lower() in _BULLETS else "")


def _integer(text: str) -> int | None:
    found = _INTEGER.match(text)
    return int(found[1]) if found else None


def _format(number: int, style: str) -> str:
    if style == "decimal-leading-zero":
        return f"{number:02}"
    if style in _ROMAN and number <= _MAX_ROMAN:
        return format_number(number, _ROMAN[style]) or str(number)
    if number > 0 and (alphabet := _LETTERS.get(style)):
        letters = ""
        while number:
            number, at = divmod(number - 1, len(alphabet))
            letters = alphabet[at] + letters
        return letters
    return str(number)

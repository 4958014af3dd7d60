"""Formulas (Office Math) as one line of text: `x² = (a + b)/c`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from kg_api.convert.markdown_text import lower_text, raise_text
from kg_api.convert.ooxml.package import XmlElement, q

_LETTERS = re.compile("[\U0001d400-\U0001d7ff\u210b-\u2138]")
"""Italic and bold letters of mathematics, which nobody types into a search."""
_ATOM = re.compile(r"[\w.,′'∞°%\u0300-\u036f]*|\([^()]*\)|\[[^\[\]]*\]|\|[^|]*\|")
_VALUE = q("m:val")
_DELETED = frozenset({q("w:del"), q("w:moveFrom")})
_OFF = frozenset({"0", "off", "false"})


def read_formula(element: XmlElement) -> str:
    """Return a formula, or a part of one, as text that keeps each letter and number apart."""
    text, after_structure = "", False
    for child in element:
        name = str(child.tag).rpartition("}")[2]
        if name == "t":
            text += _LETTERS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), child.text or "")
        if name == "t" or name.endswith("Pr") or child.tag in _DELETED:
            continue
        structure = name in _FORMS
        part = _FORMS[name](child) if structure else read_formula(child)
        if (structure or after_structure) and text[-1:].isalnum() and part[:1].isalnum():
            text += " "
        text += part
        after_structure = structure if part else after_structure
    return text


def _read(element: XmlElement, name: str) -> str:
    part = element.find(q(f"m:{name}"))
    return "" if part is None else read_formula(part).strip()


def _get_setting(element: XmlElement, name: str, default: str) -> str:
    found = next(iter(element.findall(f"*/{q('m:' + name)}")), None)
    return default if found is None else found.get(_VALUE, "")


def _bracket(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"


def _script(mark: str, text: str) -> str:
    if not text:
        return ""
    shifted = raise_text(text) if mark == "^" else lower_text(text)
    if len(shifted) == len(text) and re.fullmatch(r"[+\-−–]?\d+|\w", text) and shifted != text:
        return shifted
    return f"{mark}{text if len(text) == 1 else f'({text})'}"


def _fraction(element: XmlElement) -> str:
    above, below = _read(element, "num"), _read(element, "den")
    if _get_setting(element, "type", "bar") == "noBar":  # a binomial coefficient
        return f"{above} ¦ {below}"
    return f"{_bracket(above)}/{_bracket(below)}"


def _scripts(element: XmlElement) -> str:
    return _script("_", _read(element, "sub")) + _script("^", _read(element, "sup"))


def _write_with_scripts(element: XmlElement) -> str:
    return _bracket(_read(element, "e")) + _scripts(element)


def _radical(element: XmlElement) -> str:
    degree, inside = _read(element, "deg"), _bracket(_read(element, "e"))
    return f"{_script('^', degree)}√{inside}" if len(degree) <= 1 else f"√[{degree}]{inside}"


def _read_elements(element: XmlElement) -> list[str]:
    return [read_formula(each).strip() for each in element.findall(q("m:e"))]


def _delimited(element: XmlElement) -> str:
    inside = _get_setting(element, "sepChr", "|").join(_read_elements(element))
    return _get_setting(element, "begChr", "(") + inside + _get_setting(element, "endChr", ")")


_FORMS: dict[str, Callable[[XmlElement], str]] = {
    "f": _fraction,
    **dict.fromkeys(("sSup", "sSub", "sSubSup"), _write_with_scripts),
    "sPre": lambda each: _scripts(each) + _bracket(_read(each, "e")),
    "nary": lambda each: f"{_get_setting(each, 'chr', '∫')}{_scripts(each)} {_read(each, 'e')}",
    "rad": _radical,
    "d": _delimited,
    "func": lambda each: f"{_read(each, 'fName')} {_read(each, 'e')}",
    "acc": lambda each: _read(each, "e") + _get_setting(each, "chr", "\u0302"),
    "bar": lambda each: _read(each, "e") + "\u0305",
    "limLow": lambda each: f"{_read(each, 'e')}_({_read(each, 'lim')})",
    "limUpp": lambda each: f"{_read(each, 'e')}^({_read(each, 'lim')})",
    "m": lambda each: "; ".join(", ".join(_read_elements(row)) for row in each.findall(q("m:mr"))),
    "eqArr": lambda each: "; ".join(line.replace("&", "").strip() for line in _read_elements(each)),
    "phant": lambda each: "" if _get_setting(each, "show", "1") in _OFF else _read(each, "e"),
}

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


_DELETED = frozenset({q("w:del"), q("w:moveFrom")})


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
    return (
        _bracket(_read(element, "e"))
        + _script("_", _read(element, "sub"))
        + _script("^", _read(element, "sup"))
    )


def _pre_scripts(element: XmlElement) -> str:
    before = _script("_", _read(element, "sub")) + _script("^", _read(element, "sup"))
    return before + _bracket(_read(element, "e"))


def _operator(element: XmlElement) -> str:
    sign = _get_setting(element, "chr", "∫")
    bounds = _script("_", _read(element, "sub")) + _script("^", _read(element, "sup"))
    return f"{sign}{bounds} {_read(element, 'e')}"


def _radical(element: XmlElement) -> str:
    degree, inside = _read(element, "deg"), _bracket(_read(element, "e"))
    return f"{_script('^', degree)}√{inside}" if len(degree) <= 1 else f"√[{degree}]{inside}"


def _delimited(element: XmlElement) -> str:
    inside = _get_setting(element, "sepChr", "|").join(
        read_formula(each).strip() for each in element.findall(q("m:e"))
    )
    return _get_setting(element, "begChr", "(") + inside + _get_setting(element, "endChr", ")")


def _function(element: XmlElement) -> str:
    return f"{_read(element, 'fName')} {_read(element, 'e')}"


def _accent(element: XmlElement) -> str:
    return _read(element, "e") + _get_setting(element, "chr", "\u0302")


def _bar(element: XmlElement) -> str:
    return _read(element, "e") + "\u0305"


def _lower_limit(element: XmlElement) -> str:
    return f"{_read(element, 'e')}_({_read(element, 'lim')})"


def _upper_limit(element: XmlElement) -> str:
    return f"{_read(element, 'e')}^({_read(element, 'lim')})"


def _matrix(element: XmlElement) -> str:
    rows = element.findall(q("m:mr"))
    return "; ".join(", ".join(read_formula(cell).strip() for cell in row.findall(q("m:e"))) for row in rows)


def _equations(element: XmlElement) -> str:
    lines = (read_formula(each).replace("&", "").strip() for each in element.findall(q("m:e")))
    return "; ".join(lines)


def _phantom(element: XmlElement) -> str:
    return "" if _get_setting(element, "show", "1") in {"0", "off", "false"} else _read(element, "e")


_FORMS: dict[str, Callable[[XmlElement], str]] = {
    "f": _fraction,
    "sSup": _scripts,
    "sSub": _scripts,
    "sSubSup": _scripts,
    "sPre": _pre_scripts,
    "nary": _operator,
    "rad": _radical,
    "d": _delimited,
    "func": _function,
    "acc": _accent,
    "bar": _bar,
    "limLow": _lower_limit,
    "limUpp": _upper_limit,
    "m": _matrix,
    "eqArr": _equations,
    "phant": _phantom,
}

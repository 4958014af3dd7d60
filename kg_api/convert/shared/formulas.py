"""Formulas of HTML (MathML) and Office (OMML) on one line. Both nest alike, so one table serves both."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from kg_api.convert.shared.containers import XmlElement
from kg_api.convert.shared.markdown_text import join_lines, lower_text, raise_text

_MAX_DEPTH = 100
_NOT_SHOWN = frozenset({"annotation", "annotation-xml", "mphantom", "mprescripts", "none", "del", "moveFrom"})
_LETTERS = re.compile("[\U0001d400-\U0001d7ff\u210b-\u2138]")
"""Mathematical italic and bold letters, which no user types into a search."""
_ATOM = re.compile(r"[\w.,′'∞°%\u0300-\u036f]*|\([^()]*\)|\[[^\[\]]*\]|\|[^|]*\|")


def write_formula(element: XmlElement, depth: int = 0) -> str:
    """Write a formula, or a part of one, with numbers kept separate: `10⁶`, `1/2`, `x₁`, `√(a+b)`."""
    name = _get_name(element)
    if name in _NOT_SHOWN or name.endswith("Pr"):
        return ""
    if depth > _MAX_DEPTH:
        return " ".join(element.itertext())
    if name == "t":
        return _LETTERS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), element.text or "")
    children = [each for each in element.iterchildren() if not _get_name(each).endswith("Pr")]
    parts = [write_formula(each, depth + 1) for each in children]
    if parts and (write := _FORMS.get(name)):
        return write(element, [each.strip() for each in parts])
    text, after_structure = join_lines(element.text or ""), False
    for child, part in zip(children, parts, strict=True):
        structure = _get_name(child) in _FORMS
        if (structure or after_structure) and text[-1:].isalnum() and part[:1].isalnum():
            text += " "
        text += part + join_lines(child.tail or "")
        after_structure = structure if part else after_structure
    return text if name != "mspace" else " "


def _get_name(element: XmlElement) -> str:
    return re.split("[}:]", str(element.tag))[-1]


def _get_setting(element: XmlElement, name: str, default: str) -> str:
    found = next(iter(element.findall(f"*/{{*}}{name}")), None)
    return default if found is None else next(iter(found.attrib.values()), "")


def _wrap_in_braces(text: str) -> str:
    return text if _ATOM.fullmatch(text) else f"({text})"


def _shift(mark: str, text: str) -> str:
    if not text:
        return ""
    shifted = raise_text(text) if mark == "^" else lower_text(text)
    if len(shifted) == len(text) and re.fullmatch(r"[+\-−–]?\d+|\w", text) and shifted != text:
        return shifted
    return f"{mark}{text if len(text) == 1 else f'({text})'}"


def _write_scripts(below: str, above: str) -> str:
    return _shift("_", below) + _shift("^", above)


def _write_fraction(element: XmlElement, parts: Sequence[str]) -> str:
    if _get_setting(element, "type", "bar") == "noBar":  # a binomial coefficient
        return " ¦ ".join(parts)
    return "/".join(map(_wrap_in_braces, parts))


def _write_root(_: XmlElement, parts: Sequence[str]) -> str:
    *degree, inside = parts
    return f"{_shift('^', ''.join(degree))}√{_wrap_in_braces(inside)}"


def _write_delimited(element: XmlElement, parts: Sequence[str]) -> str:
    inside = _get_setting(element, "sepChr", "|").join(parts)
    return _get_setting(element, "begChr", "(") + inside + _get_setting(element, "endChr", ")")


def _write_operator(element: XmlElement, parts: Sequence[str]) -> str:
    return f"{_get_setting(element, 'chr', '∫')}{_write_scripts(*parts[:2])} {''.join(parts[2:])}"


_Write = Callable[[XmlElement, Sequence[str]], str]
_FORMS: dict[str, _Write] = {
    **dict.fromkeys(("f", "mfrac"), _write_fraction),
    **dict.fromkeys(
        ("sSup", "limUpp", "msup", "mover"),
        lambda _, parts: _wrap_in_braces(parts[0]) + _write_scripts("", "".join(parts[1:])),
    ),
    **dict.fromkeys(
        ("sSub", "limLow", "msub", "munder"),
        lambda _, parts: _wrap_in_braces(parts[0]) + _write_scripts("".join(parts[1:]), ""),
    ),
    **dict.fromkeys(
        ("sSubSup", "msubsup", "munderover"),
        lambda _, parts: _wrap_in_braces(parts[0]) + _write_scripts(*[*parts, "", ""][1:3]),
    ),
    "sPre": lambda _, parts: _write_scripts(*[*parts, ""][:2]) + _wrap_in_braces(parts[-1]),
    "nary": _write_operator,
    "rad": _write_root,
    "msqrt": lambda element, parts: _write_root(element, ["".join(parts)]),
    "mroot": lambda element, parts: _write_root(element, parts[::-1]),
    "d": _write_delimited,
    **dict.fromkeys(("func", "mmultiscripts"), lambda _, parts: " ".join(filter(None, parts))),
    "acc": lambda element, parts: parts[0] + _get_setting(element, "chr", "\u0302"),
    "bar": lambda _, parts: f"{parts[0]}\u0305",
    "semantics": lambda _, parts: parts[0],
    **dict.fromkeys(
        ("m", "eqArr", "mtable"), lambda _, parts: "; ".join(filter(None, parts)).replace("&", "")
    ),
    **dict.fromkeys(("mr", "mtr", "mlabeledtr"), lambda _, parts: ", ".join(filter(None, parts))),
    "phant": lambda element, parts: "" if _get_setting(element, "show", "1") in {"0", "off"} else parts[0],
}

"""Formulas of a page (MathML) on one line."""

from __future__ import annotations

from collections.abc import Callable

from kg_api.convert.html.elements import Element
from kg_api.convert.markdown_text import lower_text, one_line, raise_text

_MAX_DEPTH = 100
_NOT_SHOWN = frozenset({"annotation", "annotation-xml", "mphantom", "mprescripts", "none"})
_SIGNS = frozenset("+-−±=<>≤≥·×/")


def write_formula(element: Element, depth: int = 0) -> str:
    """Return a formula as text in which no number joins another: `10⁶`, `1/2`, `x₁`, `√(a+b)`."""
    tag = str(element.tag).rpartition(":")[2]
    if tag in _NOT_SHOWN:
        return ""
    if depth > _MAX_DEPTH:
        return " ".join(element.itertext())
    if tag == "mspace":
        return " "
    parts = [write_formula(each, depth + 1) for each in element.iterchildren()]
    if tag == "mmultiscripts":
        return _write_scripts(element, parts)
    if parts and (write := _FORMS.get(tag)):
        return write(parts[0], parts[1:])
    between = [one_line(each.tail or "") for each in element.iterchildren()]
    return one_line(element.text or "") + "".join(map(str.__add__, parts, between))


def _raise(base: str, rest: list[str]) -> str:
    return base + "".join(map(raise_text, rest))


def _lower(base: str, rest: list[str]) -> str:
    return base + "".join(map(lower_text, rest))


_FORMS: dict[str, Callable[[str, list[str]], str]] = {
    "mfrac": lambda above, below: "/".join(map(_group, [above, *below])),
    **dict.fromkeys(("msup", "mover"), _raise),
    **dict.fromkeys(("msub", "munder"), _lower),
    **dict.fromkeys(("msubsup", "munderover"), lambda base, rest: _raise(_lower(base, rest[:1]), rest[1:])),
    "msqrt": lambda first, rest: f"√({''.join([first, *rest])})",
    "mroot": lambda base, index: f"{_raise('', index)}√({base})",
    "semantics": lambda shown, _: shown,
    "mtable": lambda first, rest: "; ".join(filter(None, [first, *rest])),
    **dict.fromkeys(("mtr", "mlabeledtr"), lambda first, rest: " ".join(filter(None, [first, *rest]))),
}


def _group(part: str) -> str:
    return f"({part})" if any(sign in part.strip() for sign in _SIGNS) or " " in part.strip() else part


def _write_scripts(element: Element, parts: list[str]) -> str:
    """Write scripts around a base: pairs of lower and upper ones, behind `mprescripts` those before it."""
    before, after, pair = "", "", 0
    prescripts = False
    for child, part in zip([*element.iterchildren()][1:], parts[1:], strict=True):
        if str(child.tag).endswith("mprescripts"):
            prescripts, pair = True, 0
            continue
        script = raise_text(part) if pair % 2 else lower_text(part)
        before, after = (before + script, after) if prescripts else (before, after + script)
        pair += 1
    return before + parts[0] + after

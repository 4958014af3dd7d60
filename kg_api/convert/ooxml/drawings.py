"""Formulas, charts, and graphics of Office files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import zip_longest

from kg_api.convert.ooxml.package import XmlElement, q
from kg_api.convert.ooxml.text import (
    BULLET,
    InlineText,
    ListWriter,
    Script,
    is_symbol_font,
    translate_symbols,
)
from kg_api.convert.shared.markdown_text import (
    MarkdownWriter,
    join_lines,
    lower_text,
    paragraph,
    raise_text,
    table,
)
from kg_api.convert.shared.number_format import format_number, parse_number_format

_LETTERS = re.compile("[\U0001d400-\U0001d7ff\u210b-\u2138]")
"""Mathematical italic and bold letters, which no user types into a search."""
_ATOM = re.compile(r"[\w.,′'∞°%\u0300-\u036f]*|\([^()]*\)|\[[^\[\]]*\]|\|[^|]*\|")
_VALUE = q("m:val")
_DELETED = frozenset({q("w:del"), q("w:moveFrom")})
_OFF = frozenset({"0", "off", "false"})


def read_formula(element: XmlElement) -> str:
    """Return a formula, or a part of one, as text with letters and numbers kept separate."""
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
    **dict.fromkeys(("sSup", "sSub", "sSubSup"), lambda each: _bracket(_read(each, "e")) + _scripts(each)),
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


# DrawingML paragraphs: text on slides and in charts, diagrams, and shapes

_RUN, _FIELD, _BREAK, _PROPERTIES, _DRAWING_TEXT = q("a:r"), q("a:fld"), q("a:br"), q("a:rPr"), q("a:t")
_STRUCK = frozenset({"sngStrike", "dblStrike"})


def read_paragraph(paragraph: XmlElement) -> str:
    """Return the text of an `a:p` (empty: only a slide number)."""
    text, number_only = InlineText(), True
    for child in paragraph:
        if child.tag in {_RUN, _FIELD}:
            _add_run(text, child)
            said = (_get_drawing_text(child)).strip()
            number_only = number_only and (not said or child.get("type", "") == "slidenum")
        elif child.tag == _BREAK:
            text.add("\n")
        elif str(child.tag).endswith("}m"):  # a14:m
            text.add(f" {read_formula(child)} ")
            number_only = False
    return "" if number_only else text.render()


def _get_drawing_text(run: XmlElement) -> str:
    found = run.find(_DRAWING_TEXT)
    return "" if found is None else (found.text or "").replace("_x000B_", "\n").replace("\v", "\n")


def _add_run(text: InlineText, run: XmlElement) -> None:
    properties = run.find(_PROPERTIES)
    script: Script = ""
    if properties is None:
        text.add(_get_drawing_text(run))
        return
    shift = properties.get("baseline", "0").removesuffix("%")
    if shift.lstrip("-").replace(".", "").strip("0"):
        script = "lowered" if shift.startswith("-") else "raised"
    shown = _translate(_get_drawing_text(run), properties)
    text.add(shown, script, struck=properties.get("strike", "") in _STRUCK)


def _translate(text: str, properties: XmlElement) -> str:
    """Translate symbol fonts: all letters of a run in such a font, or only private-use characters."""
    for name in (q("a:latin"), q("a:sym")):
        found = properties.find(name)
        font = "" if found is None else found.get("typeface", "")
        if is_symbol_font(font):
            own = name == q("a:latin")
            return "".join(
                translate_symbols(each, font) if own or each >= "\ue000" else each for each in text
            )
    return text


def read_lines(element: XmlElement) -> list[str]:
    """Return the non-empty paragraphs below an element, each on one line."""
    return [line for each in element.iter(q("a:p")) if (line := join_lines(read_paragraph(each)))]


# Charts: titles as paragraphs, and cached values as tables

_MAX_POINTS = 100_000


def read_chart(root: XmlElement) -> list[str]:
    """Return the blocks of a chart part (empty: unreadable)."""
    blocks = list[str]()
    for each in root.iter(q("c:tx")):  # titles of chart and axes, and custom labels
        parent = each.getparent()
        if parent is not None and parent.tag != q("c:ser"):
            rich = each.find(q("c:rich"))
            blocks.append(paragraph(" ".join(read_lines(rich)) if rich is not None else _read_text(each)))
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for each in root.iter(q("c:ser")):
        columns = tables.setdefault(_read_points(each, "cat", "xVal"), [])
        name = each.find(q("c:tx"))
        columns.append(["" if name is None else _read_text(name), *_read_points(each, "val", "yVal")])
        if sizes := _read_points(each, "bubbleSize"):
            columns.append(["", *sizes])
    for categories, columns in tables.items():
        blocks.append(table(list(zip_longest(["", *categories], *columns, fillvalue=""))))
    return list(filter(None, blocks))


def _read_text(element: XmlElement) -> str:
    return join_lines(" ".join(each.text or "" for each in element.iter(q("c:v"))))


def _read_points(series: XmlElement, *names: str) -> tuple[str, ...]:
    """Return cached values by position. A category of several levels has its outer levels first."""
    found = next((part for name in names if (part := series.find(q(f"c:{name}"))) is not None), None)
    if found is None:
        return ()
    usual = next((each.text or "" for each in found.iter(q("c:formatCode"))), "")
    is_number = next(found.iter(q("c:numCache"), q("c:numLit")), None) is not None
    points: dict[int, str] = {}
    for each in found.iter(q("c:pt")):
        at, value = each.get("idx", ""), each.find(q("c:v"))
        if value is not None and at.isdecimal() and int(at) < _MAX_POINTS:
            text = value.text or ""
            form = parse_number_format(each.get("formatCode", "") or usual)
            text = format_number(text, form) if is_number else text
            points[int(at)] = join_lines(f"{text} {points.get(int(at), '')}")
    return tuple(points.get(at, "") for at in range(max(points, default=-1) + 1))


# Charts, and SmartArt as an outline of the texts in its data model

_POINT, _CONNECTION, _TEXT = q("dgm:pt"), q("dgm:cxn"), q("dgm:t")
_MAX_LEVEL = 5


def write_graphic(root: XmlElement, writer: MarkdownWriter) -> bool:
    """Write a chart part or the data of a diagram, and return whether it has text."""
    before = writer.position
    if root.tag == q("dgm:dataModel"):
        outline = ListWriter(writer)
        for level, text in _read_diagram(root):
            outline.write(level, BULLET, text)
    else:
        for block in read_chart(root):
            writer.add(block)
    return writer.position > before


def _read_diagram(root: XmlElement) -> list[tuple[int, str]]:
    texts = {
        each.get("modelId", ""): " ".join(read_lines(text))
        for each in root.iter(_POINT)
        if (text := each.find(_TEXT)) is not None
    }
    children: dict[str, list[tuple[int, str]]] = {}
    for each in root.iter(_CONNECTION):
        if each.get("type", "parOf") == "parOf":
            order = each.get("srcOrd", "0")
            place = (int(order) if order.isdecimal() else 0, each.get("destId", ""))
            children.setdefault(each.get("srcId", ""), []).append(place)
    below = {identity for places in children.values() for _, identity in places}
    roots = [name for each in root.iter(_POINT) if (name := each.get("modelId", "")) not in below]
    pending = [(0 if texts.get(each) else -1, each) for each in reversed(roots)]
    outline, seen = list[tuple[int, str]](), set[str]()
    while pending:
        level, identity = pending.pop()
        if identity in seen:
            continue
        seen.add(identity)
        if texts.get(identity):
            outline.append((min(level, _MAX_LEVEL), texts[identity]))
        pending += [(level + 1, child) for _, child in sorted(children.get(identity, ()), reverse=True)]
    return outline

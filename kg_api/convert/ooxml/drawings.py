"""Formulas, charts, and graphics of Office files."""

from __future__ import annotations

from itertools import zip_longest

from kg_api.convert.ooxml.package import XmlElement, qualify
from kg_api.convert.ooxml.text import (
    BULLET,
    InlineText,
    ListWriter,
    Script,
    is_symbol_font,
    translate_symbols,
)
from kg_api.convert.shared.formulas import write_formula
from kg_api.convert.shared.markdown_text import MarkdownWriter, join_lines, write_paragraph, write_table
from kg_api.convert.shared.number_format import format_number, parse_number_format

# DrawingML paragraphs: text on slides and in charts, diagrams, and shapes

_RUN, _FIELD, _BREAK, _PROPERTIES, _DRAWING_TEXT = (
    qualify("a:r"),
    qualify("a:fld"),
    qualify("a:br"),
    qualify("a:rPr"),
    qualify("a:t"),
)
_STRUCK = frozenset({"sngStrike", "dblStrike"})


def read_paragraph(paragraph: XmlElement) -> str:
    """Read the text of an `a:p` (empty: only a slide number)."""
    text, number_only = InlineText(), True
    for child in paragraph:
        if child.tag in {_RUN, _FIELD}:
            _add_run(text, child)
            child_text = (_get_drawing_text(child)).strip()
            number_only = number_only and (not child_text or child.get("type", "") == "slidenum")
        elif child.tag == _BREAK:
            text.add("\n")
        elif str(child.tag).endswith("}m"):  # a14:m
            text.add(f" {write_formula(child)} ")
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
    translated = _translate(_get_drawing_text(run), properties)
    text.add(translated, script, struck=properties.get("strike", "") in _STRUCK)


def _translate(text: str, properties: XmlElement) -> str:
    """Translate symbol fonts: all letters of a run in such a font, or only private-use characters."""
    for name in (qualify("a:latin"), qualify("a:sym")):
        found = properties.find(name)
        font = "" if found is None else found.get("typeface", "")
        if is_symbol_font(font):
            own = name == qualify("a:latin")
            return "".join(
                translate_symbols(each, font) if own or each >= "\ue000" else each for each in text
            )
    return text


def read_lines(element: XmlElement) -> list[str]:
    """Read the non-empty paragraphs below an element, each on one line."""
    return [line for each in element.iter(qualify("a:p")) if (line := join_lines(read_paragraph(each)))]


# Charts: titles as paragraphs, and cached values as tables

_MAX_POINTS = 100_000


def read_chart(root: XmlElement) -> list[str]:
    """Read the blocks of a chart part (empty: unreadable)."""
    blocks = list[str]()
    for each in root.iter(qualify("c:tx")):  # titles of chart and axes, and custom labels
        parent = each.getparent()
        if parent is not None and parent.tag != qualify("c:ser"):
            rich = each.find(qualify("c:rich"))
            blocks.append(
                write_paragraph(" ".join(read_lines(rich)) if rich is not None else _read_text(each))
            )
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for each in root.iter(qualify("c:ser")):
        columns = tables.setdefault(_read_points(each, "cat", "xVal"), [])
        name = each.find(qualify("c:tx"))
        columns.append(["" if name is None else _read_text(name), *_read_points(each, "val", "yVal")])
        if sizes := _read_points(each, "bubbleSize"):
            columns.append(["", *sizes])
    for categories, columns in tables.items():
        blocks.append(write_table(list(zip_longest(["", *categories], *columns, fillvalue=""))))
    return list(filter(None, blocks))


def _read_text(element: XmlElement) -> str:
    return join_lines(" ".join(each.text or "" for each in element.iter(qualify("c:v"))))


def _read_points(series: XmlElement, *names: str) -> tuple[str, ...]:
    """Return cached values by position. A category of several levels has its outer levels first."""
    found = next((part for name in names if (part := series.find(qualify(f"c:{name}"))) is not None), None)
    if found is None:
        return ()
    usual = next((each.text or "" for each in found.iter(qualify("c:formatCode"))), "")
    is_number = next(found.iter(qualify("c:numCache"), qualify("c:numLit")), None) is not None
    points: dict[int, str] = {}
    for each in found.iter(qualify("c:pt")):
        at, value = each.get("idx", ""), each.find(qualify("c:v"))
        if value is not None and at.isdecimal() and int(at) < _MAX_POINTS:
            text = value.text or ""
            form = parse_number_format(each.get("formatCode", "") or usual)
            text = format_number(text, form) if is_number else text
            points[int(at)] = join_lines(f"{text} {points.get(int(at), '')}")
    return tuple(points.get(at, "") for at in range(max(points, default=-1) + 1))


def write_graphic(root: XmlElement, writer: MarkdownWriter) -> bool:
    """Write a chart part or the texts of a diagram, and return whether it has text."""
    before = writer.position
    if root.tag == qualify("dgm:dataModel"):
        outline = ListWriter(writer)
        for each in root.iter(qualify("dgm:t")):
            if text := " ".join(read_lines(each)):
                outline.write(0, BULLET, text)
    else:
        for block in read_chart(root):
            writer.add(block)
    return writer.position > before

"""Paragraphs of DrawingML: text on slides, in charts, diagrams and shapes."""

from __future__ import annotations

from kg_api.convert.markdown_text import one_line
from kg_api.convert.ooxml.formulas import read_formula
from kg_api.convert.ooxml.inline import InlineText, Script
from kg_api.convert.ooxml.package import XmlElement, q
from kg_api.convert.ooxml.symbols import is_symbol_font, translate_symbols

_RUN, _FIELD, _BREAK, _PROPERTIES, _TEXT = q("a:r"), q("a:fld"), q("a:br"), q("a:rPr"), q("a:t")
_STRUCK = frozenset({"sngStrike", "dblStrike"})


def read_paragraph(paragraph: XmlElement) -> str:
    """Return the text of an `a:p`; of a paragraph that is a slide number alone, nothing."""
    text, number_only = InlineText(), True
    for child in paragraph:
        if child.tag in {_RUN, _FIELD}:
            _add_run(text, child)
            said = (_text_of(child)).strip()
            number_only = number_only and (not said or child.get("type", "") == "slidenum")
        elif child.tag == _BREAK:
            text.add("\n")
        elif str(child.tag).endswith("}m"):  # a14:m
            text.add(f" {read_formula(child)} ")
            number_only = False
    return "" if number_only else text.render()


def _text_of(run: XmlElement) -> str:
    found = run.find(_TEXT)
    return "" if found is None else (found.text or "").replace("_x000B_", "\n").replace("\v", "\n")


def _add_run(text: InlineText, run: XmlElement) -> None:
    properties = run.find(_PROPERTIES)
    script: Script = ""
    if properties is None:
        text.add(_text_of(run))
        return
    shift = properties.get("baseline", "0").removesuffix("%")
    if shift.lstrip("-").replace(".", "").strip("0"):
        script = "lowered" if shift.startswith("-") else "raised"
    shown = _translate(_text_of(run), properties)
    text.add(shown, script, struck=properties.get("strike", "") in _STRUCK)


def _translate(text: str, properties: XmlElement) -> str:
    """Show the signs of a symbol font: all letters of a run in it, or those that only it has."""
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
    """Return the paragraphs with text below an element, each on one line."""
    return [line for each in element.iter(q("a:p")) if (line := one_line(read_paragraph(each)))]

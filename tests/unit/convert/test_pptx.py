from __future__ import annotations

import io
from typing import Any, cast

import pptx
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from kg_api.convert.pptx import convert
from tests.unit.convert.gate import assert_in_order, assert_refuses_bad_bytes


def box(shapes: Any, left: float, top: float, text: str) -> None:
    shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(0.5)).text_frame.text = text


def presentation(*, words: bool = True) -> bytes:
    made, out = cast("Any", pptx).Presentation(), io.BytesIO()
    first = made.slides.add_slide(made.slide_layouts[1])
    if words:
        first.shapes.title.text = "Boiling water"
        frame = first.placeholders[1].text_frame
        frame.text = "one"
        for level, text in ((1, "two Grüße"), (3, "three"), (0, "four")):
            more = frame.add_paragraph()
            more.text, more.level = text, level
        first.notes_slide.notes_text_frame.text = "Say this.\nSlowly."
        second = made.slides.add_slide(made.slide_layouts[6])
        second.element.set("show", "0")
        box(second.shapes, 5, 1.05, "right")
        box(second.shapes, 1, 1, "left")
        box(second.shapes, 1, 0.2, "# above")
        box(second.shapes.add_group_shape().shapes, 1, 2, "in a group")
        table = second.shapes.add_table(2, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
        for at, cell in enumerate(("Tea", "Price", "Green", "3 | 4")):
            table.cell(at // 2, at % 2).text = cell
        data = cast("Any", CategoryChartData)()
        data.categories = ["East", "West"]
        data.add_series("Cups", (1, 2.5))
        second.shapes.add_chart(XL_CHART_TYPE.PIE, Inches(1), Inches(5), Inches(2), Inches(2), data)
    made.core_properties.title, made.core_properties.author = "Water", "Ann Lee"
    made.save(out)
    return out.getvalue()


def test_slides_as_markdown() -> None:
    got = convert(presentation())
    assert got.text == (
        "## Boiling water\n\n- one\n  - two Grüße\n    - three\n- four\n\nNotes: Say this. Slowly.\n\n"
        "## Slide 2\n\n\\# above\n\nleft\n\nright\n\nin a group\n\n"
        "| Tea | Price |\n| --- | --- |\n| Green | 3 \\| 4 |\n\n"
        "|  | Cups |\n| --- | --- |\n| East | 1 |\n| West | 2.5 |\n"
    )
    assert [got.text[at:].split("\n")[0] for at in got.pages] == ["## Boiling water", "## Slide 2"]
    assert (got.title, got.metadata["author"]) == ("Water", "Ann Lee")
    assert got.notes == ("hidden slides that were read all the same: 2",)
    assert_in_order(got, ["Boiling water", "two Grüße", "three", "Slowly.", "left", "right", "Green", "West"])


def test_invalid_bytes_are_rejected() -> None:
    assert_refuses_bad_bytes(convert, presentation())

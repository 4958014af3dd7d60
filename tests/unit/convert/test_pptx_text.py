# ruff: noqa: E501 - an element stays on one line, as in its file
import io
import zipfile
from typing import Any, cast

import pptx
import pptx.oxml
import pytest
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.constants import CONTENT_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

from kg_api.convert.pptx import convert
from kg_api.errors import UnreadableDocument
from kg_api.schemas.documents import Converted
from tests.unit.convert.gate import assert_in_order

NAMESPACES = " ".join(
    f'xmlns:{prefix}="{uri}"'
    for prefix, uri in {
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
        "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "a14": "http://schemas.microsoft.com/office/drawing/2010/main",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
    }.items()
)
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"


def run(text: str, properties: str = "", inner: str = "") -> str:
    return f"<a:r><a:rPr {properties}>{inner}</a:rPr><a:t>{text}</a:t></a:r>"


def paragraph(content: str, properties: str = "", level: int = 0) -> str:
    return f'<a:p><a:pPr lvl="{level}">{properties}</a:pPr>{content}</a:p>'


def box(*paragraphs: str, about: str = "") -> str:
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="7" name="x" {about}/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/>{''.join(paragraphs)}</p:txBody></p:sp>"
    )


def choice(first: str, fallback: str = "") -> str:
    other = f"<mc:Fallback>{fallback}</mc:Fallback>" if fallback else ""
    return f'<mc:AlternateContent><mc:Choice Requires="a14">{first}</mc:Choice>{other}</mc:AlternateContent>'


def frame(content: str, kind: str) -> str:
    return (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="8" name="t"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
        '<p:xfrm><a:off x="0" y="0"/><a:ext cx="1" cy="1"/></p:xfrm>'
        f'<a:graphic><a:graphicData uri="{_DRAWING}/{kind}">{content}</a:graphicData></a:graphic></p:graphicFrame>'
    )


def table(*rows: str) -> str:
    lines = "".join(f'<a:tr h="1">{row}</a:tr>' for row in rows)
    grid = '<a:tblGrid><a:gridCol w="1"/><a:gridCol w="1"/></a:tblGrid>'
    return frame(f"<a:tbl><a:tblPr/>{grid}{lines}</a:tbl>", "table")


def cell(text: str, properties: str = "") -> str:
    return f"<a:tc {properties}><a:txBody><a:bodyPr/>{paragraph(run(text))}</a:txBody></a:tc>"


def deck(*shapes: str) -> tuple[Any, Any]:
    made = cast("Any", pptx).Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    for shape in shapes:
        add(slide, shape)
    return made, slide


def add(slide: Any, shape: str) -> None:
    tree = cast("Any", pptx.oxml).parse_xml(f"<p:spTree {NAMESPACES}>{shape}</p:spTree>")
    slide.shapes._spTree.append(tree[0])


def read(*shapes: str) -> Converted:
    return save(deck(*shapes)[0])


def save(made: Any) -> Converted:
    out = io.BytesIO()
    made.save(out)
    return convert(out.getvalue())


def get_text(made: Converted) -> str:
    assert made.notes == ()
    return made.text.removeprefix("## Slide 1\n\n")


LIMIT = box(paragraph(run("Load limit 40")))
MATH = "<a14:m><m:oMathPara><m:oMath><m:sSup><m:e><m:r><m:t>𝑥</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath></m:oMathPara></a14:m>"
GROUP = '<p:grpSp><p:nvGrpSpPr><p:cNvPr id="9" name="g"/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>{}</p:grpSp>'


@pytest.mark.parametrize(
    "kind",
    [
        *(CONTENT_TYPE.PML_PRES_MACRO_MAIN, CONTENT_TYPE.PML_SLIDESHOW_MAIN, CONTENT_TYPE.PML_TEMPLATE_MAIN),
        "application/vnd.ms-powerpoint.slideshow.macroEnabled.main+xml",
        "application/vnd.ms-powerpoint.template.macroEnabled.main+xml",
    ],
)
def test_slide_show_and_template_are_read(kind: str) -> None:
    original, out = io.BytesIO(), io.BytesIO()
    deck(LIMIT)[0].save(original)
    with zipfile.ZipFile(original) as deck_file, zipfile.ZipFile(out, "w") as changed:
        for name in deck_file.namelist():
            usual = CONTENT_TYPE.PML_PRESENTATION_MAIN.encode()
            content = deck_file.read(name)
            assert (usual in content) == (name == "[Content_Types].xml")
            changed.writestr(name, content.replace(usual, kind.encode()))
    assert get_text(convert(out.getvalue())) == "Load limit 40\n"


@pytest.mark.parametrize(
    ("shape", "shown"),
    [
        (choice(LIMIT), "Load limit 40"),
        (choice(LIMIT, LIMIT), "Load limit 40"),
        (choice(LIMIT, box(paragraph(run(" ")))), "Load limit 40"),
        (choice(box(paragraph("")), LIMIT), "Load limit 40"),
        (GROUP.format(choice(LIMIT, LIMIT)), "Load limit 40"),
        (choice(GROUP.format(choice(LIMIT)), LIMIT), "Load limit 40"),
        (choice(table(cell("Load") + cell("Tons"), cell("Crane") + cell("40"))), "| Load | Tons |\n| --- | --- |\n| Crane | 40 |"),
        (box(paragraph(run("Area ") + choice(MATH, run("x2")) + run(" here"))), "Area x² here"),
        (box(paragraph(run("about 10") + run("6", 'baseline="30000"'))), "about 10⁶"),
        (box(paragraph(run("10") + run("2", 'baseline="-25000"') + run(" is 2"))), "10₂ is 2"),
        (box(paragraph(run("plain 5", 'baseline="0"'))), "plain 5"),
        (box(paragraph(run("499", 'strike="sngStrike"') + run(" 399", 'strike="noStrike"'))), "~~499~~ 399"),
        (box(paragraph(run("5 ") + run("m", "", '<a:latin typeface="Symbol"/>') + run("g"))), "5 μg"),
        (box(paragraph(run("May") + '<a:fld id="{x}" type="datetime1"><a:t> 6, 2024</a:t></a:fld>')), "May 6, 2024"),
        (box(paragraph(run("page ") + '<a:fld id="{x}" type="slidenum"><a:t>3</a:t></a:fld>')), "page 3"),
        (
            table(cell("Wide", 'gridSpan="2"') + cell("", 'hMerge="1"'), cell("1") + cell("2")),
            "| Wide |  |\n| --- | --- |\n| 1 | 2 |",
        ),
    ],
)  # fmt: skip
def test_shape_reads_as_powerpoint_shows_it(shape: str, shown: str) -> None:
    assert get_text(read(shape)) == f"{shown}\n"


def test_slides_without_content_are_rejected() -> None:
    made, slides = io.BytesIO(), cast("Any", pptx).Presentation()
    slides.slides.add_slide(slides.slide_layouts[6])
    slides.save(made)
    with pytest.raises(UnreadableDocument, match="no slide contains text or an image"):
        convert(made.getvalue())


def test_automatic_numbers_count_by_level() -> None:
    def item(text: str, form: str, level: int = 0, start: str = "") -> str:
        return paragraph(run(text), f'<a:buAutoNum type="{form}" {start}/>', level)

    shape = box(
        item("A", "arabicPeriod", start='startAt="3"'),
        item("B", "alphaLcParenBoth", 1),
        item("C", "alphaLcParenBoth", 1),
        paragraph("", '<a:buAutoNum type="arabicPeriod" startAt="3"/>'),
        item("D", "arabicPeriod", start='startAt="3"'),
        item("E", "alphaLcParenBoth", 1),
        paragraph(run("Plain"), "<a:buNone/>"),
        item("F", "romanUcPeriod"),
        item("G", "arabicPlain"),
        item("H", "arabicPlain", start='startAt="7"'),
    )
    lines = [line.strip() for line in get_text(read(shape)).splitlines() if line.strip()]
    assert lines == ["3. A", "(a) B", "(b) C", "4. D", "(a) E", "Plain", "I. F", "1 G", "7 H"]


def test_charts_are_tables_with_titles() -> None:
    made, slide = deck()
    categories = cast("Any", CategoryChartData)()
    categories.categories = ["East", "West"]
    categories.add_series("Tons", (1234567, 0.5))
    scatter = cast("Any", XyChartData)()
    points = scatter.add_series("Measured")
    points.add_data_point(1.5, 20.25)
    for at, (kind, data) in enumerate(
        ((XL_CHART_TYPE.AREA, categories), (XL_CHART_TYPE.XY_SCATTER, scatter))
    ):
        chart = slide.shapes.add_chart(kind, Inches(1), Inches(1 + at), Inches(2), Inches(1), data).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = f"Chart {at}"
    assert get_text(save(made)) == (
        "Chart 0\n\n|  | Tons |\n| --- | --- |\n| East | 1234567 |\n| West | 0.5 |\n\n"
        "Chart 1\n\n|  | Measured |\n| --- | --- |\n| 1.5 | 20.25 |\n"
    )


def test_diagram_is_a_list() -> None:
    texts = "".join(
        f'<dgm:pt modelId="{at}"><dgm:t>{paragraph(run(text))}</dgm:t></dgm:pt>'
        for at, text in enumerate(("Plan", "Do 2"), 1)
    )
    model = f"<dgm:dataModel {NAMESPACES}><dgm:ptLst>{texts}</dgm:ptLst></dgm:dataModel>"
    made, slide = deck()
    part = Part(
        PackURI("/ppt/diagrams/data1.xml"),
        "application/vnd.openxmlformats-officedocument.drawingml.diagramData+xml",
        slide.part.package,
        model.encode(),
    )
    identity = slide.part.relate_to(
        part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"
    )
    add(slide, frame(f'<dgm:relIds r:dm="{identity}"/>', "diagram"))
    assert get_text(save(made)) == "- Plan\n- Do 2\n"


def test_hidden_shapes_are_noted() -> None:
    made = read(LIMIT, box(paragraph(run("Secret 250")), about='hidden="1"'))
    assert (made.text, made.notes) == ("## Slide 1\n\nLoad limit 40\n", ("skipped: hidden shapes (1)",))


def test_alternative_text_replaces_a_shape_without_text() -> None:
    about = 'descr="Three pumps in a row"'
    made = read(box(paragraph(""), about=about), box(paragraph(run("Pump")), about=about))
    assert (made.text, made.notes) == (
        "## Slide 1\n\nThree pumps in a row\n\nPump\n",
        ("skipped: alternative texts of shapes and charts (1)",),
    )


def test_text_of_merged_cells_is_noted() -> None:
    made = read(
        table(
            cell("Wide", 'gridSpan="2"') + cell("covered 7", 'hMerge="1"'),
            cell("8", 'vMerge="1"') + cell("2"),
        )
    )
    assert made.notes == ('skipped: 3 words of the slides, e.g. "covered 7"',)


def add_box(shapes: Any, left: float, top: float, text: str) -> None:
    shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(0.5)).text_frame.text = text


def presentation() -> bytes:
    made, out = cast("Any", pptx).Presentation(), io.BytesIO()
    first = made.slides.add_slide(made.slide_layouts[1])
    first.shapes.title.text = "Boiling water"
    frame = first.placeholders[1].text_frame
    frame.text = "one"
    for level, text in ((1, "two Grüße"), (3, "three"), (0, "four")):
        more = frame.add_paragraph()
        more.text, more.level = text, level
    first.notes_slide.notes_text_frame.text = "Say this.\nSlowly."
    second = made.slides.add_slide(made.slide_layouts[6])
    second.element.set("show", "0")
    add_box(second.shapes, 5, 1.05, "right")
    add_box(second.shapes, 1, 1, "left")
    add_box(second.shapes, 1, 0.2, "# above")
    add_box(second.shapes.add_group_shape().shapes, 1, 2, "in a group")
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

# ruff: noqa: E501 - an element stays on one line, as in its file
import io
import quopri
import zipfile
from datetime import datetime
from typing import Any, cast

import docx
import pytest

from kg_api.convert.docx.document import convert
from kg_api.schemas.documents import Converted
from tests.unit.convert.gate import assert_in_order, kinds
from tests.unit.convert.word_files import NAMESPACES, field, paragraph, run, text_box, word_file

RAISED, LOWERED = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'
CHARACTER_STYLES = "".join(
    f'<w:style w:type="character" w:styleId="{name}"><w:name w:val="{name}"/>{base}<w:rPr>{looks}</w:rPr></w:style>'
    for name, base, looks in (
        ("Secret", "", "<w:vanish/>"),
        ("Deeper", '<w:basedOn w:val="Secret"/>', ""),
        ("Shown", '<w:basedOn w:val="Secret"/>', '<w:vanish w:val="0"/>'),
        ("Gone", "", "<w:strike/>"),
        ("Down", "", '<w:position w:val="-6"/>'),
    )
)
GRAPHIC = "<w:r><w:drawing><wp:inline>{}<a:graphic><a:graphicData>{}</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"


def read(body: str, **parts: tuple[str, str]) -> Converted:
    return convert(word_file(body, styles=CHARACTER_STYLES, parts=parts))


def styled(name: str) -> str:
    return f'<w:rStyle w:val="{name}"/>'


def choice(first: str, fallback: str) -> str:
    return (
        f'<mc:AlternateContent><mc:Choice Requires="w14">{first}</mc:Choice>'
        f"<mc:Fallback>{fallback}</mc:Fallback></mc:AlternateContent>"
    )


def control(content: str, properties: str = "") -> str:
    return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"


def form_field(code: str, data: str) -> str:
    return (
        f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar></w:r>'
        f'<w:r><w:instrText>{code}</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


BOX = '<w14:checkbox><w14:checked w14:val="{}"/></w14:checkbox>'
LIST = (
    '<w:dropDownList w:lastValue="2"><w:listItem w:displayText="Red" w:value="1"/>'
    '<w:listItem w:displayText="Blue 5" w:value="2"/></w:dropDownList>'
)
MATH = "<m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
LINES: dict[str, tuple[str, str]] = {
    "power": (run("about 10") + run("6", RAISED) + run(" cells"), "about 10⁶ cells"),
    "power over two runs": (run("10") + run("1", RAISED) + run("2", RAISED), "10¹²"),
    "reference": (run("a ratio of 3.2") + run("[4]", RAISED), "a ratio of 3.2[4]"),
    "mark at a number": (run("The price is 450") + run("2", RAISED) + run(" dollars."), "The price is 450² dollars."),
    "number moved up": (run("about 10") + run("7", '<w:position w:val="10"/><w:sz w:val="14"/>') + run(" cells"), "about 10⁷ cells"),
    "number moved down": (run("10") + run("2", styled("Down")) + run(" is 2"), "10₂ is 2"),
    "drop cap": (run("T", '<w:position w:val="-9"/><w:sz w:val="80"/>') + run("he end"), "The end"),
    "moved by a hair": (run("in ") + run("107", '<w:position w:val="-1"/>'), "in 107"),
    "subscript": (run("10") + run("2", LOWERED) + run(" is 2"), "10₂ is 2"),
    "struck": (run("is ") + run("499", "<w:strike/>") + run(" 399"), "is ~~499~~ 399"),
    "struck twice": (run("499 ", "<w:dstrike/>") + run("399"), "~~499~~ 399"),
    "struck by style": (run("499", styled("Gone")) + run(" 399"), "~~499~~ 399"),
    "not struck": (run("499", '<w:strike w:val="false"/>'), "499"),
    "choice": (run("Limit ") + choice(run("42"), run("42")) + run(" tons"), "Limit 42 tons"),
    "fallback": (run("Limit ") + choice("<w:r/>", run("43")) + run(" tons"), "Limit 43 tons"),
    "simple field": (run("No. ") + f'<w:fldSimple w:instr="DOCPROPERTY x">{run("4711")}</w:fldSimple>', "No. 4711"),
    "field": (run("Page ") + field("PAGEREF x", run("17")), "Page 17"),
    "nested field": (field(f"IF {{ }} {field('MERGEFIELD x', run('12'))} = 1", run("13")), "13"),
    "control": (run("Name: ") + control(run("Ann 43")), "Name: Ann 43"),
    "box of signs": (control(run("☒"), BOX.format(1)) + run(" yes"), "☒ yes"),
    "box without a sign": (control("", BOX.format(0)) + run(" yes"), "☐ yes"),
    "box of Wingdings": (
        control('<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>', BOX.format(1)) + run(" yes"),
        "☑ yes",
    ),
    "link": (f'<w:hyperlink w:anchor="x">{run("there 51")}</w:hyperlink>', "there 51"),
    "choice of a control": (run("Colour: ") + control("", LIST), "Colour: Blue 5"),
    "date of a control": (control("", '<w:date w:fullDate="2024-05-06T00:00:00Z"/>'), "2024-05-06"),
    "form box": (form_field("FORMCHECKBOX", "<w:checkBox><w:checked/></w:checkBox>") + run(" paid"), "☒ paid"),
    "form box without data": (form_field("FORMCHECKBOX", ""), "☐"),
    "form box off": (
        form_field("FORMCHECKBOX", '<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>'),
        "☐",
    ),
    "form list": (
        form_field(
            "FORMDROPDOWN", '<w:ddList><w:result w:val="1"/><w:listEntry w:val="A"/><w:listEntry w:val="B 7"/></w:ddList>'
        ),
        "B 7",
    ),
    "directions": (f'<w:bdo w:val="rtl">{run("bidi 47")}</w:bdo><w:dir w:val="ltr">{run(" dir 48")}</w:dir>', "bidi 47 dir 48"),
    "ruby": (
        f"<w:r><w:ruby><w:rt>{run('とうきょう')}</w:rt><w:rubyBase>{run('東京')}</w:rubyBase></w:ruby></w:r>",
        "東京(とうきょう)",
    ),
    "tags": (
        f'<w:smartTag w:element="x">{run("smart 49")}</w:smartTag><w:customXml w:element="y">{run(" custom 50")}</w:customXml>',
        "smart 49 custom 50",
    ),
    "sign": (run("a ") + '<w:r><w:sym w:font="Symbol" w:char="F0B1"/></w:r>' + run("5"), "a ±5"),
    "symbol font": (run("5 ") + run("m", '<w:rFonts w:ascii="Symbol"/>') + run("g"), "5 μg"),
    "hyphens, tab, break": (
        "<w:r><w:t>well</w:t><w:noBreakHyphen/><w:t>known</w:t><w:tab/><w:t>x</w:t><w:cr/><w:t>y</w:t><w:softHyphen/><w:t>z</w:t></w:r>",
        "well-known x yz",
    ),
    "formula": (run("if ") + f"<m:oMath>{MATH}</m:oMath>", "if x²"),
    "word art": ('<w:r><w:pict><v:shape><v:textpath string="DRAFT 5"/></v:shape></w:pict></w:r>', "DRAFT 5"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_line_reads_as_word_shows_it(name: str) -> None:
    content, shown = LINES[name]
    made = read(paragraph(content))
    assert (made.text, made.notes) == (f"{shown}\n", ())


@pytest.mark.parametrize(
    ("looks", "shown"),
    [("<w:strike/>", "~~5 m~~"), (RAISED, "^(5 m)"), ('<w:rFonts w:ascii="Symbol"/>', "5 μ"), ("", "5 m")],
)
def test_defaults_of_the_document_apply(looks: str, shown: str) -> None:
    defaults = f"<w:docDefaults><w:rPrDefault><w:rPr>{looks}</w:rPr></w:rPrDefault></w:docDefaults>"
    made = convert(word_file(paragraph(run("5 m")), styles=defaults))
    assert made.text == f"{shown}\n"


@pytest.mark.parametrize("looks", ["<w:vanish/>", styled("Secret"), styled("Deeper")])
def test_hidden_text_is_noted_instead(looks: str) -> None:
    made = read(paragraph(run("The price is 400.") + run(" At worst 250.", looks)))
    assert (made.text, made.notes) == ("The price is 400.\n", ("skipped: hidden words (3)",))


def test_insertions_are_shown_and_deletions_noted() -> None:
    made = read(
        paragraph(
            f"<w:ins>{run('51 new')}</w:ins><w:del><w:r><w:delText>50 old</w:delText></w:r></w:del>"
            f"<w:moveTo>{run(' here')}</w:moveTo><w:moveFrom>{run('there')}</w:moveFrom>"
        )
    )
    assert (made.text, made.notes) == ("51 new here\n", ("skipped: words of tracked deletions (3)",))


def test_field_across_paragraphs_hides_only_its_code() -> None:
    begin = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>TOC</w:instrText></w:r>'
    separate, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("separate", "end"))
    body = (
        paragraph(begin + separate + run("Scope 3")) + paragraph(run("Terms 5")) + paragraph(end + run("Now"))
    )
    assert read(body).text == "Scope 3\n\nTerms 5\n\nNow\n"


@pytest.mark.parametrize(
    "content",
    [
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>EQ \\f(1,2)</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>',
        '<w:fldSimple w:instr=" EQ  \\f(1,2) "/>',
    ],
)
def test_field_without_result_is_noted(content: str) -> None:
    assert read(paragraph(run("Half: ") + content)).notes == (
        "skipped: fields without a stored result (1), e.g. EQ \\f(1,2)",
    )


def test_hidden_row_is_noted() -> None:
    rows = "".join(
        f"<w:tr>{about}<w:tc>{paragraph(run(text))}</w:tc></w:tr>"
        for about, text in (("", "A"), ("<w:trPr><w:hidden/></w:trPr>", "Secret 250"), ("", "B"))
    )
    made = read(f"<w:tbl>{rows}</w:tbl>")
    assert (made.text, made.notes) == ("| A |\n| --- |\n| B |\n", ("skipped: hidden words (2)",))


def test_chart_of_office_2016_is_noted() -> None:
    title = "<cx:title><cx:tx><cx:txData><cx:v>Loads</cx:v></cx:txData></cx:tx></cx:title>"
    chart = f"<cx:chartSpace {NAMESPACES}><cx:chart>{title}</cx:chart></cx:chartSpace>"
    body = paragraph(run("Text")) + paragraph(GRAPHIC.format("", '<cx:chart r:id="chartEx1"/>'))
    made = read(body, chartEx1=("chartEx", chart))
    assert made.text == "Text\n"
    assert "skipped: charts and diagrams that could not be read (1)" in made.notes


def test_text_box_is_read_once_behind_its_paragraph() -> None:
    group = "<w:r><w:drawing><wp:inline><a:graphic><a:graphicData><wpg:wgp><mc:AlternateContent>{}</mc:AlternateContent></wpg:wgp></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
    inner = f'<mc:Choice Requires="wps"><wps:wsp><wps:txbx><w:txbxContent>{paragraph(run("In a group 41"))}</w:txbxContent></wps:txbx></wps:wsp></mc:Choice>'
    old = f"<w:r><w:pict><v:rect><v:textbox><w:txbxContent>{paragraph(run('Old 42'))}</w:txbxContent></v:textbox></v:rect></w:pict></w:r>"
    for box, shown in (
        (text_box(paragraph(run("Load limit 40")) + paragraph(run("tons"))), "Load limit 40\n\ntons"),
        (group.format(inner), "In a group 41"),
        (old, "Old 42"),
    ):
        made = read(paragraph(run("Near ") + box + run("by")) + paragraph(run("End")))
        assert (made.text, made.notes) == (f"Near by\n\n{shown}\n\nEnd\n", ())


def test_alternative_text_replaces_a_shape_without_text() -> None:
    name = '<wp:docPr id="1" name="Shape 1" descr="Three pumps in a row"/>'
    shape = text_box("").replace("<wp:inline>", f"<wp:inline>{name}")
    made = read(paragraph(run("See") + shape))
    assert (made.text, made.notes) == ("See Three pumps in a row\n", ())
    made = read(
        paragraph(run("See") + shape.replace("<w:txbxContent>", f"<w:txbxContent>{paragraph(run('Pump'))}"))
    )
    assert (made.text, made.notes) == (
        "See\n\nPump\n",
        ("skipped: alternative texts of shapes and charts (1)",),
    )


def test_table_with_controls_merged_and_deleted_rows() -> None:
    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(run(text))}</w:tc>"

    wide = cell("Wide", '<w:gridSpan w:val="2"/>')
    tall, below = cell("Tall", '<w:vMerge w:val="restart"/>'), cell("", "<w:vMerge/>")

    rows = (
        f"<w:tr>{wide}{tall}</w:tr>",
        f"<w:tr>{cell('5')}{control(cell('6'))}{below}</w:tr>",
        control(f"<w:tr>{cell('7')}{cell('8')}{cell('9')}</w:tr>"),
        f"<w:tr><w:trPr><w:gridBefore w:val='1'/></w:trPr>{cell('10')}{cell('11')}</w:tr>",
        "<w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p><w:del><w:r><w:delText>12</w:delText></w:r></w:del></w:p></w:tc></w:tr>",
    )
    made = read(f"<w:tbl>{''.join(rows)}</w:tbl>")
    assert made.text == (
        "| Wide |  | Tall |\n| --- | --- | --- |\n| 5 | 6 |  |\n| 7 | 8 | 9 |\n|  | 10 | 11 |\n"
    )
    assert made.notes == ("skipped: words of tracked deletions (1)",)


def test_notes_have_the_marks_of_word() -> None:
    def notes(kind: str, *texts: str) -> tuple[str, str]:
        each = "".join(
            f'<w:{kind} w:id="{at}">{paragraph(run(text))}</w:{kind}>' for at, text in enumerate(texts, 1)
        )
        return f"{kind}s", f"<w:{kind}s {NAMESPACES}>{each}</w:{kind}s>"

    body = paragraph(
        run("450") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + run(" or 460")
        + '<w:r><w:endnoteReference w:id="1"/></w:r>' + run(" or 470") + '<w:r><w:footnoteReference w:id="1"/></w:r>'
    )  # fmt: skip
    made = read(body, feet=notes("footnote", "gross", "net"), ends=notes("endnote", "by weight"))
    assert made.text == "450[1] or 460[i] or 470[2]\n\n[1] net\n\n[i] by weight\n\n[2] gross\n"
    assert made.notes == ()


def test_chart_and_diagram_are_read() -> None:
    def points(kind: str, form: str, *values: str) -> str:
        each = "".join(f'<c:pt idx="{at}"><c:v>{value}</c:v></c:pt>' for at, value in enumerate(values))
        return f"<c:{kind}Ref><c:{kind}Cache>{form}{each}</c:{kind}Cache></c:{kind}Ref>"

    def series(name: str, form: str, *values: str) -> str:
        cat = points("num", "<c:formatCode>m/d/yyyy</c:formatCode>", "45000", "45001")
        return (
            f"<c:ser><c:tx>{points('str', '', name)}</c:tx><c:cat>{cat}</c:cat>"
            f"<c:val>{points('num', f'<c:formatCode>{form}</c:formatCode>', *values)}</c:val></c:ser>"
        )

    title = "<c:title><c:tx><c:rich><a:p><a:r><a:t>Loads of 2023</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    plots = f"<c:area3DChart>{series('Tons', 'General', '1234567', '0.5')}{series('Share', '0%', '0.25', '0.3')}</c:area3DChart>"
    chart = f"<c:chartSpace {NAMESPACES}><c:chart>{title}<c:plotArea>{plots}</c:plotArea></c:chart></c:chartSpace>"
    model = "".join(
        f'<dgm:pt modelId="{at}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        for at, text in enumerate(("", "First 1", "Second 2"))
    )
    diagram = f"<dgm:dataModel {NAMESPACES}><dgm:ptLst>{model}</dgm:ptLst></dgm:dataModel>"
    body = "".join(
        paragraph(GRAPHIC.format("", inner))
        for inner in (
            *('<c:chart r:id="ch"/>', '<dgm:relIds r:dm="dg"/>'),
            *('<c:chart r:id="none"/>', '<c:chart r:id="broken"/>'),
        )
    )
    made = read(body, ch=("chart", chart), dg=("diagramData", diagram), broken=("chart", chart[:-1]))
    assert made.text == (
        "Loads of 2023\n\n|  | Tons | Share |\n| --- | --- | --- |\n| 2023-03-15 | 1234567 | 25% |\n"
        "| 2023-03-16 | 0.5 | 30% |\n\n- First 1\n- Second 2\n"
    )
    assert made.notes == ("skipped: charts and diagrams that could not be read (2)",)


def test_strict_document_with_another_main_part_is_read() -> None:
    data, out = word_file(paragraph(run("Load 40"))), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name).replace(b"word/document.xml", b"word/document2.xml")
            for kind in (b"wordprocessingml", b"officeDocument"):
                content = content.replace(
                    b"http://schemas.openxmlformats.org/%s/2006/" % kind,
                    b"http://purl.oclc.org/ooxml/%s/" % kind,
                )
            new.writestr(name.replace("document.xml", "document2.xml"), content)
    assert convert(out.getvalue()).text == "Load 40\n"


def test_embedded_documents_are_reported() -> None:
    thing = '<w:r><w:object><o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office"/></w:object></w:r>'
    part = '<w:subDoc r:id="y"/>'
    made = read(paragraph(run("See") + thing + part) + f'<w:altChunk r:id="x"/>{part}')
    assert made.notes == (
        "skipped: subdocuments in other files (2)",
        "skipped: embedded objects (1)",
        "skipped: documents embedded as another format (1)",
    )


MHTML = """MIME-Version: 1.0
Content-Type: multipart/related; type="text/html"; boundary="part"

--part
Content-Type: text/html; charset="utf-8"
Content-Transfer-Encoding: quoted-printable

{}
--part--
"""


@pytest.mark.parametrize(("suffix", "form"), [("html", "{}"), ("mht", MHTML)])
def test_embedded_html_page_is_read_in_its_place(suffix: str, form: str) -> None:
    """Programs such as html-docx-js write a document with nothing else."""
    page = "<meta charset=3Dutf-8><h2>Caf=C3=A9</h2><p hidden>no</p><ul><li>Tea</ul>"
    raw = page if suffix == "mht" else quopri.decodestring(page).decode()
    file = f"page.{suffix}"
    body = f"{paragraph(run('Before'))}<w:altChunk r:id='{file}'/>{paragraph(run('After'))}"
    made = read(body, **{file: ("aFChunk", form.format(raw))})
    assert made.text == "Before\n\n## Café\n\n- Tea\n\nAfter\n"
    assert made.notes == ("skipped: hidden parts (1)",)


def document() -> bytes:
    made, out = cast("Any", docx).Document(), io.BytesIO()
    made.add_heading("Boiling water", 0)
    made.add_heading("The kettle", 2)
    text = made.add_paragraph("A ")
    text.add_run("bo").bold = True
    text.add_run("ld word, Grüße &").italic = True
    text.add_run(" more\twords\nin lines.")
    for style, item in (("List Bullet", "one"), ("List Bullet 2", "two"), ("List Number", "three")):
        made.add_paragraph(item, style=style)
    table = made.add_table(rows=3, cols=2)
    for at, cell in enumerate(("Tea", "Price", "Green", "3 | 4", "Black", "two\nlines")):
        table.cell(at // 2, at % 2).text = cell
    made.add_paragraph("# The end")
    made.add_comment(text.runs[0], text="A remark", author="Bob")
    made.sections[0].header.paragraphs[0].text = "Letter head"
    about = made.core_properties
    about.title, about.author, about.keywords, about.subject = "Water", "Ann Lee", "tea, water", "Kettles"
    about.created = datetime(2024, 3, 5, 10, 0)  # noqa: DTZ001 - as the format has it
    made.save(out)
    return out.getvalue()


def test_a_document_as_markdown() -> None:
    got = convert(document())
    assert got.text == (
        "# Boiling water\n\n## The kettle\n\nA bold word, Grüße & more words in lines.\n\n"
        "- one\n- two\n\n1. three\n\n"
        "| Tea | Price |\n| --- | --- |\n| Green | 3 \\| 4 |\n| Black | two lines |\n\n\\# The end\n"
    )
    assert got.title == "Water"
    assert {key: got.metadata[key] for key in ("author", "date", "tags", "subject")} == {
        "author": "Ann Lee",
        "date": "2024-03-05T10:00:00+00:00",
        "tags": ["tea", "water"],
        "subject": "Kettles",
    }
    assert got.notes == ("skipped: comments (1)", "skipped: words of page headers and footers (2)")
    assert kinds(got.text)[:3] == ["heading", "heading", "paragraph"]
    assert_in_order(got, ["Boiling water", "bold word, Grüße", "one", "two", "three", "Green", "The end"])


def test_text_box_in_a_cell_is_included() -> None:
    rows = "".join(
        f"<w:tr><w:tc>{paragraph(run(name))}</w:tc><w:tc>{paragraph(text_box(paragraph(run(value))))}</w:tc></w:tr>"
        for name, value in (("Name", "Load"), ("Crane", "40 tons"))
    )
    assert read(f"<w:tbl>{rows}</w:tbl>").text == "| Name | Load |\n| --- | --- |\n| Crane | 40 tons |\n"


def test_formulas_controls_and_breaks_outside_paragraphs_are_read() -> None:
    formula = f"<m:oMathPara><m:oMath>{MATH}</m:oMath></m:oMathPara>"
    outside = formula + control("", BOX.format(1))
    rows = "".join(f"<w:tr>{f'<w:tc>{each}</w:tc>' * 2}</w:tr>" for each in (paragraph(run("end")), outside))
    made = read(f"{outside}<w:tbl>{rows}</w:tbl>")
    assert made.text == "x²\n\n☒\n\n| end | end |\n| --- | --- |\n| x² ☒ | x² ☒ |\n"
    assert read(f"<w:tbl>{rows.partition('</w:tr>')[0]}</w:tr></w:tbl>").text == "end end\n"
    made = read(paragraph("<w:r><w:t>a</w:t><w:br/><w:br/><w:t>b</w:t></w:r>"))
    assert made.text == "a\n\nb\n"


def test_paragraphs_of_a_code_style_are_one_block() -> None:
    def code(text: str) -> str:
        return paragraph(run(text), "Code")

    style = '<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="HTML Preformatted"/></w:style>'
    body = code("a:") + code("  b") + paragraph(run("then")) + code("c") + paragraph("") + code("d")
    text = convert(word_file(body, styles=style)).text
    assert text == "```\na:\n  b\n```\n\nthen\n\n```\nc\n```\n\n```\nd\n```\n"


def test_table_around_a_table_is_opened() -> None:
    inner = "".join(
        f"<w:tr><w:tc>{paragraph(run(a))}</w:tc><w:tc>{paragraph(run(b))}</w:tc></w:tr>"
        for a, b in ("AB", "12")
    )
    outer = f"<w:tbl><w:tr><w:tc>{paragraph(run('Left'))}<w:tbl>{inner}</w:tbl></w:tc><w:tc>{paragraph(run('Right'))}</w:tc></w:tr></w:tbl>"
    assert read(outer).text == "Left\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n\nRight\n"


def test_table_with_a_table_in_one_row_keeps_its_rows() -> None:
    def row(*cells: str) -> str:
        return f"<w:tr>{''.join(f'<w:tc>{each}</w:tc>' for each in cells)}</w:tr>"

    hidden = row(paragraph(run("secret"))).replace("<w:tr>", "<w:tr><w:trPr><w:hidden/></w:trPr>")
    inner = (
        row(paragraph(run("red")), paragraph(run("3"))) + hidden + row(paragraph(run("blue")), paragraph(""))
    )
    names = (
        row(paragraph(run(name)), paragraph(run(value))) for name, value in (("Name", "Parts"), ("Bob", "7"))
    )
    made = read(f"<w:tbl>{''.join(names)}{row(paragraph(run('Ann')), f'<w:tbl>{inner}</w:tbl>')}</w:tbl>")
    assert (made.text, made.notes) == (
        "| Name | Parts |\n| --- | --- |\n| Bob | 7 |\n| Ann | red, 3; blue |\n",
        ("skipped: hidden words (1)",),
    )

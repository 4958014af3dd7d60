import io
import re
import zipfile
from collections.abc import Callable, Mapping
from datetime import date, datetime

import openpyxl
import pytest

from kg_api.convert.shared.number_format import (
    find_builtin_format,
    format_duration,
    format_number,
    parse_number_format,
    write_digits,
)
from kg_api.convert.spreadsheet import convert
from kg_api.errors import UnreadableDocument
from tests.support.hostile_files import packed


def workbook(sheets: dict[str, list[list[object]]], corner: str = "A1") -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        start = sheet[corner]
        for down, row in enumerate(rows):
            for right, value in enumerate(row):
                sheet.cell(start.row + down, start.column + right, value)
    book.properties.title, book.properties.creator = "Stock", "Ann Lee"
    book.properties.created = datetime(2024, 3, 5, 10, 0, 0)  # noqa: DTZ001 - as the format has it
    book.save(out)
    return out.getvalue()


ROWS: list[list[object]] = [
    ["Item", "Count", "Price", "Since", "When", "Sold"],
    ["Green tea | loose", 12.0, 3.5, date(2024, 3, 5), datetime(2024, 3, 5, 9, 30), True],  # noqa: DTZ001
    ["Kettle\nof steel", 1, None, None, None, False],
    [None] * 6,
    ["Last", -2, 0.1, None, None, None],
]


def test_sheets_are_tables_with_headings() -> None:
    got = convert(workbook({"Tea": ROWS, "Notes": [["One remark"]], "Empty": []}, corner="C4"))
    assert got.text == (
        "## Tea\n\n"
        "| Item | Count | Price | Since | When | Sold |\n| --- | --- | --- | --- | --- | --- |\n"
        "| Green tea \\| loose | 12 | 3.5 | 2024-03-05 | 2024-03-05 09:30:00 | TRUE |\n"
        "| Kettle of steel | 1 |  |  |  | FALSE |\n| Last | -2 | 0.1 |  |  |  |\n\n"
        "## Notes\n\nOne remark\n\n## Empty\n"
    )
    assert [got.text[at:].split("\n")[0] for at in got.pages] == ["## Tea", "## Notes", "## Empty"]
    assert (got.title, got.metadata["author"]) == ("Stock", "Ann Lee")
    assert got.metadata["date"] == "2024-03-05T10:00:00+00:00"


@pytest.mark.parametrize(
    ("name", "told"), [("a.xml", "workbook.xml is missing"), ("xl/workbook.xml", "not a workbook")]
)
def test_archive_without_workbook_is_rejected(name: str, told: str) -> None:
    with pytest.raises(UnreadableDocument, match=told):
        convert(packed({name: "<a/>"}))


def test_empty_workbooks_are_rejected() -> None:
    with pytest.raises(UnreadableDocument, match="empty"):
        convert(workbook({"A": [], "B": []}))


def sheet_of(rows: str) -> bytes:
    """Build an ODS file that uses this XML for its rows."""
    namespaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text", "style", "draw")
    )
    content = (
        f"<office:document-content {namespaces}>"
        '<office:body><office:spreadsheet><table:table table:name="S">'
        f"{rows}</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet", zipfile.ZIP_STORED)
        archive.writestr("content.xml", content)
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
    return out.getvalue()


def cell(inside: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}>{inside}</table:table-cell>"


def row(*cells: str, times: int = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{times}">{"".join(cells)}</table:table-row>'


def test_ods_time_above_a_day_is_readable() -> None:
    times = (
        cell("", f'office:value-type="time" office:time-value="PT{each}S"')
        for each in ("02H03M04", "24H00M00", "27H17M54.5", "100H00M01")
    )
    text = cell("<text:p>PT27H17M54S</text:p>", 'office:value-type="string"')
    assert convert(sheet_of(row(*times, text))).text == (
        "## S\n\n02:03:04 24:00:00 27:17:54.5 100:00:01 PT27H17M54S\n"
    )


def test_ods_with_whitespace_between_cells_is_read() -> None:
    value = 'office:value-type="float" office:value="3"'
    text = cell(
        "\n <text:p>Two <text:span>words</text:span> <text:span>more</text:span></text:p>\n ",
        'office:value-type="string"',
    )
    rows = "\n ".join(row(" ", cell("<text:p>3</text:p>", value), "\n", text, " ") for _ in range(2))
    assert convert(sheet_of(f"\n {rows}\n")).text == (
        "## S\n\n| 3 | Two words more |\n| --- | --- |\n| 3 | Two words more |\n"
    )


def test_ods_values_are_read_and_others_counted() -> None:
    text, number = 'office:value-type="string"', 'office:value-type="float"'
    note = "<office:annotation><text:p>Ask Ann</text:p></office:annotation>"
    frame = "<draw:frame><draw:text-box><text:p>Load limit</text:p></draw:text-box></draw:frame>"
    rows = "".join(
        (
            f"<table:shapes>{frame}</table:shapes>",
            row(cell("<text:p>When</text:p>", text), cell("<text:p>Share<text:s/>of all</text:p>", text)),
            row(
                cell("<text:p>16/08/09</text:p>", 'office:value-type="date" office:date-value="2009-08-16"'),
                cell(f"{note}<text:p>50 %</text:p>", 'office:value-type="percentage" office:value="0.5"'),
                times=2,
            ),
            row(cell("<text:p>Sum</text:p>", text), cell("", f'table:formula="of:=[.A1]+1" {number}')),
        )
    )
    got = convert(sheet_of(rows))
    assert got.text == (
        "## S\n\n| When | Share of all |\n| --- | --- |\n"
        "| 2009-08-16 | 0.5 |\n| 2009-08-16 | 0.5 |\n| Sum |  |\n"
    )
    assert "reads only values" in got.notes[0]
    assert got.notes[1:] == (
        'skipped: 4 words of the workbook, e.g. "Load limit"',
        'skipped: formulas without a stored result (1), e.g. "of:=[.A1]+1"',
    )
    with pytest.raises(UnreadableDocument, match="formulas without a stored result"):
        convert(sheet_of(row(cell("", f'table:formula="of:=1+1" {number}'))))


WORKBOOK = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"
COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
STYLES = f"""<styleSheet xmlns="{WORKBOOK}">
<numFmts><numFmt numFmtId="164" formatCode="00000"/>
<numFmt numFmtId="165" formatCode="#,##0.00\\ &quot;€&quot;"/></numFmts>
<fonts><font/><font><strike/></font><font><b/></font></fonts>
<cellXfs><xf/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="9"/><xf numFmtId="14"/><xf numFmtId="46"/>
<xf fontId="1"/><xf fontId="2"/></cellXfs></styleSheet>"""
"""Styles that you can use as `s` in a cell: 1 `00000`, 2 euros, 3 percent, 4 date, 5 duration, 6 struck,
7 bold."""


def raw(
    rows: str,
    *,
    around: str = "",
    book: str = "",
    sheet: str = "",
    parts: Mapping[str, str | bytes] | None = None,
    links: str = "",
) -> bytes:
    """An XLSX file with this XML for rows.

    Args:
        rows: elements of `sheetData`.
        around: elements behind it.
        book: elements of the workbook before its sheets.
        sheet: attributes of the sheet.
        parts: further parts by their paths.
        links: relationships of the sheet.
    """
    entries = {
        "_rels/.rels": link("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{WORKBOOK}" xmlns:r="{RELATIONS}">{book}<sheets>'
        f'<sheet name="Plan" sheetId="1" {sheet} r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": link("worksheet", "worksheets/sheet1.xml")
        + link("styles", "styles.xml", "r2")
        + link("sharedStrings", "/xl/sharedStrings.xml", "r3"),
        "xl/styles.xml": STYLES,
        "xl/worksheets/_rels/sheet1.xml.rels": links,
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{WORKBOOK}" xmlns:r="{RELATIONS}">'
        f"{around if around.startswith('<cols') else ''}<sheetData>{rows}</sheetData>"
        f"{'' if around.startswith('<cols') else around}</worksheet>",
        **(parts or {}),
    }
    return packed(
        {
            name: f"<Relationships>{content}</Relationships>" if "_rels/" in name else content
            for name, content in entries.items()
        }
    )


def link(kind: str, target: str, name: str = "r1") -> str:
    return f'<Relationship Id="{name}" Type="{RELATIONS}/{kind}" Target="{target}"/>'


def rows_of(*rows: list[str]) -> str:
    """Build rows from text or from the XML of cells. `REF` is replaced by the reference of the cell."""
    return "".join(
        f'<row r="{down}">'
        + "".join(
            (
                value if value.startswith("<c") else f'<c r="REF" t="inlineStr"><is><t>{value}</t></is></c>'
            ).replace("REF", f"{'ABCDEFGH'[right]}{down}")
            for right, value in enumerate(row)
            if value
        )
        + "</row>"
        for down, row in enumerate(rows, 1)
    )


def number(value: str, style: int = 0) -> str:
    return f'<c r="REF" s="{style}"><v>{value}</v></c>'


def formula(text: str, rest: str = "", attributes: str = "") -> str:
    return f'<c r="REF" {attributes}><f>{text}</f>{rest}</c>'


def body_of(text: str) -> list[str]:
    """Return the rows from a text after `## Plan` and a header."""
    return text.split("\n")[4:-1]


UNCOMPUTED = "formulas without a stored result (cells: {}): kg stored the formulas."


def test_a_formula_without_a_result_is_stored_itself() -> None:
    shared = '<c r="REF"><f t="shared" si="0"/></c>'
    got = convert(
        raw(
            rows_of(
                ["Item", "Sum"],
                ["Cranes", formula("40+2")],
                ["Pumps", formula("A1&amp;B1", "<v></v>")],
                ["Nuts", formula("B3*2", "<v>14</v>")],
                ["Bolts", '<c r="REF"><f t="shared" ref="B5:B7" si="0">A1*$A$1+"B2"</f></c>'],
                ["Screws", shared],
                ["Pins", shared],
                ["Rings", '<c r="REF"><f t="array" ref="B8">SUM(A1:A2)</f></c>'],
                ["Washers", formula("_xlfn.CONCAT(A1)")],
                ["Nothing", formula("A9", "<v></v>", 't="str"')],
                ["Fault", formula("1/0", "<v>#DIV/0!</v>", 't="e"')],
            )
        )
    )
    assert body_of(got.text) == [
        "| Cranes | =40+2 |", "| Pumps | =A1&B1 |", "| Nuts | 14 |", '| Bolts | =A1*$A$1+"B2" |',
        "| Screws | = as in B5 |", "| Pins | = as in B5 |", "| Rings | =SUM(A1:A2) |",
        "| Washers | =CONCAT(A1) |", "| Nothing |  |", "| Fault | #DIV/0! |",
    ]  # fmt: skip
    assert got.notes[0].startswith(UNCOMPUTED.format(7))


def test_uncomputed_zero_is_not_a_result() -> None:
    rows = rows_of(
        ["Item", "Sum"], ["Cranes", formula("40+2", "<v>0</v>")], ["Pumps", formula("7", "<v>7</v>")]
    )
    assert body_of(convert(raw(rows)).text) == ["| Cranes | 0 |", "| Pumps | 7 |"]
    got = convert(raw(rows, book='<calcPr calcId="1" fullCalcOnLoad="1"/>'))
    assert body_of(got.text) == ["| Cranes | =40+2 |", "| Pumps | 7 |"]


def test_xlsx_values_follow_their_formats() -> None:
    values = [
        number("42", 1), number("1234.5", 2), number("0.256", 3), number("45356", 4), number("1.5", 5),
        number("0.30000000000000004"), number("1234567890123456"), '<c r="REF" t="b"><v>1</v></c>',
        '<c r="REF" t="e"><v>#N/A</v></c>', '<c r="REF" t="d"><v>2024-03-05T09:30:00</v></c>',
        '<c r="REF" t="str"><v>a_x000D__x000A_b</v></c>', number("7.0"),
    ]  # fmt: skip
    got = convert(raw(rows_of(["Kind", "Value"], *([f"v{at}", value] for at, value in enumerate(values)))))
    assert [line.split("|")[2].strip() for line in body_of(got.text)] == [
        "00042", "1234.5 €", "25.6%", "2024-03-05", "36:00:00", "0.3", "1234567890123456", "TRUE", "#N/A",
        "2024-03-05 09:30:00", "a b", "7",
    ]  # fmt: skip
    assert not got.notes
    old = convert(raw(rows_of(["When", number("43894", 4)]), book='<workbookPr date1904="1"/>'))
    assert "2024-03-05" in old.text


def test_extensions_keep_the_dates_of_old_macs() -> None:
    extension = '<extLst><ext><x15:workbookPr xmlns:x15="x" chartTrackingRefBase="1"/></ext></extLst>'
    book = f'<workbookPr date1904="1"/>{extension}'
    assert "2024-03-05" in convert(raw(rows_of(["When", number("43894", 4)]), book=book)).text


PLAIN = """<row r="1" spans="1:3"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>\
<row r="2" ht="15"><c r="A2" t="s"><v>2</v></c><c r="B2" s="2"><v>1234.5</v></c><c r="C2" s="1"/></row>\
<row r="4" hidden="1"><c r="A4" t="str"><f>A2</f><v>a b</v></c><c r="B4"><f>B2*2</f><v>2469</v></c></row>"""
STRINGS = "<si><t>Item</t></si><si><t>Sum</t></si><si><t>Cranes</t></si>"
SAME = "## Plan\n\n| Item | Sum |\n| --- | --- |\n| Cranes | 1234.5 € |\n| a b | 2469 |\n"


def plain(sheet: str, more: str = "") -> dict[str, str]:
    """Return the parts of PLAIN, with elements before the rows and more rows."""
    namespaces = f'xmlns="{WORKBOOK}" xmlns:r="{RELATIONS}"'
    return {
        "xl/worksheets/sheet1.xml": f"<worksheet {namespaces}>{sheet}<sheetData>{PLAIN}{more}</sheetData>"
        "</worksheet>",
        "xl/sharedStrings.xml": f'<sst xmlns="{WORKBOOK}">{STRINGS}</sst>',
    }


def test_sheet_with_huge_declared_size_is_cheap() -> None:
    assert convert(raw("", parts=plain('<dimension ref="A1:XFD1048576"/>'))).text == SAME
    far = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    with pytest.raises(UnreadableDocument, match="cells between"):
        convert(raw("", parts=plain("", far)))


def in_prefix(xml: str) -> str:
    return re.sub(r"(</?)(\w)", r"\1x:\2", xml).replace("xmlns=", "xmlns:x=")


WAYS: dict[str, Callable[[str], str]] = {
    "indented": lambda xml: xml.replace("><", ">\n  <"),
    "row without a number": lambda xml: xml.replace('<row r="2"', "<row"),
    "extensions": lambda xml: xml.replace("</c></row>", "</c><extLst><c><v>9</v></c></extLst></row>"),
    "prefix": in_prefix,
}


@pytest.mark.parametrize("rewrite", WAYS.values(), ids=WAYS.keys())
def test_equivalent_sheet_encodings_read_equally(rewrite: Callable[[str], str]) -> None:
    got = convert(raw("", parts={name: rewrite(xml) for name, xml in plain("").items()}))
    assert got.text == SAME
    assert got.notes == ("hidden parts of 'Plan' were read all the same (rows: 1, columns: 0)",)


def run(text: str, marks: str = "") -> str:
    return f'<r>{f"<rPr>{marks}</rPr>" if marks else ""}<t xml:space="preserve">{text}</t></r>'


UP, DOWN, STRUCK = '<vertAlign val="superscript"/>', '<vertAlign val="subscript"/>', "<strike/>"


def test_xlsx_superscript_subscript_and_strikethrough_stay_separate() -> None:
    texts = [
        run("about 10") + run("6", UP) + run(" cells"),
        run("10") + run("2", DOWN),
        run("450") + run("[2]", UP),
        run("499", STRUCK) + run(" 399 euros", "<b/>"),
        run("東京") + '<rPh sb="0" eb="2"><t>トウキョウ</t></rPh>',
    ]
    cells = [f'<c r="REF" t="s"><v>{at}</v></c>' for at in range(len(texts))]
    struck = '<c r="REF" s="6" t="inlineStr"><is><t>599</t></is></c>'
    part = '<c r="REF" s="6" t="inlineStr"><is>' + run("old") + run(" new", "<b/>") + "</is></c>"
    strings = f'<sst xmlns="{WORKBOOK}">{"".join(f"<si>{text}</si>" for text in texts)}</sst>'
    rows = rows_of(["What", "Text"], *(["a", cell] for cell in [*cells, struck, part, number("7", 6)]))
    got = convert(raw(rows, parts={"xl/sharedStrings.xml": strings}))
    assert body_of(got.text) == [
        "| a | about 10⁶ cells |", "| a | 10₂ |", "| a | 450[2] |", "| a | ~~499~~ 399 euros |",
        "| a | 東京 |", "| a | ~~599~~ |", "| a | ~~old~~ new |", "| a | ~~7~~ |",
    ]  # fmt: skip


def test_hidden_rows_columns_and_sheets_are_reported() -> None:
    rows = rows_of(["Site", "Load", "Owner"], ["Harbour", number("40"), "A"], ["Dock", number("1"), "B"], [])
    for at, hidden in ((2, 'hidden="true"'), (3, 'ht="0"')):
        rows = rows.replace(f'<row r="{at}">', f'<row r="{at}" {hidden}>')
    columns = '<cols><col min="3" max="16384" hidden="1"/></cols>'
    got = convert(raw(rows, around=columns, sheet='state="veryHidden"'))
    assert body_of(got.text) == ["| Harbour | 40 | A |", "| Dock | 1 | B |"]
    assert got.notes == (
        "kg read the sheet 'Plan', although it is hidden in the workbook",
        "hidden parts of 'Plan' were read all the same (rows: 2, columns: 1)",
    )


def test_text_boxes_are_read_and_other_objects_reported() -> None:
    box = (
        "<xdr:sp><xdr:txBody><a:p><a:r><a:t>Load limit 10</a:t></a:r>"
        '<a:r><a:rPr baseline="30000"/><a:t>6</a:t></a:r></a:p></xdr:txBody></xdr:sp>'
    )
    chart = (
        '<xdr:graphicFrame><a:graphic><a:graphicData uri="c"><c:chart r:id="r1"/>'
        "</a:graphicData></a:graphic></xdr:graphicFrame>"
    )
    drawing = (
        f'<xdr:wsDr xmlns:xdr="x" xmlns:a="{DRAWING}" xmlns:c="{CHART}" xmlns:r="{RELATIONS}" '
        f'xmlns:mc="{COMPATIBILITY}"><xdr:twoCellAnchor>'
        f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
        f"{chart}<xdr:pic/></xdr:twoCellAnchor></xdr:wsDr>"
    )
    words = "<a:p><a:r><a:t>Loads</a:t></a:r></a:p>"
    title = f'<c:chart xmlns:c="{CHART}" xmlns:a="{DRAWING}"><c:title>{words}</c:title></c:chart>'
    comment = '<comment ref="A1"><text><r><t>Ask Ann</t></r></text></comment>'
    comments = f'<comments xmlns="{WORKBOOK}">{comment}</comments>'
    got = convert(
        raw(
            rows_of(["Site", "Load"], ["Harbour", number("40")]),
            around='<headerFooter><oddHeader>&amp;L&amp;"Arial,Bold"&amp;12Draft of May&amp;R'
            "Page &amp;P of &amp;N</oddHeader>"
            "<oddFooter>Page &amp;P</oddFooter></headerFooter>",
            links=link("drawing", "../drawings/drawing1.xml") + link("comments", "../comments1.xml", "r2"),
            parts={
                "xl/drawings/drawing1.xml": drawing,
                "xl/drawings/_rels/drawing1.xml.rels": link("chart", "../charts/chart1.xml"),
                "xl/charts/chart1.xml": title,
                "xl/comments1.xml": comments,
            },
        )
    )
    assert got.text == "## Plan\n\n| Site | Load |\n| --- | --- |\n| Harbour | 40 |\n\nLoad limit 10⁶\n"
    assert got.notes == (
        'skipped: headers and footers of pages (1), e.g. "Draft of May"',
        'skipped: charts (1), e.g. "Loads"',
        "skipped: pictures (1)",
        'skipped: comments on cells (1), e.g. "Ask Ann"',
    )


GENERAL = {
    "42": "42",
    "0.30000000000000004": "0.3",
    "19.989999999999998": "19.99",
    "1234567890123456": "1234567890123456",
    "1234567890123456.0": "1234567890123456",
    "1.23456789012345E+15": "1234567890123450",
    "6.0200000000000003E+23": "6.02E+23",
    "1.5e-9": "1.5E-9",
    "-0.25": "-0.25",
    "1E+400": "1E+400",
    "no number": "no number",
}


@pytest.mark.parametrize("literal", GENERAL)
def test_digits_are_neither_made_up_nor_lost(literal: str) -> None:
    assert write_digits(literal) == GENERAL[literal]


FORMATS = [
    ("0.256", "0.0%", "25.6%"),
    ("0.07", "0.00%;[Red]-0.00%", "7%"),
    ("-0.07", "0%", "-7%"),
    ("0.5", '0 "%"', "0.5 %"),
    ("42", "00000", "00042"),
    ("5551234567", "(###) ###-####", "5551234567"),
    ("1234567890123456", "0000 0000 0000 0000", "1234567890123456"),
    ("1234.5", "#,##0.00 [$€-407]", "1234.5 €"),
    ("1739.9", '#,##0.00 "€"', "1739.9 €"),
    ("-5", "$#,##0.00", "-$5"),
    ("-5", "[$USD] #,##0.00;[Red]([$USD] #,##0.00)", "-USD 5"),
    ("0", '_-* #,##0.00\\ "€"_-;-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', "0 €"),
    ("5", '0.0" kg"', "5 kg"),
    ("12", "0.00 EUR", "12 EUR"),
    ("5", 'General" m²"', "5 m²"),
    ("5", "GENERAL", "5"),
    ("1234567", '0.0,,"M"', "1234567"),
    ("0.5", "# ?/?", "0.5"),
    ("0.51", "# ??/100", "0.51"),
    ("123456", "0.00E+00", "123456"),
    ("0", '"Yes";;"No"', "No (0)"),
    ("-1", '[Blue]"OK";[Red]"FAIL";"NONE"', "FAIL (-1)"),
    ("7", '"N/A"', "N/A (7)"),
    ("-5", '0 "Cr";0 "Dr"', "-5 Dr"),
    ("-5", '"gain of "0;"loss of "0;"even"', "loss of -5"),
    ("2", '[=1]0" item";0" items"', "2 items"),
    ("1", '[=1]0" item";0" items"', "1 item"),
    ("50", '[>=100]"high";[<100]"low"', "low (50)"),
    ("-3", '"up "0;[<-2]"far down "0;"down "0', "far down -3"),
    ("9", '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0 "EUR"', "9 EUR"),
    ("1500", '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0 "EUR"', "1500"),
    ("NaN", '"gain "0;"loss "0', "NaN"),
    ("x", '0" kg"', "x"),
    ("x", "yyyy", "x"),
    ("-INF", "General", "-INF"),
    ("5", ";;;", "5"),
    ("45356", "m/d/yy", "2024-03-05"),
    ("45356", "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "2024-03-05"),
    ("45356", 'ggge"年"m"月"d"日"', "2024-03-05"),
    ("45356.395833333336", "yyyy\\-mm\\-dd hh:mm;@", "2024-03-05 09:30:00"),
    ("0.39583333333333331", "h:mm AM/PM", "09:30:00"),
    ("0.99998842592592593", "h:mm:ss", "23:59:59"),
    ("59", "d/m/yyyy", "1900-02-28"),
    ("61", "d/m/yyyy", "1900-03-01"),
    ("1.5", "[h]:mm", "36:00:00"),
    ("0.0005150462962962963", "mm:ss.0", "00:00:44.5"),
    ("-1", "yyyy-mm-dd", "-1"),
    ("99999999999", "yyyy-mm-dd", "99999999999"),
]  # fmt: skip


@pytest.mark.parametrize(("literal", "code", "shown"), FORMATS)
def test_number_format_is_applied(literal: str, code: str, shown: str) -> None:
    assert format_number(literal, parse_number_format(code)) == shown


def test_builtin_formats_dates_of_old_macs_and_text() -> None:
    assert format_number("0.5", find_builtin_format(9)) == "50%"
    assert format_number("45356", find_builtin_format(14)) == "2024-03-05"
    assert format_number("1.25", find_builtin_format(46)) == "30:00:00"
    assert format_number("45356", find_builtin_format(31)) == "2024-03-05"
    assert format_number("0.1", find_builtin_format(200)) == "0.1"
    assert format_number("43894", find_builtin_format(14), since_1904=True) == "2024-03-05"
    assert format_duration(-5400.25) == "-01:30:00.25"

from __future__ import annotations

import io
import re
import zipfile
from datetime import date, datetime

import openpyxl
import pytest

from kg_api.convert.spreadsheet import convert
from kg_api.errors import UnreadableDocument
from tests.unit.convert.gate import assert_in_order, assert_refuses_bad_bytes, kinds


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


def changed(data: bytes, name: str, old: bytes, new: bytes) -> bytes:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as before,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for each in before.namelist():
            content = before.read(each)
            after.writestr(each, re.sub(old, new, content, count=1) if each == name else content)
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
    assert (got.title, got.metadata["author"], got.metadata["date"]) == (
        "Stock",
        "Ann Lee",
        "2024-03-05T10:00:00+00:00",
    )


def test_a_long_sheet_repeats_its_header_and_keeps_every_cell() -> None:
    rows: list[list[object]] = [["Name", "Number"], *([f"word{i}", i] for i in range(400))]
    got = convert(workbook({"Long": rows}))
    assert kinds(got.text) == ["heading", *["table"] * 11]
    assert got.text.count("| Name | Number |") == 11
    assert_in_order(got, [f"word{i}" for i in range(400)])


def test_bad_bytes_are_refused() -> None:
    assert_refuses_bad_bytes(convert, workbook({"Tea": ROWS}))


def test_empty_workbooks_are_refused() -> None:
    with pytest.raises(UnreadableDocument, match="empty"):
        convert(workbook({"A": [], "B": []}))


def test_a_sheet_that_claims_millions_of_rows_costs_nothing() -> None:
    sheet = "xl/worksheets/sheet1.xml"
    claimed = changed(
        workbook({"Tea": ROWS}), sheet, rb'<dimension ref="[^"]*"', rb'<dimension ref="A1:XFD1048576"'
    )
    assert "Green tea" in convert(claimed).text
    far = changed(
        workbook({"Tea": ROWS}),
        sheet,
        rb"</sheetData>",
        rb'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>',
    )
    with pytest.raises(UnreadableDocument, match="cells between"):
        convert(far)


def test_bombs_are_refused() -> None:
    with pytest.raises(UnreadableDocument, match="ZIP bomb"):
        convert(changed(workbook({"Tea": ROWS}), "xl/styles.xml", rb"^", b" " * 30_000_000))


def sheet_of(rows: str) -> bytes:
    """An ODS file with this XML for rows, which only in part uses what LibreOffice writes."""
    namespaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    content = (
        f'<office:document-content {namespaces}><office:body><office:spreadsheet><table:table table:name="S">'
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


def test_cells_of_ods_are_as_the_file_shows_them() -> None:
    share = "<office:annotation><text:p>a note</text:p></office:annotation><text:p>50 %</text:p>"
    head = row(
        cell("<text:p>When</text:p>"),
        cell("<text:p>Share</text:p><text:p>of<text:s/>all</text:p>"),
        cell("", 'table:number-columns-repeated="16000"'),
    )
    shown = row(
        cell("<text:p>16/08/09</text:p>", 'office:date-value="2009-08-16"'),
        cell(share, 'office:value="0.5"'),
        times=2,
    )
    said = row(cell("", 'office:date-value="2010-01-02"'))
    assert convert(sheet_of(head + shown + said)).text == (
        "## S\n\n| When | Share of all |\n| --- | --- |\n"
        "| 16/08/09 | 50 % |\n| 16/08/09 | 50 % |\n| 2010-01-02 |  |\n"
    )


@pytest.mark.parametrize(
    "rows",
    [
        row(cell("", 'table:number-columns-repeated="999999999"'), cell("<text:p>far</text:p>")),
        row(cell("", 'office:value="1"'), times=99_999_999),
    ],
    ids=["columns", "rows"],
)
def test_ods_sheets_that_claim_millions_of_cells_are_refused(rows: str) -> None:
    with pytest.raises(UnreadableDocument, match="cells between"):
        convert(sheet_of(rows))

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from kg_api.convert import delimited, spreadsheet
from kg_api.convert.shared.accounting import find_missing
from tests.unit.convert.test_delimited import DECLARED
from tests.unit.convert.test_spreadsheet import ROWS, workbook

FILES = Path(__file__).parents[2] / "data" / "files"


def format_cells(values: dict[str, Any]) -> bytes:
    """Build a workbook with a value for each number format."""
    book, out = openpyxl.Workbook(), io.BytesIO()
    sheet = book.worksheets[0]
    sheet.append(["Value", "Kind"])
    for at, (form, value) in enumerate(values.items(), 2):
        sheet.cell(at, 1, value).number_format = form
        sheet.cell(at, 2, f"kind {at}")
    book.save(out)
    return out.getvalue()


BOOKS: dict[str, bytes] = {
    **{path.name: path.read_bytes() for path in sorted(FILES.iterdir()) if path.suffix == ".xlsx"},
    "usual": workbook({"Tea": ROWS, "Notes": [["One remark"]]}, corner="C4"),
    "titles": workbook(
        {
            "Sites": [
                ["Report 2025"],
                [],
                ["Site", "Load"],
                ["Harbour", 40],
                [],
                [],
                ["Part", "Price"],
                ["Nut", 2],
            ]
        }
    ),
    "side by side": workbook(
        {"Sites": [["A", "B", None, "C", "D"], ["x", 1, None, "y", 2], ["z", 3, None, None, None]]}
    ),
    "formulas": workbook({"Sums": [["Item", "Sum"], ["Cranes", "=40+2"], ["Nuts", "=B2*2"]]}),
    "formats": format_cells(
        {
            "General": 0.1 + 0.2,
            "0": 1234567890123456,
            "00000": 42,
            "#,##0.00 €": 1234.5,
            "0.0%": 0.256,
            "yyyy-mm-dd": dt.date(2024, 3, 5),
            "yyyy-mm-dd hh:mm": dt.datetime(2024, 3, 5, 9, 30),  # noqa: DTZ001 - as the format has it
            "[h]:mm": dt.timedelta(hours=36),
        }
    ),
}


def read_book(data: bytes) -> Iterator[str]:
    computed = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    for sheet in openpyxl.load_workbook(io.BytesIO(data)):
        for line in sheet.iter_rows():
            for each in line:
                value: Any = computed[sheet.title][each.coordinate].value
                yield show(each.value if value is None else value, str(each.number_format))


def show(value: object, form: str) -> str:
    if isinstance(value, bool) or value is None:
        return str(value or "").upper()
    if isinstance(value, dt.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(value, dt.timedelta):
        hours, rest = divmod(int(value.total_seconds()), 3600)
        return f"{hours:02}:{rest // 60:02}:{rest % 60:02}"
    if isinstance(value, int | float):
        if re.fullmatch("0+", form):
            return str(value).zfill(len(form))
        return f"{value * 100:.15g}%" if "%" in form else f"{value:.15g}"
    return str(value)


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,:]\d+)*", text))


@pytest.mark.parametrize("name", BOOKS)
def test_every_workbook_word_is_stored_without_invented_numbers(name: str) -> None:
    pieces = list(filter(None, read_book(BOOKS[name])))
    got = spreadsheet.convert(BOOKS[name])
    assert pieces
    assert find_missing(pieces, got.text) is None
    assert numbers("\n".join(line for line in got.text.split("\n") if line[:2] != "##")) <= numbers(
        " ".join(pieces)
    )
    missing = find_missing([*pieces, "Zanzibar 987654"], got.text)
    assert missing
    assert missing.words == 2


@pytest.mark.parametrize("text", DECLARED)
def test_every_cell_of_a_csv_file_is_stored(text: str) -> None:
    got = delimited.convert(text.encode()).text
    lines = [
        line for line in text.lstrip("\ufeff").split("\n") if not line.strip('"').lower().startswith("sep=")
    ]
    cells = [cell for line in csv.reader(lines) for cell in line]
    assert find_missing(cells, got) is None
    assert set(re.findall(r"\d+", got)) == set(re.findall(r"\d+", " ".join(cells)))

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.convert.delimited import convert
from kg_api.errors import UnreadableDocument
from tests.unit.convert.gate import BAD_BYTES, assert_in_order, kinds


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_delimiters_and_encodings(delimiter: str, encoding: str) -> None:
    out = io.StringIO()
    rows = [
        ["Stadt", "Höhe", "Anmerkung"],
        ["Zürich", "408,5", "am See, in der Schweiz; schön"],
        ["Köln", "53", 'sagt "Grüße"\nzwei'],
    ]
    csv.writer(out, delimiter=delimiter).writerows(rows)
    got = convert(out.getvalue().encode(encoding))
    assert got.text == (
        "| Stadt | Höhe | Anmerkung |\n| --- | --- | --- |\n"
        '| Zürich | 408,5 | am See, in der Schweiz; schön |\n| Köln | 53 | sagt "Grüße" zwei |\n'
    )
    assert bool(got.notes) is (encoding == "cp1252")


CELLS = st.from_regex(r"[a-z]{1,8}( [a-z]{1,8})?", fullmatch=True)


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=2, max_size=120))
def test_every_cell_is_kept_in_order(rows: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    got = convert(out.getvalue().encode())
    assert set(kinds(got.text)) == {"table"}
    assert_in_order(got, [cell for row in rows for cell in row])


def test_ragged_rows_and_empty_edges() -> None:
    got = convert(b",,\n,a,b\n\n,1\n,2,3,4\n,,\n")
    assert got.text == "| a | b |  |\n| --- | --- | --- |\n| 1 |  |  |\n| 2 | 3 | 4 |\n"


@pytest.mark.parametrize("data", [*BAD_BYTES, b",,,\n,,\n"])
def test_bad_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableDocument, match=r"\w+ \w+"):
        convert(data)


def test_too_many_cells_are_refused() -> None:
    with pytest.raises(UnreadableDocument, match="split it"):
        convert(b"," * 2_100_000)

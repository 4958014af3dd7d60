from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.convert.sheets import split_tables

Block = str | list[list[str]]


def grid(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in text.strip("\n").split("\n")]


def split(text: str) -> list[Block]:
    blocks = split_tables(grid(text))
    return [block if isinstance(block, str) else [list(row) for row in block] for block in blocks]


SITES = [["Site", "Load", "Owner"], ["Harbour", "40", "Team A"], ["Airport", "55", "Team B"]]
PARTS = [["Part", "Price"], ["Bolt", "3"], ["Nut", "2"]]

APART: dict[str, tuple[str, list[Block]]] = {
    "title and two tables": (
        "Report 2025\n\nSite|Load|Owner\nHarbour|40|Team A\nAirport|55|Team B\n\n\nPart|Price\nBolt|3\nNut|2",
        ["Report 2025", SITES, PARTS],
    ),
    "title without a gap": (
        "Export of 3 August 2026\nSite|Load|Owner\nHarbour|40|Team A\nAirport|55|Team B",
        ["Export of 3 August 2026", SITES],
    ),
    "title in the middle": (
        "|Loads|\nSite|Load|Owner\nHarbour|40|Team A\nAirport|55|Team B",
        ["Loads", SITES],
    ),
    "values above the table": (
        "Date:|2026-08-03\nUser:|Ann\n\nSite|Load|Owner\nHarbour|40|Team A\nAirport|55|Team B",
        [[["Date:", "2026-08-03"], ["User:", "Ann"]], SITES],
    ),
    "one blank row, another type": (
        "Site|Load\nHarbour|40\n\nPart|Price\nBolt|3\nNut|2",
        [[["Site", "Load"], ["Harbour", "40"]], PARTS],
    ),
    "one blank row, more columns": (
        "Name|Role\nAnn|Chief\n\nRoom|Floor|Key\nA1|first|brass",
        [[["Name", "Role"], ["Ann", "Chief"]], [["Room", "Floor", "Key"], ["A1", "first", "brass"]]],
    ),
    "two blank rows, words only": (
        "Name|Role\nAnn|Chief\n\n\nRoom|Floor\nA1|first",
        [[["Name", "Role"], ["Ann", "Chief"]], [["Room", "Floor"], ["A1", "first"]]],
    ),
    "the same header again": ("Part|Price\nBolt|3\nNut|2\n\nPart|Price\nBolt|3\nNut|2", [PARTS, PARTS]),
    "side by side": (
        "Site|Load|Owner||Part|Price\nHarbour|40|Team A||Bolt|3\nAirport|55|Team B||Nut|2",
        [SITES, PARTS],
    ),
    "side by side, of different length, below a title": (
        (
            "Report\n\nSite|Load|Owner||Part|Price\nHarbour|40|Team A||Bolt|3\nAirport|55|Team B||Nut|2\n"
            "Dock|1|Team C"
        ),
        ["Report", [*SITES, ["Dock", "1", "Team C"]], PARTS],
    ),
    "side by side, then one below": (
        "Site|Load||Part|Price\nHarbour|40||Bolt|3\nAirport|55||Nut|2\n\nA|B|C|D|E\nx|1|2|3|4",
        [
            [["Site", "Load"], ["Harbour", "40"], ["Airport", "55"]],
            PARTS,
            [["A", "B", "C", "D", "E"], ["x", "1", "2", "3", "4"]],
        ],
    ),
    "remark below": (
        "Part|Price\nBolt|3\nNut|2\n\nSource: the catalogue of 2025",
        [PARTS, "Source: the catalogue of 2025"],
    ),
    "title over years": (
        "Loads by year\nSite|2023|2024\nHarbour|40|41",
        ["Loads by year", [["Site", "2023", "2024"], ["Harbour", "40", "41"]]],
    ),
    "title of a single column": (
        "Instructions\n\nName\nAnn\nBob",
        ["Instructions", [["Name"], ["Ann"], ["Bob"]]],
    ),
}


@pytest.mark.parametrize("name", APART)
def test_titles_and_tables_are_separated(name: str) -> None:
    text, expected = APART[name]
    assert split(text) == expected


WHOLE = {
    "header first": "Site|Load|Owner\nHarbour|40|Team A\nAirport|55|Team B",
    "sparse columns": "Site|Load|Owner|Remark\nHarbour|40||\nAirport|||closed\nDock|||",
    "header with a gap": "Site||Owner\nHarbour|x|Team A\nAirport|y|Team B",
    "years": "2021|2022|2023\n4|5|6",
    "numbers only": "1|2\n3|4",
    "one column": "Name\nAnn\nBob",
    "section rows": "Site|Load\nNorth|\nHarbour|40\nSouth|\nAirport|55",
    "unknown values": "Site|Load\nHarbour|40\nDock|n/a\nAirport|55",
    "one name in the header": "Report|\nHarbour|40\nAirport|55",
    "name of the values only": "|Load\nHarbour|40\nAirport|55",
    "shorter header": "Name|Role\nAnn|Chief|left\nBob|Cook|",
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_usual_table_stays_whole(name: str) -> None:
    rows = grid(WHOLE[name])
    assert split(WHOLE[name]) == [rows]
    assert split(f"\n\n{WHOLE[name]}\n\n") == [rows]


CONTINUED = {
    "separator rows": "Site|Load|Owner\nHarbour|40|Team A\n\nAirport|55|Team B",
    "two separator rows": "Site|Load|Owner\nHarbour|40|Team A\n\n\nAirport|55|Team B",
    "header apart": "Site|Load|Owner\n\nHarbour|40|Team A\nAirport|55|Team B",
    "every other row, words only": "Name|Role\n\nAnn|Chief\n\nBob|Cook\n\nCyd|Nurse\n\nDan|Guard\n\nEve|",
    "unknown value after a gap": "Site|Load\nHarbour|40\n\nDock|n/a\nAirport|55",
    "labels between": (
        "Site|Load|Owner\n\nNorth||\n\nHarbour|40|Team A\n\nSouth||\n\nAirport|55|Team B\n\nDock|1|Team C"
    ),
    "labels of parts": "Site|Load|Owner\n\nNorth||\nHarbour|40|Team A\n\nSouth||\nAirport|55|Team B",
    "words after a gap": "Name|Role\nAnn|Chief\n\nBob|Cook\nCyd|Nurse",
    "one column in parts": "Name\nAnn\n\nBob\nCyd",
    "lines of different length": "a|b|\n\n1||\n2|3|4",
}


@pytest.mark.parametrize("name", CONTINUED)
def test_blank_rows_do_not_split_a_table(name: str) -> None:
    assert split(CONTINUED[name]) == [[row for row in grid(CONTINUED[name]) if any(row)]]


@pytest.mark.parametrize(
    "text",
    [
        "Region|Q1|Q2||Q3|Q4\nNorth|1|2||3|4\nSouth|5|6||7|8",
        "Site|Load||Remark\nHarbour|40||closed\nAirport|55||open",
    ],
    ids=["values", "remarks"],
)
def test_empty_spacer_column_is_removed(text: str) -> None:
    assert split(text) == [[[cell for cell in row if cell] for row in grid(text)]]


CELLS = st.sampled_from(["", "", "a", "b c", "12", "2024-01-02", "n/a", " ".join("abcdefghijk")])


@given(st.lists(st.lists(CELLS, max_size=7), max_size=14))
def test_no_cell_is_lost(rows: list[list[str]]) -> None:
    blocks = list(split_tables(rows))
    cells = [block if isinstance(block, str) else " ".join(map(" ".join, block)) for block in blocks]
    found = Counter(" ".join(cells).split())
    wanted = Counter(" ".join(map(" ".join, rows)).split())
    assert not wanted - found
    assert set(found) <= set(wanted)

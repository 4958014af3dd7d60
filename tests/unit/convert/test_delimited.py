import csv
import io

import pytest

from kg_api.convert.delimited import convert
from kg_api.errors import UnreadableDocument
from tests.unit.convert.gate import BAD_BYTES


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


@pytest.mark.parametrize(
    ("data", "told"),
    [*((data, r"\w+ \w+") for data in (*BAD_BYTES, b",,,\n,,\n")), (b"," * 2_100_000, "[Ss]plit the file")],
    ids=range(len(BAD_BYTES) + 2),
)
def test_unusable_bytes_are_rejected(data: bytes, told: str) -> None:
    with pytest.raises(UnreadableDocument, match=told):
        convert(data)


def test_enormous_field_is_rejected() -> None:
    before = csv.field_size_limit(70_000)
    try:
        with pytest.raises(UnreadableDocument, match="line 2 of the file is not valid CSV"):
            convert(b"a,b\n" + b"c" * 80_000)
    finally:
        csv.field_size_limit(before)


SITES = "| Site | Load | Owner |\n| --- | --- | --- |\n| Harbour | 40 | Team A |\n| Airport | 55 | Team B |\n"
COMMAS = "Site,Load,Owner\nHarbour,40,Team A\nAirport,55,Team B\n"
DECLARED = {
    "sep=;\n" + COMMAS.replace(",", ";"): SITES,
    '\ufeff"SEP=|"\r\n' + COMMAS.replace(",", "|").replace("\n", "\r\n"): SITES,
    "sep=\t\n" + COMMAS.replace(",", "\t"): SITES,
    "sep=^\n" + COMMAS.replace(",", "^"): SITES,
    "sep=;\nName;Amount\nAnn;1,5\n": "| Name | Amount |\n| --- | --- |\n| Ann | 1,5 |\n",
    "Export of 3 August 2026\n\n" + COMMAS: f"Export of 3 August 2026\n\n{SITES}",
    "Export of 3 August 2026\n" + COMMAS: f"Export of 3 August 2026\n\n{SITES}",
    "sep=;\nExport of 3 August 2026\n" + COMMAS.replace(",", ";"): f"Export of 3 August 2026\n\n{SITES}",
    "Export\n\nName;Amount\nAnn;1,5\n": "Export\n\n| Name | Amount |\n| --- | --- |\n| Ann | 1,5 |\n",
    "Date: 3 May\nUser: Ann\n" + COMMAS: f"Date: 3 May\n\nUser: Ann\n\n{SITES}",
    COMMAS + "\n\nPart,Price\nBolt,3\n": f"{SITES}\n| Part | Price |\n| --- | --- |\n| Bolt | 3 |\n",
    COMMAS + "Total,95,\n": f"{SITES}| Total | 95 |  |\n",
    COMMAS + "\nTotal,95,\n": f"{SITES}| Total | 95 |  |\n",
    COMMAS + "\nSource: the port's books\n": f"{SITES}\nSource: the port's books\n",
    "One note; it has a sign\nAnother\nA third\nA last\n": (
        "| One note; it has a sign |\n| --- |\n| Another |\n| A third |\n| A last |\n"
    ),
}


@pytest.mark.parametrize("text", DECLARED)
def test_titles_declared_delimiters_and_tables(text: str) -> None:
    assert convert(text.encode()).text == DECLARED[text]

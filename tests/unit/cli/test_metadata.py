from __future__ import annotations

import pytest
import typer

from kg_cli.documents.metadata import read_changes


def test_types_are_read_from_the_values() -> None:
    given = [
        "title=Pumps = all",
        "uri=file:///a",
        "n=3",
        "x=1.5",
        "draft=true",
        "names=a,b",
        "zip='0123'",
        "t=",
    ]
    assert read_changes(given, ["tags=oncall, 7", "years=2024,2025"], ["old"]) == {
        "title": "Pumps = all",
        "uri": "file:///a",
        "metadata": {
            "n": 3,
            "x": 1.5,
            "draft": True,
            "names": "a,b",
            "zip": "0123",
            "t": "",
            "tags": ["oncall", "7"],
            "years": [2024, 2025],
            "old": None,
        },
    }


@pytest.mark.parametrize("values", [[], ["novalue"], ["=3"]])
def test_what_is_no_change(values: list[str]) -> None:
    with pytest.raises(typer.BadParameter):
        read_changes(values, [], [])

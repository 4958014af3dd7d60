from __future__ import annotations

import pytest
import typer

from kg_cli.documents.ingestion import read_changes, read_metadata


def test_types_are_read_from_the_values() -> None:
    given = [
        "title=Pumps = all", "uri=file:///a", "n=3", "x=1.5", "draft=true", "names=a,b", "zip='0123'", "t=",
    ]  # fmt: skip
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
def test_empty_metadata_change_is_rejected(values: list[str]) -> None:
    with pytest.raises(typer.BadParameter):
        read_changes(values, [], [])


def test_metadata_options_have_the_same_types() -> None:
    given = ["author=Ada", "year=2025", 'code="7"', "draft=false"]
    assert read_metadata(given, ["tags=a, b"]) == {
        "author": "Ada",
        "year": 2025,
        "code": "7",
        "draft": False,
        "tags": ["a", "b"],
    }
    assert read_metadata([], []) == {}


@pytest.mark.parametrize(("value", "told"), [("title=All", "differs per document"), ("author", "KEY=VALUE")])
def test_invalid_metadata_option_is_rejected(value: str, told: str) -> None:
    with pytest.raises(typer.BadParameter, match=told):
        read_metadata([value], [])

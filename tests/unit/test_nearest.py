"""What is nearest to a wrong name, and numbers with what they count."""

from __future__ import annotations

import pytest

from kg_api.suggestions import nearest, no_ontology, spelt_nearly, suggestion
from kg_api.wording import are, pluralize

NAMES = ["handbook", "notes", "guide/install.md", "Büro 2", "本棚"]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("handbok", "handbook"),
        ("HANDBOOK", "handbook"),
        ("note", "notes"),
        ("install.md", "guide/install.md"),
        ("büro", "Büro 2"),
        ("本", "本棚"),
    ],
)
def test_a_slip_of_the_finger_finds_the_name(wrong: str, meant: str) -> None:
    assert nearest(wrong, NAMES)[0] == meant


def test_what_only_shares_some_letters_is_not_near() -> None:
    files = ["CHANGELOG.md", "bad_dimensions.xlsx", "calibre-deu.epub", "0001-neo4j-is-the-only-store.md"]
    assert [nearest(wrong, files) for wrong in ("nope", "nope.md", "SOURCE_ID", "misch/nix.md")] == [[]] * 4
    assert nearest("calibre", files) == nearest("my calibre deu.epub", files) == ["calibre-deu.epub"]


def test_what_is_like_nothing_names_nothing() -> None:
    assert nearest("zzzz", NAMES) == nearest("?!", NAMES) == nearest("x", []) == []
    assert suggestion("zzzz", NAMES) == ""
    assert no_ontology("zzzz", NAMES) == "there is no ontology 'zzzz'"
    assert no_ontology(["note", "handbok"], NAMES).endswith("; the nearest: 'notes', 'handbook'")


def test_one_is_no_plural() -> None:
    assert [pluralize(n, "document") for n in (0, 1, 2)] == ["0 documents", "1 document", "2 documents"]
    assert pluralize(2, "group of copies", "groups of copies") == "2 groups of copies"
    assert [are(n) for n in (0, 1, 2)] == ["are", "is", "are"]


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("autor", ["author"]),
        ("tag", ["tags"]),
        ("Dates", ["date"]),
        ("version", []),
        ("status", []),
        ("", []),
    ],
)
def test_only_a_slip_is_spelt_nearly_the_same(wanted: str, meant: list[str]) -> None:
    assert spelt_nearly(wanted, ["author", "tags", "date", "uri", "updated_at"]) == meant

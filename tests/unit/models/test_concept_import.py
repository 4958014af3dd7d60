"""Rows of concepts: how other formats become them, and how they are cut into requests."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.concepts import ConceptRow, from_openie, portions


def row(document: str, label: str = "a") -> ConceptRow:
    return ConceptRow.model_validate({"document": document, "concepts": [{"label": label}]})


def test_open_information_extraction_becomes_a_row() -> None:
    found = from_openie(
        {
            "doc": "7",
            "title": "Lubefu River",
            "entities": ["Lubefu River", " Congo ", "Lubefu River", "", 3],
            "triples": [
                ["Lubefu River", "flows in", "Congo"],
                ["a", "b"],
                ["a", "", "b"],
                "abc",
                ["a", "b", 3],
            ],
        }
    )
    assert found == {
        "document": "7",
        "title": "Lubefu River",
        "concepts": [{"label": "Lubefu River"}, {"label": "Congo"}],
        "relations": [("Lubefu River", "flows in", "Congo")],
    }
    ConceptRow.model_validate(found)


def test_the_names_of_hipporag_itself_are_read() -> None:
    found = from_openie({"idx": 3, "extracted_entities": ["x"], "extracted_triples": [["x", "is", "y"]]})
    assert found == {"document": "3", "concepts": [{"label": "x"}], "relations": [("x", "is", "y")]}


@given(st.dictionaries(st.sampled_from(["doc", "title", "entities", "triples"]), st.recursive(
    st.none() | st.text() | st.integers(), lambda inner: st.lists(inner, max_size=4), max_leaves=12
)))  # fmt: skip
def test_any_line_is_read_without_an_error(line: dict[str, object]) -> None:
    found = from_openie(line)
    assert all(each["label"].strip() for each in found["concepts"])
    assert all(len(each) == 3 for each in found["relations"])


@given(st.lists(st.sampled_from("abcdefgh"), max_size=60), st.integers(1, 10))
def test_rows_of_one_document_stay_together(names: list[str], size: int) -> None:
    rows = [row(name, f"label {at}") for at, name in enumerate(names)]
    cut = list(portions(rows, size))
    assert sorted(map(id, (each for portion in cut for each in portion))) == sorted(map(id, rows))
    places = [{each.document for each in portion} for portion in cut]
    assert sum(map(len, places)) == len(set(names))
    for portion, documents in zip(cut, places, strict=True):
        assert portion
        assert len(portion) <= size or len(documents) == 1


def test_portions_are_bounded_by_their_characters_too() -> None:
    rows = [row(str(number), "x" * 150) for number in range(50)]
    cut = list(portions(rows, 100, 2000))
    assert [each for portion in cut for each in portion] == rows
    assert len(cut) > 3
    assert all(sum(len(each.model_dump_json()) for each in portion) <= 2000 for portion in cut)

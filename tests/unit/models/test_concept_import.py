from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.concepts import ConceptRow, portions


def row(document: str, label: str = "a") -> ConceptRow:
    return ConceptRow.model_validate({"document": document, "concepts": [{"label": label}]})


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

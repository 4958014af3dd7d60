"""Questions from two concepts of one document, answered by their quotes."""

from __future__ import annotations

from kg_api.evaluation.sets import numbered, pair_query
from kg_api.schemas.concepts import ConceptDetails, Evidence
from kg_api.schemas.evaluation import Reference
from kg_api.schemas.search import Place

PASSAGE = "A heron of the estuary carries a copper ring from Riga."


def concept(label: str, *places: tuple[str, int, int], others: tuple[str, ...] = ()) -> ConceptDetails:
    quotes: list[Evidence] = []
    for name, start, end in places:
        source = Place.model_construct(source_id=f"of {name}", document=name, full_text=PASSAGE)
        quotes.append(Evidence.model_construct(source=source, start=start, end=end))
    return ConceptDetails.model_construct(label=label, search_terms=[*others], evidence=quotes)


def test_the_quotes_of_both_are_the_answer() -> None:
    found = pair_query(concept("heron", ("a", 2, 9)), concept("copper ring", ("a", 33, 44)), ["of a"])
    assert found is not None
    assert (found.text, dict(found.relevant)) == ("heron, copper ring", {"a": 1})
    assert found.references == (Reference("a", 2, 9), Reference("a", 33, 44))


def test_quotes_that_overlap_are_one_place() -> None:
    found = pair_query(concept("heron", ("a", 0, 20)), concept("copper ring", ("a", 10, 44)), ["of a"])
    assert found is not None
    assert found.references == (Reference("a", 0, 44),)


def test_a_name_that_the_passage_does_not_use_is_asked_for() -> None:
    one = concept("heron", ("a", 2, 9), others=("Heron", "Ardea cinerea"))
    found = pair_query(one, concept("copper ring", ("a", 33, 44)), ["of a"])
    assert found is not None
    assert found.text == "Ardea cinerea, copper ring"


def test_what_several_documents_answer_is_no_question() -> None:
    one, other = concept("heron", ("a", 2, 9), ("b", 2, 9)), concept("ring", ("a", 33, 44), ("b", 33, 44))
    assert pair_query(one, other, ["of a", "of b"]) is None
    assert pair_query(one, other, ["of a"]) is not None
    assert pair_query(one, other, ["of c"]) is None


def test_forms_of_one_name_are_no_question() -> None:
    one, other = concept("copper ring", ("a", 2, 9)), concept("Ring", ("a", 33, 44))
    assert pair_query(one, other, ["of a"]) is None


def test_questions_have_numbers() -> None:
    found = pair_query(concept("heron", ("a", 2, 9)), concept("ring", ("a", 33, 44)), ["of a"])
    assert found is not None
    assert [each.query_id for each in numbered([found, found])] == ["q1", "q2"]

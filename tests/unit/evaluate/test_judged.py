"""Questions that people judged, as questions of a set."""

from __future__ import annotations

from kg_api.evaluation.sets import judged_queries
from kg_api.schemas.evaluation import Judgement, Reference
from kg_api.schemas.search import Place


def judgement(question: str, document: str, start: int, relevance: int, *, gone: bool = False) -> Judgement:
    source = None if gone else Place.model_construct(start=start, end=start + 5)
    return Judgement.model_construct(
        ontology="o", question=question, document=document, relevance=relevance, source=source
    )


def test_a_document_is_as_relevant_as_its_best_passage() -> None:
    (query,), notes = judged_queries(
        [judgement("q", "a", 10, 1), judgement("q", "a", 0, 2), judgement("q", "b", 0, 1)]
    )
    assert (query.text, dict(query.relevant), query.references) == ("q", {"a": 2, "b": 1}, ())
    assert [(each.document, each.start, each.relevance) for each in query.passages] == [
        ("a", 0, 2),
        ("a", 10, 1),
        ("b", 0, 1),
    ]
    assert notes == []


def test_places_are_told_where_they_are_of_one_document() -> None:
    (query,), _ = judged_queries(
        [judgement("q", "a", 10, 1), judgement("q", "a", 0, 2), judgement("q", "b", 0, 0)]
    )
    assert query.references == (Reference("a", 0, 5), Reference("a", 10, 15))
    assert dict(query.relevant) == {"a": 2}


def test_questions_have_the_same_ids_whatever_else_was_judged() -> None:
    alone = judged_queries([judgement("q", "a", 0, 2)])[0][0].query_id
    among = judged_queries([judgement("p", "a", 0, 2), judgement("q", "a", 0, 2)])[0]
    assert [each.query_id == alone for each in among] == [False, True]


def test_what_says_nothing_is_left_out_and_counted() -> None:
    queries, notes = judged_queries(
        [
            *(judgement("q", "a", 0, 2, gone=True), judgement("q", "a", 10, 0)),
            *(judgement("p", "a", 0, 1), judgement("r", "a", 0, 0)),
        ]
    )
    assert [each.text for each in queries] == ["p"]
    assert notes == [
        "1 judgement left out: the passages have changed since",
        "1 question left out: all that answered has changed since",
        "1 question left out: nothing was judged to answer",
    ]

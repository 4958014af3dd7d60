"""What constructive queries tell of types that are not there, and of seeds."""

from __future__ import annotations

import pytest

from kg_api.concepts.relations import RelationshipSearcher
from kg_api.discovery.constructive import ConstructiveService
from kg_api.errors import InvalidInput, NotFound
from kg_api.schemas.concepts import RelationshipSearch
from tests.support.concept_graph import store_concepts
from tests.support.constructive import ask, expand, names, seed
from tests.support.kg import Kg
from tests.support.records import record

MISSPELT = "no relationship is of a type 'designd'; the nearest: 'designed', 'designed in'"


def test_a_type_that_is_not_there_is_told_with_the_nearest(
    kg: Kg, constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    follow = expand("related_to", types=["Wrote About", "designd"])
    found = ask(constructive, seed(ids["Analytical Engine"]), follow)
    assert "Ada Lovelace" in names(found)
    assert [each.effect for each in found.degraded] == [MISSPELT]
    known = ask(constructive, seed(ids["Analytical Engine"]), expand("related_to", types=["WROTE about"]))
    assert known.degraded == []
    nothing = ask(constructive, seed(ids["London"]), expand("related_to", types=["zzz"]), ontology="notes")
    assert [each.effect for each in nothing.degraded] == ["no relationship is of a type 'zzz'"]
    asked = RelationshipSearch(query_text="who designed the engine", types=["designd"])
    hits = RelationshipSearcher(kg.graph, kg.spaces).search(asked)
    assert MISSPELT in [each.effect for each in hits.degraded]


def test_a_phrase_names_what_was_taken_of_what_the_query_sees(
    kg: Kg, constructive: ConstructiveService
) -> None:
    for name, label in (("a.md", "generator expressions"), ("b.md", "generator functions")):
        store_concepts(kg.graph, record(name, [f"The {label} are here."]), {0: [label]})
    (told,) = [each.effect for each in ask(constructive, seed("generator")).degraded]
    assert "2 concepts" in told
    found = ask(constructive, seed("generator"), documents=["b.md"])
    assert names(found) == ["generator functions"]
    effects = [each.effect for each in found.degraded]
    assert effects == [
        "no concept is called 'generator'; taken for it: 1 concept that it fits, 'generator functions'"
    ]
    store_concepts(kg.graph, record("c.md", ["Nothing of it."]), {})
    with pytest.raises(NotFound, match=r"there is no document 'd\.md'"):
        ask(constructive, seed("generator"), documents=["d.md"])
    with pytest.raises(InvalidInput, match="in no document that the query sees"):
        ask(constructive, seed("generator"), documents=["c.md"])


def test_unknown_document_in_subgraph_is_not_found(
    constructive: ConstructiveService, ids: dict[str, str]
) -> None:
    assert ids
    by_text = seed("the Thames", "text")
    with pytest.raises(NotFound, match=r"there is no document 'none\.md'"):
        ask(constructive, by_text, documents=["none.md"])
    with pytest.raises(NotFound, match=r"there is no document 'none\.md'"):
        ask(constructive, seed("Thames"), {"step": "filter", "documents": ["none.md"]})
    within = ask(constructive, by_text | {"where": ["document=none.md"]})
    assert within.note == "no seed was found: no document fits the conditions of the filter"

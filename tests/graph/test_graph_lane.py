from functools import partial
from typing import Any

import pytest
from pydantic import ValidationError

from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import request_concepts
from kg_api.graph.concept_writes import write_extractions
from kg_api.graph.document_writes import store_document
from kg_api.graph.search import ConceptNearness, Seed, find_near_concepts
from kg_api.schemas.base import build_concept_id
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.search.rank import KEPT, NO_RERANKING, Reranking
from kg_api.spaces.plans import read_embedding_state
from tests.graph.conftest import sharing
from tests.graph.test_reranked_search import Backwards
from tests.support.kg import Kg
from tests.support.lanterns import add_lanterns, carried
from tests.support.records import record

PRINTED = "which paper called Gazette of Lanterns is it that a guild prints"
ISSUES = [
    f"The Gazette of Lanterns number{n} is printed; what is printed in it is printed." for n in range(12)
]
SINGERS = "The Guild of Keepers choir sings at the harbour."


kg = sharing(lambda graph: add_lanterns(graph, *ISSUES))


def search(kg: Kg, text: str = PRINTED, reranking: Reranking = NO_RERANKING, **more: Any) -> SourceHits:
    return kg.find(text, reranking, **more)


def test_near_concepts_belong_to_the_same_ontology(graph: Graph) -> None:
    """This should not depend on how many ontologies have the same concepts."""
    own = Kg(graph)
    ontologies = ["notes", *(f"o{n}" for n in range(8))]
    for name in ontologies:
        made = record("a.md", ["The Guild of Keepers is here.", SINGERS], name)
        store_document(graph, made)
        graph.transaction(partial(request_concepts, ontology=name))
        found = [carried(made, 0, "Guild of Keepers"), carried(made, 1, "Guild of Keepers choir")]
        graph.transaction(partial(write_extractions, ontology=name, extractions=found, mark="m"))
    own.work()
    space = read_embedding_state(graph, "notes").answering.space
    seeds = [Seed(build_concept_id("notes", "Guild of Keepers"), 1.0)]
    near = find_near_concepts(graph, ConceptNearness(space, ontologies, 0.2), seeds)
    assert [each.concept_id for each in near] == [build_concept_id("notes", "Guild of Keepers choir")]
    assert not find_near_concepts(graph, ConceptNearness(space, ontologies, 0.99), seeds)
    own.spaces.close()


def documents(hits: SourceHits) -> list[str]:
    return [hit.document for hit in hits.sources]


def test_first_five_hits_precede_graph_hits(kg: Kg) -> None:
    plain, filled = search(kg, limit=12), search(kg, limit=12, graph=True)
    assert documents(filled)[:KEPT] == documents(plain)[:KEPT]
    assert "guild.md" not in documents(plain)
    (guild,) = [hit for hit in filled.sources if hit.document == "guild.md"]
    assert "Guild of Keepers" in {each.label for each in guild.through}
    assert len(set(documents(filled))) == 12
    scores = [hit.score for hit in filled.sources]
    assert scores == sorted(scores, reverse=True)


def test_reranked_hits_stay_first(kg: Kg) -> None:
    reranking = Reranking(Backwards(), 60)
    plain = search(kg, reranking=reranking, rerank=True)
    filled = search(kg, reranking=reranking, rerank=True, graph=True)
    assert documents(plain) != documents(search(kg))
    assert documents(filled)[:KEPT] == documents(plain)[:KEPT]


def test_pages_return_each_hit_once_in_order(kg: Kg) -> None:
    walked, cursor = list[str](), None
    for _ in range(10):
        page = search(kg, limit=4, graph=True, cursor=cursor)
        walked += [hit.source_id for hit in page.sources]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(walked) == len(set(walked)) == 35  # all there are
    assert walked[:4] == [hit.source_id for hit in search(kg, limit=4, graph=True).sources]
    assert walked[:10] == [hit.source_id for hit in search(kg, limit=10, graph=True).sources]


def test_filters_apply_to_graph_hits(kg: Kg) -> None:
    once = documents(search(kg, limit=20, graph=True, per_document=1))
    assert len(once) == len(set(once))
    assert "guild.md" in once
    named = ["issue01.md", "journal.md"]
    assert {*documents(search(kg, graph=True, documents=named))} == {*named}
    near = search(kg, limit=20, graph=True, min_similarity=0.2).sources
    assert near
    assert all(hit.similarity is not None and hit.similarity >= 0.2 for hit in near)


def test_near_concepts_add_hits(kg: Kg) -> None:
    singers = record("singers.md", [SINGERS])
    store_document(kg.graph, singers)
    kg.graph.transaction(
        lambda tx: write_extractions(tx, "notes", [carried(singers, 0, "Guild of Keepers choir")], "m")
    )
    kg.work()
    question = "warden Maren Holt"
    hits = search(kg, question, limit=20, mode="text", graph=True).sources
    (found,) = [hit for hit in hits if hit.document == "singers.md"]
    assert [each.label for each in found.through] == ["Guild of Keepers choir"]
    assert "singers.md" not in documents(search(kg, question, limit=20, mode="text"))


@pytest.mark.parametrize("more", [{}, {"mmr_lambda": 0.9}], ids=["plain", "mmr"])
def test_hit_probability_is_reported_with_graph(kg: Kg, more: dict[str, float]) -> None:
    text = (
        "The Gazette of Lanterns is printed by the guild each week, and whoever wants a copy asks the warden."
    )
    for name in ("x1.md", "x2.md", "x3.md"):
        store_document(kg.graph, record(name, [text]))
    kg.work()
    asked = partial(search, kg, text, limit=10, collapse_duplicates=True, explain=True, **more)
    plain, filled = asked(), asked(graph=True)
    assert [len(hits.sources[0].duplicates) for hits in (plain, filled)] == [2, 2]
    values = [
        [hit.explanation.mmr_score for hit in hits.sources if hit.explanation] for hits in (plain, filled)
    ]
    assert values[0][:KEPT] == values[1][:KEPT]
    assert all(value is None or 0 <= value <= 1 for value in values[1])


def test_concepts_and_graph_together_are_rejected() -> None:
    with pytest.raises(ValidationError, match="Omit one of the two"):
        SourceSearch(query_text="a", concepts=True, graph=True)

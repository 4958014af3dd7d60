import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from kg_api.errors import Conflict, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document, store_documents
from kg_api.schemas.base import compute_digest
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.embedding import EmbeddingConfigChange
from kg_api.schemas.search import Place
from kg_api.schemas.similarity import GraphRequest, SimilarSearch, SimilarSources, SourceGraph
from kg_api.search import similar as similarity_service
from kg_api.search.similar import SimilarityService
from tests.conftest import Stored
from tests.graph.conftest import store_texts
from tests.support.embedding import configure_in_place
from tests.support.kg import Kg
from tests.support.records import record

APPLES = "red apples grow on the old tree behind the house and fall in the autumn wind"
PLUMS = "blue plums are kept in a jar of glass on the highest shelf of the cellar"
HONEY = "the bees make honey from the lime trees along the road to the mill"


def store(
    kg: Kg, document: str, paragraphs: list[str], ontology: str = "notes", *, embed: bool = True
) -> None:
    store_document(kg.graph, record(document, paragraphs, ontology))
    if embed:
        kg.work()


def source(graph: Graph, document: str, paragraph: int = 0, ontology: str = "notes") -> Place:
    found = GraphRequest(ontology=ontology, max_nodes=5000)
    nodes = SimilarityService(graph).build_graph(found).nodes
    wanted = (document, paragraph)
    node = next(each for each in nodes if (each.document, each.paragraph) == wanted)
    return Place(**node.model_dump(include=set(Place.model_fields) - {"full_text"}), full_text="")


def similar(kg: Kg, document: str, paragraph: int = 0, of: str = "notes", **asked: Any) -> SimilarSources:
    own = source(kg.graph, document, paragraph, of)
    return SimilarityService(kg.graph).find_similar(own.source_id, SimilarSearch.model_validate(asked))


def connected(kg: Kg, **asked: Any) -> SourceGraph:
    return SimilarityService(kg.graph).build_graph(GraphRequest.model_validate(asked))


def places(answer: SimilarSources) -> list[tuple[str, str, int]]:
    return [(each.ontology, each.document, each.paragraph) for each in answer.sources]


def test_similar_sources_cover_other_documents_of_all_ontologies(kg: Kg) -> None:
    store(kg, "one", [APPLES, PLUMS])
    store(kg, "two", [f"{PLUMS}, they say", HONEY], "other")
    answer = similar(kg, "one", 1, limit=3)
    assert places(answer)[0] == ("other", "two", 0)
    assert (answer.space, answer.degraded) == ("default", [])
    first = answer.sources[0]
    assert first.near_duplicate
    assert first.similarity == pytest.approx(first.score)
    assert (first.similarity or 0) > (answer.sources[1].similarity or 0)
    assert first.chunk.text == f"{PLUMS}, they say"
    assert first.own_chunk.text == PLUMS
    assert "one" not in {document for _, document, _ in places(answer)}


def test_similar_sources_include_own_document_on_request_only(kg: Kg) -> None:
    store(kg, "one", [APPLES, APPLES + " and more", PLUMS])
    assert {document for _, document, _ in places(similar(kg, "one"))} == {"a.md"}
    within = similar(kg, "one", same_document=True)
    assert places(within)[0] == ("notes", "one", 1)
    assert ("notes", "one", 0) not in places(within)


def test_filters_do_not_reduce_number_of_similar_sources(kg: Kg) -> None:
    store(kg, "own", [f"{APPLES} number {n}" for n in range(300)])
    store(kg, "far", [f"some apples of the few {n}" for n in range(12)], "small")
    store(kg, "big", [f"{APPLES} count {n}" for n in range(100)], "big")
    one = similar(kg, "own", 7, limit=12, ontology="small", group_duplicates=False)
    assert [ontology for ontology, _, _ in places(one)] == ["small"] * 12
    both = similar(kg, "own", 7, limit=100, group_duplicates=False, ontology=["big"])
    assert len(both.sources) == 100
    with pytest.raises(NotFound, match="ontology 'there is none' not found"):
        similar(kg, "own", 7, ontology=["big", "there is none"])
    choices: list[dict[str, Any]] = [{}, {"same_document": True}, {"ontology": "small"}]
    for asked in choices:
        near, exact = (
            similar(kg, "own", 7, limit=40, group_duplicates=False, exact=exact, **asked)
            for exact in (False, True)
        )
        wanted = [each.similarity for each in exact.sources]
        assert [each.similarity for each in near.sources] == pytest.approx(wanted, abs=1e-6)


def test_near_duplicates_count_once_and_search_continues(kg: Kg, monkeypatch: pytest.MonkeyPatch) -> None:
    store(kg, "own", [APPLES])
    for copy in range(70):
        store(kg, f"copy {copy}", [f"{APPLES}{'.' * copy}"], "copies", embed=False)
    store(kg, "rest", [PLUMS, HONEY, "a jar", "a mill"], "copies")
    answer = similar(kg, "own", limit=5, ontology="copies")
    assert len(answer.sources) == 5
    assert (answer.sources[0].near_duplicate, len(answer.sources[0].duplicates)) == (True, 69)
    assert {document for _, document, _ in places(answer)[1:]} == {"rest"}
    monkeypatch.setattr(similarity_service, "MAX_BY_INDEX", 50)
    assert similar(kg, "own", limit=5, ontology="copies").sources == answer.sources, "by comparing with all"
    monkeypatch.setattr(similarity_service, "MAX_COMPARED", 50)
    few = similar(kg, "own", limit=5, ontology="copies")
    assert "near-duplicates" in few.degraded[0].effect


@pytest.mark.parametrize("strategy", ["sentence", "paragraph_group", "hierarchical"])
def test_nearest_chunks_of_both_sources_are_compared(kg: Kg, strategy: str) -> None:
    texts = [f"{APPLES.capitalize()}. {'Stones are grey and lie in the river bed. ' * 30}", HONEY]
    for document, last in (("one", "Alone. "), ("two", "Together. ")):
        store(kg, document, [*texts, f"{last}{PLUMS.capitalize()}."], "chunked")
    configure_in_place(kg.graph, "chunked", strategy=strategy)
    kg.work()
    answer = similar(kg, "one", 0, "chunked", ontology="chunked", limit=2)
    first = answer.sources[0]
    assert first.document == "two"
    assert first.similarity == pytest.approx(1, abs=0.15)
    assert first.own_chunk.start < first.own_chunk.end
    assert {each.document for each in answer.sources} == {"two"}


def test_slots_of_a_space_are_merged_by_similarity(kg: Kg) -> None:
    store(kg, "one", [PLUMS, HONEY])
    store(kg, "two", [f"{HONEY}, they say"])
    store(kg, "three", [f"{PLUMS}, they say"], "other")
    kg.configure.change("other", EmbeddingConfigChange(strategy="sentence"), dry_run=False)
    kg.work()
    first = [places(similar(kg, "one", paragraph))[0] for paragraph in (0, 1)]
    assert first == [("other", "three", 0), ("notes", "two", 0)]


def test_source_without_vector_is_not_compared(kg: Kg) -> None:
    store(kg, "two", [PLUMS, APPLES + " gently"])
    store(kg, "late", [APPLES, "another text about apples"], embed=False)
    with pytest.raises(Conflict, match="no vector yet"):
        similar(kg, "late")
    assert "embedding is in progress" in similar(kg, "two").degraded[0].effect


def test_ontologies_of_another_space_are_named_as_skipped(kg: Kg) -> None:
    kg.add("other")
    store(kg, "one", [APPLES])
    store(kg, "two", [APPLES], "elsewhere", embed=False)
    configure_in_place(kg.graph, "elsewhere", space="other")
    kg.work()
    answer = similar(kg, "one")
    assert {ontology for ontology, _, _ in places(answer)} == {"notes"}
    assert "elsewhere" in answer.degraded[0].effect
    graph = connected(kg)
    assert graph.spaces == ["default", "other"]
    assert "different spaces" in graph.degraded[0].effect
    of = {node.source_id: node.ontology for node in graph.nodes}
    assert not any("elsewhere" in {of[edge.a], of[edge.b]} for edge in graph.edges)


def test_graph_connects_nearest_sources_once(kg: Kg) -> None:
    store(kg, "one", [APPLES, PLUMS, HONEY], "g")
    store(kg, "two", [f"{HONEY} again", f"{APPLES} again"], "g")
    graph = connected(kg, ontology="g", neighbours=1, min_similarity=0.6)
    at = {node.source_id: (node.document, node.paragraph) for node in graph.nodes}
    pairs = {frozenset({at[edge.a], at[edge.b]}) for edge in graph.edges}
    assert pairs == {frozenset({("one", 0), ("two", 1)}), frozenset({("one", 2), ("two", 0)})}
    assert len(graph.edges) == 2
    assert [at[node.source_id] for node in graph.nodes] == [
        ("one", 0),
        ("one", 1),
        ("one", 2),
        ("two", 0),
        ("two", 1),
    ]
    assert [node.degree for node in graph.nodes] == [1, 0, 1, 1, 1]
    assert (graph.total, graph.truncated, graph.degraded) == (5, False, [])
    assert len(graph.groups) == 2
    assert all(edge.near_duplicate for edge in graph.edges)
    exact = similar(kg, "one", 0, "g", ontology="g", exact=True)
    own = exact.source.source_id
    (edge,) = (each for each in graph.edges if own in {each.a, each.b})
    assert edge.similarity == pytest.approx(exact.sources[0].similarity, abs=1e-5)


def test_graph_limits_nodes_and_skips_edges_within_documents(kg: Kg) -> None:
    assert connected(kg, ontology="notes").edges == []
    inside = connected(kg, documents=["a.md"], across_documents_only=False, neighbours=2)
    assert len(inside.nodes) == 12
    assert inside.edges
    few = connected(kg, max_nodes=5, across_documents_only=False)
    assert (len(few.nodes), few.total, few.truncated) == (5, 12, True)
    assert "5 of 12 sources" in few.degraded[0].effect
    with pytest.raises(NotFound, match="document 'none' not found"):
        connected(kg, documents=["none"])


DOCUMENTS = 45
WHERE = ["number<10 && parity=even || number>=36", "number!=38"]


def fits(document: str) -> bool:
    if not document.isdigit():
        return False  # what else is there has no number
    number = int(document)
    return ((number < 10 and number % 2 == 0) or number >= 36) and number != 38


def numbered(number: int) -> DocumentRecord:
    texts = [f"the keeper counts ships word{number % 7} number{number} and part{at}" for at in range(2)]
    told = json.dumps({"number": number, "parity": "odd" if number % 2 else "even"})
    new = record(str(number), texts, ontology="harbour")
    return replace(new, metadata=told, content_hash=compute_digest(new.content_hash, told))


@contextmanager
def store_harbour(graph: Graph, *, embedded: bool) -> Generator[Kg]:
    with store_texts(graph) as kg:
        store_documents(graph, [numbered(n) for n in range(DOCUMENTS)])
        if embedded:
            kg.work()
        yield kg


@pytest.fixture
def harbour(stored: Stored, migrated_graph: Graph) -> Kg:
    return stored.give(store_harbour, migrated_graph, embedded=True)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("own", [3, 4])
def test_filtered_similar_sources_equal_a_plain_scan(harbour: Kg, own: int, *, exact: bool) -> None:
    service, source = SimilarityService(harbour.graph), numbered(own).sources[0].source_id
    plain = {"limit": 100, "group_duplicates": False, "exact": True}
    every = service.find_similar(source, SimilarSearch.model_validate(plain)).sources
    wanted = [hit.source_id for hit in every if fits(hit.document)]
    asked = SimilarSearch.model_validate({**plain, "exact": exact, "where": WHERE})
    found = service.find_similar(source, asked)
    assert {hit.source_id for hit in found.sources} == set(wanted)
    assert len(found.sources) == 2 * sum(fits(str(n)) for n in range(DOCUMENTS) if n != own)
    assert found.degraded == []
    beside = [each.source_id for each in numbered(own).sources[1:] if fits(str(own))]
    within = service.find_similar(source, asked.model_copy(update={"same_document": True})).sources
    assert {hit.source_id for hit in within} == {*wanted, *beside}
    few = service.find_similar(source, asked.model_copy(update={"limit": 7}))
    assert [round(hit.score, 5) for hit in few.sources] == [
        round(hit.score, 5) for hit in every if fits(hit.document)
    ][:7]


@pytest.mark.parametrize("across", [True, False])
def test_graph_contains_only_matching_sources(harbour: Kg, *, across: bool) -> None:
    service, every = SimilarityService(harbour.graph), [str(n) for n in range(DOCUMENTS) if fits(str(n))]
    asked = {"where": WHERE, "across_documents_only": across}
    chosen = service.build_graph(
        GraphRequest.model_validate({**asked, "documents": ["harbour/4", "harbour/5"]})
    )
    assert {node.document for node in chosen.nodes} == {"4"}
    chosen = service.build_graph(GraphRequest.model_validate(asked))
    assert sorted({node.document for node in chosen.nodes}, key=int) == every
    assert (chosen.total, chosen.degraded) == (2 * len(every), [])
    seeds = [numbered(n).sources[at].source_id for n, at in ((3, 0), (4, 0), (4, 1), (6, 0))]
    around = service.build_graph(
        GraphRequest.model_validate({**asked, "source_ids": seeds, "neighbours": 20})
    )
    assert {node.document for node in around.nodes if node.source_id not in seeds} <= {*every}
    plain = {"limit": 20, "where": WHERE, "group_duplicates": False, "same_document": not across}
    near = {
        hit.source_id
        for seed in seeds
        for hit in service.find_similar(seed, SimilarSearch.model_validate(plain)).sources
    }
    assert {node.source_id for node in around.nodes} == {*near, *seeds}

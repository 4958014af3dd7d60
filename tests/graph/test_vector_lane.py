from contextlib import closing
from dataclasses import replace
from typing import Any

import neo4j
import pytest

from kg_api.graph import search
from kg_api.graph.client import Graph, Lookup
from kg_api.graph.document_writes import store_document, store_documents
from kg_api.graph.library import read_neighbours, read_paragraphs
from kg_api.graph.search import Filters, NearestPassages, find_by_vector, read_hit_vectors
from kg_api.graph.spaces import find_space
from kg_api.schemas.base import build_document_id
from kg_api.schemas.search import SourceSearch
from kg_api.search import plan
from kg_api.search.service import SearchService
from tests.graph.conftest import add_texts, sharing
from tests.support.cypher import rows
from tests.support.kg import Kg
from tests.support.records import record

QUESTION = "the keeper counts ships at dusk"
ASKED, CANDIDATES = 3, 30


def add_harbour(graph: Graph) -> None:
    words = QUESTION.split()
    texts = [" ".join([*words[: n % 7], *(f"word{n} other{n}").split()]) for n in range(CANDIDATES)]
    store_document(graph, record("harbour.md", texts, ontology="harbour"))


harbour = sharing(add_texts, add_harbour)


@pytest.mark.parametrize("ontologies", [None, ["harbour"]])
def test_the_nearest_of_the_candidates_in_their_order(harbour: Kg, ontologies: list[str] | None) -> None:
    space = find_space(harbour.graph)
    vector = harbour.spaces.get_open(space).embed_query(QUESTION)
    asked = NearestPassages(vector, space, Filters(ontologies), ASKED, candidates=CANDIDATES)
    every = find_by_vector(harbour.graph, replace(asked, exact=True)).found
    found = find_by_vector(harbour.graph, asked)
    assert len(every) >= CANDIDATES
    assert found.cut
    assert [hit.score for hit in found.found] == pytest.approx([hit.score for hit in every[:ASKED]])
    assert found.found[-1].score > every[-1].score + 0.1
    first = found.found[0]
    hit = {"identity": "hit", "source_id": first.source.source_id, "chunk_id": None}
    vectors = read_hit_vectors(harbour.graph, [{**hit, "property": space.vector_property}])
    assert float(vectors["hit"] @ vector) == pytest.approx(first.score, abs=1e-3)


def test_neighbours_are_in_reading_order(harbour: Kg) -> None:
    places = read_paragraphs(harbour.graph, build_document_id("harbour", "harbour.md"), 0, 4)
    assert [each.paragraph for each in places] == [0, 1, 2, 3, 4]
    around = read_neighbours(harbour.graph, [places[3], places[0]], 1)
    assert [[each.paragraph for each in found] for found in around.values()] == [[2, 3, 4], [0, 1]]


FEW, MANY = 4, 36


def add_harbours(graph: Graph) -> None:
    for name, count in (("small", FEW), ("large", MANY)):
        texts = [f"the keeper counts ships {name} {number}" for number in range(count)]
        store_documents(graph, [record("log.md", texts, ontology=name)])


harbours = sharing(add_texts, add_harbours)


def test_candidates_grow_with_crowding_of_the_ontology(
    harbours: Kg, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(
        driver,
        "MATCH (s:Source {ontology: 'large'}) CREATE (:Chunk {chunk_id: s.source_id})-[:CHUNK_OF]->(s)",
    )
    for module in (search, plan):
        monkeypatch.setattr(module, "MIN_CROWDED_PASSAGES", 10)
    asked: list[Lookup] = []
    look_up = Graph.look_up
    monkeypatch.setattr(
        Graph, "look_up", lambda graph, lookups: asked.extend(lookups) or look_up(graph, lookups)
    )
    for ontology in ("small", "large", None):
        harbours.search("ships", ontology=ontology)
    candidates = [each.parameters["candidates"] for each in asked if "candidates" in each.parameters]
    assert candidates == [50, 134, 148]  # the lane's depth; 50 x sqrt(72 / 10); 50 x sqrt(88 / 10)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the statements that are read from now on."""
    read, run = list[str](), neo4j.Session.run

    def spy(session: neo4j.Session, query: neo4j.Query, given: dict[str, Any]) -> neo4j.Result:
        read.append(query.text)
        return run(session, query, given)

    monkeypatch.setattr(neo4j.Session, "run", spy)
    return read


def test_warm_up_runs_each_statement_of_the_first_searches(harbour: Kg, statements: list[str]) -> None:
    with closing(SearchService(harbour.graph, harbour.spaces)) as service:
        service.warm_up(lambda: True)
        before_end = {*statements}
        service.warm_up()
    known = {*statements}
    assert before_end < known, "a service that ends makes no further search"
    statements.clear()
    with closing(SearchService(harbour.graph, harbour.spaces)) as service:
        for _ in range(2):
            assert service.search(SourceSearch(query_text=QUESTION)).sources
    assert len({*statements}) > 2
    assert known.issuperset(statements)


def test_warm_up_of_an_empty_database_only_counts(graph: Graph, statements: list[str]) -> None:
    """A snapshot without ontologies would hide the first one for a second."""
    kg = Kg(graph)
    with closing(SearchService(graph, kg.spaces)) as service:
        statements.clear()
        service.warm_up()
    kg.spaces.close()
    assert len(statements) == 1

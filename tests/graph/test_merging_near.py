"""Which concepts merge by their vectors and names over a real database, and which are looked at and stay."""

from __future__ import annotations

from dataclasses import replace

import neo4j
import numpy as np
import pytest

from kg_api.concepts.merging import merge_near
from kg_api.errors import TooMuchAtOnce
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.spaces import Space
from kg_api.schemas.base import concept_id
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.spaces import SimilarityCalibration
from tests.graph.test_concept_merging import MANY, ONE, TEXTS, both
from tests.support.concepts import check_invariants, concepts, count, labelled, write
from tests.support.cypher import rows
from tests.support.embedding import open_spaces
from tests.support.records import record


@pytest.fixture
def texts(graph: Graph) -> DocumentRecord:
    made = record("texts.md", TEXTS)
    store_document(graph, made)
    return made


@pytest.fixture
def space(graph: Graph) -> Space:
    spaces = open_spaces(graph)
    made = replace(spaces.get().space, calibration=SimilarityCalibration(related=0.6, unrelated=0.2))
    spaces.close()
    return made


def embed(driver: neo4j.Driver, vectors: dict[str, list[float]]) -> None:
    """Give concepts vectors of a few numbers, the rest 0; of length 1."""
    for label, numbers in vectors.items():
        vector = np.zeros(256)
        vector[: len(numbers)] = numbers
        rows(
            driver,
            "MATCH (c:Concept {label: $label}) SET c.embedding = $vector",
            label=label,
            vector=(vector / np.linalg.norm(vector)).tolist(),
        )


def near(graph: Graph, space: Space, *labels: str) -> int:
    return merge_near(graph, space, "notes", [concept_id("notes", label) for label in labels])


def test_near_ones_that_are_called_alike_merge(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord, space: Space
) -> None:
    write(graph, *both(texts))
    embed(driver, {ONE: [1, 0], MANY: [1, 0.1], "list": [1, 0.05], "iterators": [1, 0.02]})
    assert near(graph, space, ONE, MANY, "list", "iterators") == 1
    assert concepts(driver) == {ONE: 3, "list": 1, "iterators": 1}
    assert near(graph, space, ONE, MANY, "list", "iterators") == 0
    check_invariants(driver)


def test_what_is_called_alike_but_far_or_without_a_vector_stays(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord, space: Space
) -> None:
    write(graph, *both(texts))
    assert near(graph, space, ONE, MANY) == 0
    embed(driver, {ONE: [1, 0], MANY: [1, 1]})
    assert near(graph, space, ONE, MANY) == 0
    assert count(driver, "(:Concept)") == 4


def test_another_ontology_is_not_looked_at(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord, space: Space
) -> None:
    other = record("texts.md", TEXTS, "other")
    store_document(graph, other)
    write(graph, labelled(texts, 0, ONE))
    write(graph, labelled(other, 1, MANY), ontology="other")
    embed(driver, {ONE: [1, 0], MANY: [1, 0]})
    assert near(graph, space, ONE) == 0
    assert count(driver, "(:Concept)") == 2


def test_a_chain_does_not_bring_in_what_is_unlike_the_one_that_stays(
    graph: Graph, driver: neo4j.Driver, space: Space
) -> None:
    short, long, turned = "EU law", "European Union law", "law of the European Union"
    made = record("law.md", [short, short, f"{long} and more", f"{turned} and more"])
    store_document(graph, made)
    write(graph, *(labelled(made, at, label) for at, label in enumerate((short, short, long, turned))))
    embed(driver, {long: [1, 0], short: [1, 0.1], turned: [1, -0.3]})
    assert near(graph, space, short, long, turned) == 1
    assert concepts(driver) == {short: 3, turned: 1}, "the turned one was looked at again, and is not like it"
    check_invariants(driver)


def test_a_pair_that_is_too_large_is_passed_over(
    graph: Graph, driver: neo4j.Driver, texts: DocumentRecord, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise TooMuchAtOnce

    write(graph, *both(texts))
    embed(driver, {ONE: [1, 0], MANY: [1, 0.1]})
    with monkeypatch.context() as patched:
        patched.setattr("kg_api.concepts.merging.merge_concepts", refuse)
        assert near(graph, space, ONE, MANY) == 0
    assert near(graph, space, ONE, MANY) == 1, "later it is tried again"


def test_what_merges_is_looked_at_again(graph: Graph, driver: neo4j.Driver, space: Space) -> None:
    labels = ["code object", "code objects", "code object's", "Code Objects'"]
    made = record("code.md", [f"{label} are here" for label in labels])
    store_document(graph, made)
    write(graph, *(labelled(made, at, label) for at, label in enumerate(labels)))
    embed(driver, {label: [1, 0.01 * at] for at, label in enumerate(labels)})
    there = len(concepts(driver))
    assert near(graph, space, *labels[:1]) == there - 1
    assert list(concepts(driver).values()) == [4]
    check_invariants(driver)

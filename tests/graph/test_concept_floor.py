"""What cosines of questions and concepts mean is measured on what is stored, and kept with the space."""

from __future__ import annotations

import time

import neo4j
import pytest

from kg_api.concepts.service import ConceptService
from kg_api.graph.spaces import find_space
from kg_api.models.spaces import FIRST_SLUG
from kg_api.spaces import open_space
from kg_api.spaces.open_space import LABELS_NEEDED
from tests.support.concept_graph import embed_concepts, store_concepts
from tests.support.kg import Kg
from tests.support.records import record
from tests.support.running import wait_until


def search(kg: Kg) -> None:
    """Ask for concepts; what it may begin beside that is waited for."""
    kg.spaces.of(find_space(kg.graph, FIRST_SLUG))._labels_looked_at = float("-inf")
    ConceptService(kg.graph, kg.spaces).search("anything", None, 1)


def test_it_is_measured_once_there_are_enough_concepts_and_then_once_a_day(
    kg: Kg, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[int]()
    real = open_space.label_contrast_of
    monkeypatch.setattr(open_space, "label_contrast_of", lambda *given: (calls.append(1), real(*given))[1])
    names = [f"concept{n} of{n % 7} words{n}" for n in range(LABELS_NEEDED)]
    store_concepts(kg.graph, record("few.md", ["Few."]), {0: names[:-1]})
    embed_concepts(driver)
    search(kg)
    store_concepts(kg.graph, record("more.md", ["More."]), {0: names[-1:]})
    embed_concepts(driver)
    search(kg)
    wait_until(lambda: find_space(kg.graph, FIRST_SLUG).labels is not None, 10)
    measured = find_space(kg.graph, FIRST_SLUG).labels
    assert measured is not None
    assert (len(calls), measured.related > measured.unrelated) == (1, True)
    search(kg)
    time.sleep(0.3)
    assert len(calls) == 1
    driver.execute_query(
        "MATCH (e:EmbeddingSpace) SET e.labels_measured_at = datetime.realtime() - duration({days: 2})"
    )
    search(kg)
    wait_until(lambda: len(calls) == 2, 10)

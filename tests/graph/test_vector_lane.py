"""The vector lane: of the index's candidates the nearest by exact cosine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kg_api.graph.document_writes import store_document
from kg_api.graph.search import Filters, NearestPassages, by_vector
from kg_api.graph.spaces import find_space
from tests.support.kg import Kg
from tests.support.records import record

QUESTION = "the keeper counts ships at dusk"
ASKED, CANDIDATES = 3, 30


@pytest.fixture
def harbour(kg: Kg) -> Kg:
    words = QUESTION.split()
    texts = [" ".join([*words[: n % 7], *(f"word{n} other{n}").split()]) for n in range(CANDIDATES)]
    store_document(kg.graph, record("harbour.md", texts, ontology="harbour"))
    kg.work()
    return kg


@pytest.mark.parametrize("ontologies", [None, ["harbour"]])
def test_the_nearest_of_the_candidates_in_their_order(harbour: Kg, ontologies: list[str] | None) -> None:
    space = find_space(harbour.graph)
    vector = harbour.spaces.of(space).embed_query(QUESTION)
    asked = NearestPassages(vector, space, Filters(ontologies), ASKED, candidates=CANDIDATES)
    every = by_vector(harbour.graph, replace(asked, exact=True)).found
    found = by_vector(harbour.graph, asked)
    assert len(every) >= CANDIDATES
    assert found.cut
    assert [hit.score for hit in found.found] == pytest.approx([hit.score for hit in every[:ASKED]])
    assert found.found[-1].score > every[-1].score + 0.1

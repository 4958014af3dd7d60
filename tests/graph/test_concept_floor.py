"""What cosines of questions and concepts mean is measured on what is stored, and kept with the space."""

from __future__ import annotations

import time
from dataclasses import replace

import neo4j
import pytest

from kg_api.concepts.search import ConceptService, with_fits
from kg_api.errors import NotFound
from kg_api.graph.search import Meaning
from kg_api.graph.spaces import find_space
from kg_api.schemas.concepts import ConceptHit
from kg_api.schemas.spaces import FIRST_SLUG, SimilarityCalibration
from kg_api.spaces import open_spaces
from kg_api.spaces.open_spaces import LABELS_NEEDED
from tests.support.concept_graph import embed_concepts, store_concepts
from tests.support.embedders import small_embedder
from tests.support.kg import Kg
from tests.support.records import record
from tests.support.running import wait_until


@pytest.fixture
def service(kg: Kg) -> ConceptService:
    return ConceptService(kg.graph, kg.spaces)


def search(kg: Kg) -> None:
    """Ask for concepts; what it may begin beside that is waited for."""
    kg.spaces.of(find_space(kg.graph, FIRST_SLUG))._labels_looked_at = float("-inf")
    ConceptService(kg.graph, kg.spaces).search("anything", None, 1)


def test_it_is_measured_once_there_are_enough_concepts_and_then_once_a_day(
    kg: Kg, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[int]()
    real = open_spaces.calibrate_labels
    monkeypatch.setattr(open_spaces, "calibrate_labels", lambda *given: (calls.append(1), real(*given))[1])
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


@pytest.mark.parametrize(("similarity", "fits"), [(0.70, "meaning"), (0.68, None), (None, None)])
def test_meaning_fits_from_half_way_to_equal_where_concepts_are_not_measured(
    kg: Kg, similarity: float | None, fits: str | None
) -> None:
    """A5: the middle of related and unrelated passages, 0.52 here, is where any label is."""
    space = replace(kg.spaces.get().space, calibration=None)
    meaning = Meaning(space, small_embedder().embed_query("a"), ["notes"])
    assert _fits(kg, meaning, similarity) == fits
    near = replace(meaning, space=replace(space, calibration=SimilarityCalibration(related=1, unrelated=0.9)))
    assert _fits(kg, near, similarity) is None


@pytest.mark.parametrize(("similarity", "fits"), [(0.5, "meaning"), (0.49, None)])
def test_where_concepts_are_measured_they_say_what_is_near(
    kg: Kg, similarity: float, fits: str | None
) -> None:
    space = replace(kg.spaces.get().space, labels=SimilarityCalibration(related=1.0, unrelated=0.0))
    meaning = Meaning(space, small_embedder().embed_query("a"), ["notes"])
    assert _fits(kg, meaning, similarity) == fits
    blind = replace(meaning, space=replace(space, labels=SimilarityCalibration(0.42, 0.41), calibration=None))
    assert _fits(kg, blind, similarity) is None, "a model that tells nothing apart is not believed"


def _fits(kg: Kg, meaning: Meaning, similarity: float | None) -> str | None:
    hit = ConceptHit(
        concept_id="c",
        ontology="notes",
        label="l",
        description="",
        search_terms=[],
        sources=1,
        similarity=similarity,
        score=1,
    )
    (told,) = with_fits(kg.graph, [hit], (), (), [meaning])
    return told.fits


def test_where_nothing_fits_the_answer_says_so_and_names_the_nearest(
    service: ConceptService, ids: dict[str, str]
) -> None:
    """A5: nonsense came back as if it were an answer."""
    answer = service.search("qwertyzxcv", None, 5)
    assert {each.fits for each in answer.concepts} == {None}
    assert "no concept fits 'qwertyzxcv' (nearest:" in (answer.note or "")
    with pytest.raises(NotFound, match="nearest"):
        service.paths("qwertyzxcv", "Thames", None, 2, 1)
    assert service.search("thames", None, 5).note is None
    assert ids

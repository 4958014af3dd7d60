"""Which passages are near enough to be answered from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kg_api.answer.passages import SHARE, passing, shown, threshold_of
from kg_api.graph.spaces import Space
from kg_api.models.answering import AnswerRequest
from kg_api.models.augment import Threshold
from kg_api.models.search import CarriedConcept, ContextWindow, MatchedChunk, Ranks, SourceHit, SourceHits
from kg_api.models.spaces import Contrast
from tests.support.embedders import small_embedder

SPACE = Space("default", small_embedder().identity)


def hit(name: str, similarity: float | None, ontology: str = "o", space: str | None = "default") -> SourceHit:
    return SourceHit(
        source_id=name,
        ontology=ontology,
        document="d",
        document_id="d",
        paragraph=0,
        heading=[],
        start=0,
        end=4,
        full_text="text",
        similarity=similarity,
        space=space if similarity is not None else None,
        score=1,
        ranks=Ranks(),
        chunk=MatchedChunk(text="text", start=0, end=4),
    )


def hits(*found: SourceHit, spaces: tuple[str, ...] = ("default",)) -> SourceHits:
    return SourceHits(
        query_text="q",
        mode="hybrid",
        space=None,
        spaces=list(spaces),
        sources=list(found),
        degraded=[],
        timings_ms={},
    )


def least(space: str, value: float | None) -> dict[str, Threshold]:
    return {space: Threshold(space=space, min_similarity=value, source="model")}


def test_what_is_below_or_has_no_vector_is_counted() -> None:
    found = hits(hit("a", 0.8), hit("b", 0.5), hit("c", None), hit("d", 0.49))
    near = passing(found, least("default", 0.5), {"o": "default"})
    assert [each.source_id for each in near.hits] == ["a", "b"]
    assert (near.below_similarity, near.without_vector) == (1, 1)


def test_without_a_vector_of_the_question_nothing_is_refused() -> None:
    near = passing(hits(hit("c", None), spaces=()), least("default", 0.5), {"o": "default"})
    assert [each.source_id for each in near.hits] == ["c"]


def test_what_concepts_brought_is_kept_beside_what_is_near() -> None:
    brought = hit("b", 0.1).model_copy(update={"through": [CarriedConcept(concept_id="c", label="C")]})
    near = passing(hits(hit("a", 0.8), brought, hit("d", 0.1)), least("default", 0.5), {"o": "default"})
    assert [each.source_id for each in near.hits] == ["a", "b"]
    assert near.below_similarity == 1
    alone = passing(hits(brought), least("default", 0.5), {"o": "default"})
    assert (alone.hits, alone.below_similarity) == ([], 1)


def test_each_space_has_its_own() -> None:
    both = least("default", 0.5) | least("other", 0.9)
    found = hits(hit("a", 0.8), hit("b", 0.8, "p", "other"), spaces=("default", "other"))
    near = passing(found, both, {"o": "default", "p": "other"})
    assert [each.source_id for each in near.hits] == ["a"]


@pytest.mark.parametrize(
    ("contrast", "asked", "expected", "source"),
    [
        (Contrast(0.8, 0.4), {}, 0.4 + SHARE * 0.4, "model"),
        (Contrast(0.41, 0.4), {}, 0.38 + SHARE * 0.27, "default"),
        (None, {}, 0.38 + SHARE * 0.27, "default"),
        (Contrast(0.8, 0.4), {"min_similarity": 0.1}, 0.1, "request"),
        (Contrast(0.8, 0.4), {"mode": "text"}, None, "none"),
    ],
)
def test_the_threshold_is_the_requests_or_the_models(
    contrast: Contrast | None, asked: dict[str, object], expected: float | None, source: str
) -> None:
    request = AnswerRequest.model_validate({"question": "why", **asked})
    told = threshold_of(replace(SPACE, contrast=contrast), request)
    assert told.source == source
    assert told.min_similarity == (None if expected is None else pytest.approx(expected, abs=1e-4))


def test_each_source_of_a_window_is_shown_by_itself() -> None:
    first, second = hit("a", 0.9), hit("b", 0.8)
    first.context = [first, second.model_copy(update={"source_id": "n"})]
    window = ContextWindow(
        document_id="d",
        ontology="o",
        document="d",
        heading=[],
        start=0,
        end=8,
        text="",
        source_ids=["a", "n"],
        hits=["a"],
        tokens=2,
    )
    passages = shown([window], [first])
    assert [each.place.source_id for each in passages] == ["a", "n"]
    assert len({each.name for each in passages}) == 2
    assert [each.name.split("-")[0] for each in passages] == ["1", "2"]

"""Which passages are near enough to be answered from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kg_api.graph.spaces import Space
from kg_api.schemas.answers import AnswerRequest
from kg_api.schemas.search import ContextWindow, MatchedChunk, Ranks, SourceHit
from kg_api.schemas.spaces import SimilarityCalibration
from kg_api.search.answer import SHARE, list_passages, threshold_of
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


@pytest.mark.parametrize(
    ("calibration", "asked", "expected", "source"),
    [
        (SimilarityCalibration(0.8, 0.4), {}, 0.4 + SHARE * 0.4, "model"),
        (SimilarityCalibration(0.41, 0.4), {}, 0.38 + SHARE * 0.27, "default"),
        (None, {}, 0.38 + SHARE * 0.27, "default"),
        (SimilarityCalibration(0.8, 0.4), {"min_similarity": 0.1}, 0.1, "request"),
        (SimilarityCalibration(0.8, 0.4), {"mode": "text"}, None, "none"),
    ],
)
def test_the_threshold_is_the_requests_or_the_models(
    calibration: SimilarityCalibration | None, asked: dict[str, object], expected: float | None, source: str
) -> None:
    request = AnswerRequest.model_validate({"question": "why", **asked})
    told = threshold_of(replace(SPACE, calibration=calibration), request)
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
    passages = list_passages([window], [first])
    assert [each.place.source_id for each in passages] == ["a", "n"]
    assert len({each.name for each in passages}) == 2
    assert [each.name.split("-")[0] for each in passages] == ["1", "2"]

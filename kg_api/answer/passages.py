"""What is shown to the language model: hits that are near enough, and what is around them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.graph.spaces.registry import Space
from kg_api.models.identity import digest
from kg_api.models.queries.answering import AnswerRequest, Shown
from kg_api.models.queries.augment import Threshold
from kg_api.models.queries.places import ContextWindow, Place
from kg_api.models.queries.search import SourceHit
from kg_api.search.rank.fusion import MIN_GAP, USUAL

SHARE = 0.6
"""Of the way from what unrelated texts have to what questions have with their answers.

Measured with 180 questions on three corpora (XQuAD, MuSiQue, product documentation): the passage with the
answer passes for 99 % (bge-small, MiniLM) and 94 % (e5-small); of questions put to a corpus about something
else 64, 77 and 94 % find nothing.
"""


@dataclass(frozen=True, slots=True)
class PromptPassage:
    """A source as it is shown."""

    name: str
    """Its id in the question: it cannot be counted out, so a model that loses count is seen."""
    place: Place


def threshold_of(space: Space, request: AnswerRequest) -> Threshold:
    """The least similarity in a space: what is asked for, else by what its model's cosines mean."""
    if request.mode == "text":
        return Threshold(space=space.slug, min_similarity=None, source="none")
    if request.min_similarity is not None:
        return Threshold(space=space.slug, min_similarity=request.min_similarity, source="request")
    known = space.calibration if space.calibration and space.calibration.gap >= MIN_GAP else None
    calibration = known or USUAL
    least = round(calibration.toward_related(SHARE), 4)
    return Threshold(space=space.slug, min_similarity=least, source="model" if known else "default")


def list_passages(windows: Sequence[ContextWindow], hits: Sequence[SourceHit]) -> list[PromptPassage]:
    """The sources of windows, each by itself, in the windows' order."""
    places = {place.source_id: place for hit in hits for place in (*(hit.context or ()), hit)}
    ids = [identity for window in windows for identity in window.source_ids]
    return [
        PromptPassage(f"{number}-{digest('shown', identity)[:4]}", places[identity])
        for number, identity in enumerate(ids, start=1)
    ]


def present_passages(passages: Sequence[PromptPassage], hits: Sequence[SourceHit]) -> list[Shown]:
    """As the answer names them."""
    similarity = {hit.source_id: hit.similarity for hit in hits}
    return [
        Shown(
            **passage.place.model_dump(include=set(Place.model_fields) - {"full_text"}),
            similarity=similarity.get(passage.place.source_id),
        )
        for passage in passages
    ]

"""The modes that a run can measure: one entry each in `MODES`, by the endpoint that answers.

A new mode of search is one line in that table; a new endpoint is an `Endpoint` besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kg_api.client import KgClient
from kg_api.models.base import Body
from kg_api.models.evaluation import Passage
from kg_api.models.queries.answering import Answered, AnswerRequest
from kg_api.models.queries.augment import AugmentRequest
from kg_api.models.queries.hybrid import HybridSearch
from kg_api.models.queries.search import SourceHit, SourceSearch
from kg_api.models.vocabulary import MAX_LIMIT, MAX_PER_PIECE, Target

Options = Mapping[str, Any]
"""Fields of a request."""
Span = tuple[str, int, int]
"""Document, start and end, as kg has them."""

MORE: Final = 5
"""So many passages are asked for each document that is wanted, where the endpoint has no `per_document`."""
_NO_OPTIONS = {
    *("query_text", "query_vector", "text", "messages", "question", "space", "ontology", "documents"),
    *("mode", "cursor", "stream", "source_limit"),
}


@dataclass(frozen=True, slots=True)
class ModeAnswer:
    """What came of one question."""

    found: list[Span]
    """The best first, each once."""
    timings_ms: dict[str, float]
    degraded: list[str]
    refusal: str | None = None
    """Why a question was not answered, where answers are asked for."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One request of the service that finds something."""

    path: str
    request: type[Body]
    question: str
    """The field that the question is in."""
    ask: Callable[[KgClient, str, Options, Passage], ModeAnswer]
    sized: Callable[[Target, int], Options]
    """What is asked for, for a target and so many hits; every option can be chosen otherwise."""
    own_limit: bool = False
    """Whether `limit` is an option, for it is not that of the hits."""

    @property
    def options(self) -> list[str]:
        """What can be chosen of it."""
        ours = _NO_OPTIONS if self.own_limit else {*_NO_OPTIONS, "limit"}
        return sorted(set(self.request.model_fields) - ours)


@dataclass(frozen=True, slots=True)
class EvalMode:
    """One way to ask an endpoint."""

    endpoint: Endpoint
    fixed: Options = field(default_factory=dict[str, Any])
    """What makes it this mode."""
    concepts: bool = False
    """Whether it is nothing without concepts."""


def _search(client: KgClient, text: str, options: Options, passage: Passage) -> ModeAnswer:
    answer = client.search_sources(text, **options)
    parts = [each.part for each in answer.degraded]
    return ModeAnswer(_once(_place(hit, passage) for hit in answer.sources), answer.timings_ms, parts)


def _hybrid(client: KgClient, text: str, options: Options, passage: Passage) -> ModeAnswer:
    answer = client.hybrid_search(text, **options)
    parts = [each.part for each in answer.degraded]
    return ModeAnswer(_once(_place(hit, passage) for hit in answer.sources), answer.timings_ms, parts)


def _augment(client: KgClient, text: str, options: Options, passage: Passage) -> ModeAnswer:
    """What stands in the context block: the source, or the larger part of it, whatever `passage` says."""
    del passage
    answer = client.augment(text, **options)
    places = ((each.document, *_cited(each.citation)) for each in answer.records)
    return ModeAnswer(_once(places), answer.timings_ms, [each.part for each in answer.degraded])


def _answer(client: KgClient, text: str, options: Options, passage: Passage) -> ModeAnswer:
    """What the answer cites: its quotes, or the sources that they are from; nothing where it was refused."""
    answer = client.answer(text, **options)
    parts = [each.part for each in answer.degraded]
    return ModeAnswer(_once(_proofs(answer, passage)), answer.timings_ms, parts, answer.refusal)


def _place(hit: SourceHit, passage: Passage) -> Span:
    part = hit if passage == "source" else hit.parent if passage == "parent" and hit.parent else hit.chunk
    return hit.document, part.start, part.end


def _proofs(answer: Answered, passage: Passage) -> Iterable[Span]:
    shown = {each.source_id: each for each in answer.sources}
    for each in answer.citations:
        part = each if passage == "chunk" else shown.get(each.source_id, each)
        yield each.document, part.start, part.end


def _cited(citation: str) -> tuple[int, int]:
    start, _, end = citation.rpartition("#")[2].partition("-")
    return int(start), int(end)


def _once(found: Iterable[Span]) -> list[Span]:
    return list(dict.fromkeys(found))


def _of_search(target: Target, limit: int) -> Options:
    sized: dict[Target, Options] = {"documents": {"per_document": 1}, "spans": {"group_by": "chunk"}}
    return {"limit": limit, **sized.get(target, {})}


def _of_hybrid(target: Target, limit: int) -> Options:
    return {"source_limit": min(MAX_LIMIT, MORE * limit) if target == "documents" else limit}


def _of_augment(target: Target, limit: int) -> Options:
    of_document = 1 if target == "documents" else None
    return {"limit": limit, "per_piece": min(limit, MAX_PER_PIECE), "per_document": of_document}


def _of_answer(target: Target, limit: int) -> Options:
    del target, limit  # as many passages are shown to the language model as it is asked for elsewhere
    return {}


SEARCH: Final = Endpoint("/queries/sources/search", SourceSearch, "query_text", _search, _of_search)
HYBRID: Final = Endpoint("/queries/hybrid", HybridSearch, "query_text", _hybrid, _of_hybrid)
AUGMENT: Final = Endpoint("/queries/augment", AugmentRequest, "text", _augment, _of_augment)
ANSWER: Final = Endpoint("/queries/answer", AnswerRequest, "question", _answer, _of_answer, own_limit=True)

MODES: Final[Mapping[str, EvalMode]] = {
    "text": EvalMode(SEARCH, {"mode": "text"}),
    "vector": EvalMode(SEARCH, {"mode": "vector"}),
    "hybrid": EvalMode(SEARCH, {"mode": "hybrid"}),
    "concepts": EvalMode(SEARCH, {"mode": "hybrid", "concepts": True}, concepts=True),
    "graph": EvalMode(SEARCH, {"mode": "hybrid", "graph": True}, concepts=True),
    "hybrid/hybrid": EvalMode(HYBRID, {"mode": "hybrid"}, concepts=True),
    "hybrid/graph": EvalMode(HYBRID, {"mode": "graph"}, concepts=True),
    "hybrid/concept": EvalMode(HYBRID, {"mode": "concept"}, concepts=True),
    "hybrid/source": EvalMode(HYBRID, {"mode": "source"}),
    "hybrid/text": EvalMode(HYBRID, {"mode": "text"}),
    "augment": EvalMode(AUGMENT, {"mode": "hybrid"}),
    "augment/vector": EvalMode(AUGMENT, {"mode": "vector"}),
    "augment/text": EvalMode(AUGMENT, {"mode": "text"}),
    "answer": EvalMode(ANSWER, {"mode": "hybrid"}),
    "answer/vector": EvalMode(ANSWER, {"mode": "vector"}),
    "answer/text": EvalMode(ANSWER, {"mode": "text"}),
}
"""By the name of `--mode`: what finds, or `ENDPOINT/MODE` for others than search."""

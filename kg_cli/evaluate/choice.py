"""Modes that an evaluation can measure, with their endpoints. A new mode is one line in `MODES`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kg_api.client import KgClient
from kg_api.errors import InvalidInput
from kg_api.schemas.answers import Answered, AnswerRequest, Augmented, AugmentRequest
from kg_api.schemas.base import Body
from kg_api.schemas.concepts import ExtractionConfig
from kg_api.schemas.embedding import EmbeddingConfig
from kg_api.schemas.problems import valid
from kg_api.schemas.search import SourceHits, SourceSearch
from kg_api.schemas.vocabulary import MAX_PER_PIECE, Target

Options = Mapping[str, Any]
Span = tuple[str, int, int]  # document, start and end of a passage in kg

_NO_OPTIONS = {
    *("query_text", "query_vector", "text", "messages", "question", "space", "ontology", "documents"),
    *("mode", "cursor", "stream"),
}


@dataclass(frozen=True, slots=True)
class ModeAnswer:
    found: list[Span]
    timings_ms: dict[str, float]
    degraded: list[str]
    refusal: str | None = None  # reason for no answer, if the mode answers questions


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A search request of the service."""

    path: str
    request: type[Body]
    question: str  # name of the question field
    method: str  # name of the client's method
    found: Callable[[Any], Iterable[Span]]
    sized: Callable[[Target, int], Options]  # default options for a target and a number of hits
    own_limit: bool = False  # whether `limit` is an ordinary option, not the number of hits

    @property
    def options(self) -> list[str]:
        ours = _NO_OPTIONS if self.own_limit else {*_NO_OPTIONS, "limit"}
        return sorted(set(self.request.model_fields) - ours)

    def ask(self, client: KgClient, text: str, options: Options) -> ModeAnswer:
        answer: Any = getattr(client, self.method)(text, **options)
        places = list(dict.fromkeys(self.found(answer)))
        degraded = [each.part for each in answer.degraded]
        return ModeAnswer(places, answer.timings_ms, degraded, getattr(answer, "refusal", None))


@dataclass(frozen=True, slots=True)
class EvalMode:
    endpoint: Endpoint
    fixed: Options = field(default_factory=dict[str, Any])
    concepts: bool = False  # whether the mode needs concepts


def _hits(answer: SourceHits) -> Iterable[Span]:
    return ((hit.document, hit.chunk.start, hit.chunk.end) for hit in answer.sources)


def _records(answer: Augmented) -> Iterable[Span]:
    """Yield the passages of the context block: sources or parts of them."""
    for each in answer.records:
        start, _, end = each.citation.rpartition("#")[2].partition("-")
        yield each.document, int(start), int(end)


def _citations(answer: Answered) -> Iterable[Span]:
    """Yield the quotes that the answer cites. An unanswered question yields nothing."""
    return ((each.document, each.start, each.end) for each in answer.citations)


def _of_search(target: Target, limit: int) -> Options:
    sized: dict[Target, Options] = {"documents": {"per_document": 1}, "spans": {"group_by": "chunk"}}
    return {"limit": limit, **sized.get(target, {})}


def _of_augment(target: Target, limit: int) -> Options:
    of_document = 1 if target == "documents" else None
    return {"limit": limit, "per_piece": min(limit, MAX_PER_PIECE), "per_document": of_document}


def _of_answer(target: Target, limit: int) -> Options:
    del target, limit  # the language model gets the default number of passages
    return {}


SEARCH: Final = Endpoint(
    "/queries/sources/search", SourceSearch, "query_text", "search_sources", _hits, _of_search
)
AUGMENT: Final = Endpoint("/queries/augment", AugmentRequest, "text", "augment", _records, _of_augment)
ANSWER: Final = Endpoint(
    "/queries/answer", AnswerRequest, "question", "answer", _citations, _of_answer, own_limit=True
)

# by the value of `--mode`
MODES: Final[Mapping[str, EvalMode]] = {
    "text": EvalMode(SEARCH, {"mode": "text"}),
    "vector": EvalMode(SEARCH, {"mode": "vector"}),
    "hybrid": EvalMode(SEARCH, {"mode": "hybrid"}),
    "concepts": EvalMode(SEARCH, {"mode": "hybrid", "concepts": True}, concepts=True),
    "graph": EvalMode(SEARCH, {"mode": "hybrid", "graph": True}, concepts=True),
    "augment": EvalMode(AUGMENT, {"mode": "hybrid"}),
    "answer": EvalMode(ANSWER, {"mode": "hybrid"}),
}


# Configuration from the command line: search, embedding and extraction

# embedding options of an evaluation
EMBEDDING = sorted(set(EmbeddingConfig.model_fields) - {"embed_on_ingest"})
EXTRACTION = ("extractor", "per_source")  # extraction options of an evaluation


@dataclass(frozen=True, slots=True)
class Choice:
    """Selected options. Omitted options keep kg's defaults."""

    mode: str = "hybrid"
    search: Mapping[str, Any] = field(default_factory=dict[str, Any])
    embedding: Mapping[str, Any] = field(default_factory=dict[str, Any])  # fields of EmbeddingConfig
    extraction: Mapping[str, Any] = field(default_factory=dict[str, Any])  # fields of ExtractionConfig

    @property
    def label(self) -> str:
        """Label for people: the mode and the options that differ from the defaults."""
        others = {**self.search, **self.embedding, **self.extraction}.items()
        options = (
            f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in others
        )
        return " ".join([self.mode, *options])

    @property
    def corpus(self) -> str:
        """Hash of the options that affect the content of an ontology, or empty for the defaults."""
        if not self.embedding and not self.extraction:
            return ""
        options = json.dumps([sorted(self.embedding.items()), sorted(self.extraction.items())])
        return hashlib.sha256(options.encode()).hexdigest()[:8]

    @property
    def needs_concepts(self) -> bool:
        return self.asks.concepts or bool(self.search.get("concepts"))

    @property
    def asks(self) -> EvalMode:
        return MODES[self.mode]

    def asked(self, target: Target, limit: int) -> dict[str, Any]:
        return {**self.asks.endpoint.sized(target, limit), **self.asks.fixed, **self.search}


def parse_choice(pairs: Iterable[str]) -> Choice:
    values = dict(map(_pair, pairs))
    mode = str(values.pop("mode", Choice().mode))
    if mode not in MODES:
        raise InvalidInput(f"unknown mode {mode!r}. Modes: {', '.join(MODES)}")
    endpoint = MODES[mode].endpoint
    names = [*endpoint.options, *EMBEDDING, *EXTRACTION]
    if unknown := sorted(set(values) - {*names}):
        there = ", ".join(names)
        raise InvalidInput(f"mode {mode} has no option {', '.join(unknown)}. Options: {there}")
    search, embedding, extraction = (
        {name: value for name, value in values.items() if name in some}
        for some in (endpoint.options, EMBEDDING, EXTRACTION)
    )
    valid(endpoint.request, {endpoint.question: "what", **MODES[mode].fixed, **search})
    valid(EmbeddingConfig, dict(embedding))
    valid(ExtractionConfig, dict(extraction))
    return Choice(mode, search, embedding, extraction)


def _pair(text: str) -> tuple[str, Any]:
    """Parse `name=value`. Numbers, true, false and null keep their type, and any other value is text."""
    name, equals, setting = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise InvalidInput(f"{text!r} is not of the form name=value")
    try:
        value = json.loads(setting)
    except ValueError:
        return name, setting
    return name, setting if isinstance(value, (dict, list, str)) else value

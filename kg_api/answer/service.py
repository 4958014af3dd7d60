"""Answering: search -> threshold -> what is shown -> language model -> statements, each proved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

import structlog

from kg_api.answer.passages import PromptPassage, list_passages, present_passages, threshold_of
from kg_api.answer.prompt import build_prompt
from kg_api.answer.refusals import explain_unproven, notes_of, reason_of, unreadable
from kg_api.answer.statements import Proving, as_text
from kg_api.errors import ConfigurationError, InvalidInput, KgError, LlmFailed, TooBusy
from kg_api.graph.database import Graph
from kg_api.llm.prompts import Prompt
from kg_api.metrics.spending import require_budget
from kg_api.models.queries.answering import (
    AnswerCounts,
    Answered,
    AnswerRequest,
    Refusal,
    Statement,
)
from kg_api.models.queries.augment import Threshold
from kg_api.models.queries.places import ContextWindow
from kg_api.models.queries.search import Degradation, SourceHit, SourceSearch
from kg_api.search.plan.similarity import filter_by
from kg_api.search.present.reading import read_windows
from kg_api.search.service import SearchService
from kg_api.search.timing import Stopwatch
from kg_api.spaces.counting import token_counter
from kg_api.spaces.plans import OntologySnapshot, PlanWatch
from kg_api.spaces.registry import SpaceRegistry

log = structlog.get_logger()

MAX_AT_ONCE = 12
"""Answers that are written at the same time in one process: each holds a thread for as long."""
MAX_PIECES_BEHIND = 50
"""Of what a model writes behind its answer so many are waited for."""


class Model(Protocol):
    """What writes the answers; `LanguageModel` is one."""

    @property
    def name(self) -> str: ...

    def stream(self, question: Prompt) -> Generator[str]:
        """Give what it writes, piece by piece."""
        ...


@dataclass(frozen=True, slots=True)
class RetrievedPassages:
    """What there is to answer from."""

    request: AnswerRequest
    model: str
    hits: list[SourceHit]
    passages: list[PromptPassage]
    thresholds: list[Threshold]
    counts: AnswerCounts
    degraded: list[Degradation]
    watch: Stopwatch
    unmeasured: bool
    """A least similarity was asked for, and the question has no vector to measure by."""

    @property
    def refusal(self) -> Refusal | None:
        """Why nobody is asked."""
        if self.passages:
            return None
        if not self.counts.found:
            return "nothing_found"
        return "not_measured" if self.unmeasured else "nothing_similar"


class Writing:
    """An answer that is being written: statements as they come, at last the whole.

    It counts as being written until it is closed.
    """

    def __init__(self, events: Generator[Statement | Answered], release: Callable[[], None]) -> None:
        self._events = events
        self._release = ExitStack()
        self._release.callback(release)

    def __iter__(self) -> Iterator[Statement | Answered]:
        return self._events

    def next(self) -> Statement | Answered | None:
        """The next event; None behind the last."""
        return next(self._events, None)

    def close(self) -> None:
        """Ask the language model for nothing more. Closing twice is no error."""
        with self._release:
            self._events.close()


class AnswerService:
    """Answers questions from passages, with citations."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry, search: SearchService, model: Model) -> None:
        self._graph = graph
        self._spaces = spaces
        self._search = search
        self._model = model
        self._plans = PlanWatch(graph)
        self._places = threading.BoundedSemaphore(MAX_AT_ONCE)

    def answer(self, request: AnswerRequest) -> Answered:
        """Answer a question.

        Raises:
            InvalidInput: there is no language model, or see `SearchService.search`.
            TooBusy: so many answers are being written that no more are begun.
            Unavailable: no lane of the search can answer, or the language model cannot.
            LlmFailed: what the language model writes cannot be read.
            ConfigurationError: the language model cannot be used.
        """
        with closing(self.begin(request)) as writing:
            for event in writing:
                if isinstance(event, Answered):
                    return event
        raise LlmFailed("the answer has no end")

    def begin(self, request: AnswerRequest) -> Writing:
        """Search, and give what then comes; close it.

        Raises:
            As `answer`; what is given raises what concerns the language model.
            RateExceeded: whoever asks has spent their tokens.
        """
        require_budget()
        if not self._places.acquire(blocking=False):
            raise TooBusy(f"{MAX_AT_ONCE} answers are being generated right now; try again in a few seconds")
        try:
            retrieved = self._retrieve(request)
        except BaseException:
            self._places.release()
            raise
        return Writing(self._write(retrieved), self._places.release)

    def _retrieve(self, request: AnswerRequest) -> RetrievedPassages:
        watch = Stopwatch("answer")
        name = self.model_name()
        known = self._plans.known(request.ontologies or ())
        thresholds = _thresholds(request, known)
        with watch.stage("search"):
            found = self._search.search(_search(request), filter_by(thresholds, keep_carried=True))
        asked_in = [thresholds[slug] for slug in found.spaces if slug in thresholds]
        with watch.stage("context"):
            windows, tokens, beyond, notes = self._windows(found.sources, request, known)
        passages = list_passages(windows, found.sources)
        left_out = found.left_out
        counts = AnswerCounts(
            found=len(found.sources) + left_out.below_similarity + left_out.without_vector,
            below_similarity=left_out.below_similarity,
            without_vector=left_out.without_vector,
            beyond_budget=beyond,
            passages=len(found.sources) - beyond,
            shown=len(passages),
            tokens=tokens,
            statements=0,
        )
        blind = request.min_similarity is not None and not found.spaces
        degraded = [*found.degraded, *notes]
        return RetrievedPassages(
            request, name, found.sources, passages, asked_in, counts, degraded, watch, unmeasured=blind
        )

    def model_name(self) -> str:
        """The language model's.

        Raises:
            InvalidInput: there is none, or it cannot be used; it says what to set.
        """
        try:
            return self._model.name
        except ConfigurationError as error:
            raise InvalidInput(f"answers need a language model, for the service: {error}") from error

    def _windows(
        self, hits: list[SourceHit], request: AnswerRequest, known: OntologySnapshot
    ) -> tuple[list[ContextWindow], int, int, list[Degradation]]:
        """What is around the hits, within the budget; its tokens, the hits left out, and notes."""
        if not hits:
            return [], 0, 0, []
        counter = token_counter(self._spaces.of(known.space_of(hits[0].ontology)))
        windows, beyond = read_windows(self._graph, hits, counter, request.window_size, request.token_budget)
        notes = [counter.problem] if counter.problem else []
        if beyond:
            notes.append(f"token_budget: there is no room for {beyond} of the passages")
        told_of = [Degradation(part="windows", effect=note) for note in notes]
        return windows, sum(window.tokens for window in windows), beyond, told_of

    def _write(self, retrieved: RetrievedPassages) -> Generator[Statement | Answered]:
        """Statements as they come, at last the whole answer."""
        proving = Proving(retrieved.passages)
        statements: list[Statement] = []
        if retrieved.refusal is None:
            prompt = build_prompt(retrieved.request.question, retrieved.passages)
            with retrieved.watch.stage("write"), closing(self._model.stream(prompt)) as pieces:
                for statement in proving.statements(pieces):
                    statements.append(statement)
                    yield statement
                _read_to_end(pieces)
            if proving.fault is not None:
                raise LlmFailed(unreadable(proving.fault))
        yield _build_answer(retrieved, proving, statements)


def _read_to_end(pieces: Iterator[str]) -> None:
    """Behind the statements comes nothing but the end, at which the server says what they took."""
    with suppress(KgError):  # the answer is there
        for _ in islice(pieces, MAX_PIECES_BEHIND):
            pass


def _build_answer(retrieved: RetrievedPassages, proving: Proving, statements: list[Statement]) -> Answered:
    counts = retrieved.counts.model_copy(
        update={
            "statements": len(statements),
            "without_citation": proving.without_citation,
            "refused_citations": proving.refused_citations,
        }
    )
    refusal = None if statements else retrieved.refusal or explain_unproven(proving)
    timings = retrieved.watch.milliseconds()
    log.info("answered", refusal=refusal, model=retrieved.model, **counts.model_dump(), ms=timings["total"])
    return Answered(
        question=retrieved.request.question,
        answered=refusal is None,
        text=as_text(statements),
        refusal=refusal,
        reason=reason_of(refusal, retrieved.counts),
        statements=statements,
        citations=proving.citations,
        sources=present_passages(retrieved.passages, retrieved.hits),
        thresholds=retrieved.thresholds,
        counts=counts,
        model=retrieved.model,
        degraded=[*retrieved.degraded, *notes_of(proving)],
        timings_ms=timings,
    )


def _search(request: AnswerRequest) -> SourceSearch:
    return SourceSearch(
        query_text=request.question,
        ontology=request.ontology,
        documents=request.documents,
        where=request.where,
        mode=request.mode,
        limit=request.limit,
        rerank=request.rerank,
        hyde=request.hyde,
        concepts=request.concepts,
    )


def _thresholds(request: AnswerRequest, known: OntologySnapshot) -> dict[str, Threshold]:
    """What is similar enough in each space."""
    spaces = (*known.answering.values(), known.new)
    return {space.slug: threshold_of(space, request) for space in spaces}

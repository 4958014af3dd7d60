"""Asking judged questions in the service itself: a few, at once, for whoever has judged them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final

from kg_api import __version__
from kg_api.errors import Conflict, InvalidInput, NotFound, Unavailable
from kg_api.evaluation.run import ask_again, ask_all, describe_kg
from kg_api.evaluation.scores import HOW, can_measure
from kg_api.evaluation.sets import SEED, JudgedSet, judged_queries
from kg_api.graph.client import Graph
from kg_api.graph.judgements import read_judged_places
from kg_api.graph.reach import require
from kg_api.schemas.evaluation import (
    FoundSpan,
    MeasuredRuns,
    QuestionResult,
    QuestionSet,
    SetDocument,
    SetQuery,
)
from kg_api.schemas.search import SourceHit, SourceHits, SourceSearch
from kg_api.schemas.vocabulary import SearchMode
from kg_api.wording import pluralize

MAX_QUESTIONS: Final = 200
"""Of an ontology: those with the smallest ids, which is by chance and always the same ones."""
MAX_SECONDS: Final = 120
"""That somebody waits for an answer."""
HITS: Final = 20
KEPT_SECONDS: Final = 3600
"""That answers of a try that was not finished count, and what it had finished."""
PATIENCE_SECONDS: Final = 10.0
"""That a question is asked again, while it is not answered."""
PAUSE_SECONDS: Final = 1.0
PASSING: Final = (Unavailable, NotFound)
"""A part that is away for a moment, or a document that is deleted at that moment."""

Search = Callable[[SourceSearch], SourceHits]


@dataclass(frozen=True, slots=True)
class MeasuredOntology:
    """What is asked of an ontology, and what the record says of it."""

    about: Mapping[str, Any]
    """How it is embedded, and what else decides over answers."""
    judged: JudgedSet


def read_judged(graph: Graph, ontology: str) -> JudgedSet:
    """The judged questions of an ontology, those that can be asked here.

    Raises:
        Forbidden: it cannot be seen.
    """
    return limit_questions(judged_queries(read_judged_places(graph, ontology)))


def limit_questions(found: JudgedSet) -> JudgedSet:
    """As many as are asked here; a note says of how many."""
    chosen = sorted(found.queries, key=lambda each: each.query_id)[:MAX_QUESTIONS]
    if len(chosen) == len(found.queries):
        return found
    note = (
        f"{MAX_QUESTIONS} of {pluralize(len(found.queries), 'question')} asked; to ask all: "
        "`kg eval make --kind judgements`, then `kg eval run --in-place`, whose results are compared among "
        "themselves"
    )
    return JudgedSet(chosen, [*found.notes, note])


class Measuring:
    """Measures searches of this process by judged questions, one run at a time."""

    def __init__(self, folder: Path) -> None:
        """Nothing is done yet.

        Args:
            folder: where results are saved.
        """
        self._folder = folder
        self._busy = Lock()
        self._finished: dict[str, tuple[float, str]] = {}

    def measure(
        self, ontology: str, modes: Sequence[SearchMode], look: Callable[[], MeasuredOntology], search: Search
    ) -> MeasuredRuns:
        """Ask all questions in each mode, and save a result of each.

        Args:
            ontology: that is asked.
            modes: of searches.
            look: reads what is asked, when nothing stands in the way any more.
            search: answers one.

        Raises:
            InvalidInput: there is no mode, or nothing is judged to answer.
            Conflict: the packages for it are missing, another run is under way, or it took too long.
            Forbidden: the ontology cannot be seen.
        """
        require(ontology)
        if not modes:
            raise InvalidInput("choose a mode at least: text, vector or hybrid")
        if not can_measure():
            raise Conflict(f"the packages for evaluation are not installed; {HOW}")
        if not self._busy.acquire(blocking=False):
            raise Conflict("somebody measures at this moment; try again when that is done")
        try:
            return self._measure(ontology, modes, look(), search)
        finally:
            self._busy.release()

    def _measure(
        self, ontology: str, modes: Sequence[SearchMode], found: MeasuredOntology, search: Search
    ) -> MeasuredRuns:
        if not found.judged.queries:
            raise InvalidInput(f"no passage of {ontology!r} is judged to answer a question; judge hits first")
        bounded = _bounded(search, time.monotonic() + MAX_SECONDS)
        names = [self._run(mode, found.about, found.judged, bounded) for mode in modes]
        self._finished = {key: each for key, each in self._finished.items() if each[1] not in names}
        return MeasuredRuns(ontology=ontology, names=names)

    def _run(self, mode: SearchMode, about: Mapping[str, Any], judged: JudgedSet, search: Search) -> str:

        from kg_api.evaluation.results import Run, make_results_folder, measure  # noqa: PLC0415 - an extra

        make_results_folder(self._folder)
        asked = SourceSearch(query_text="?", ontology=about["ontology"], mode=mode, limit=HITS)
        # The questions with the documents that are judged; what else the ontology has is not a part of it
        ontology = str(about["ontology"])
        documents = sorted({name for query in judged.queries for name in query.relevant})
        queries = [[each.query_id, each.text, list(map(astuple, each.passages))] for each in judged.queries]
        digest = hashlib.sha256(json.dumps([ontology, queries]).encode()).hexdigest()
        questions = QuestionSet(
            name=f"judged in {ontology}",
            documents=tuple(SetDocument(name, "") for name in documents),
            queries=tuple(judged.queries),
            notes=tuple(judged.notes),
            corpus_hash=hashlib.sha256(json.dumps(documents).encode()).hexdigest(),
            data_hash=digest,
        )
        config = {
            "set": questions.name,
            "tier": "full",
            "seed": SEED,
            "target": "passages",
            **asked.model_dump(mode="json", include={"mode", "limit"}),
            "endpoint": "/queries/sources/search",
            **about,
        }
        run = Run(mode, "passages", questions, judged.queries, HITS, config, describe_kg(__version__))

        def ask(query: SetQuery) -> QuestionResult:
            return _ask(search, asked.model_copy(update={"query_text": query.text}), query.query_id)

        if known := self._find_finished(run.key):
            return known
        asking = partial(ask_all, run.queries, ask, tell=lambda: None)
        _, path = measure(run, asking, self._folder, kept_seconds=KEPT_SECONDS)
        self._finished[run.key] = (time.monotonic(), path.stem)
        return path.stem

    def _find_finished(self, key: str) -> str | None:
        """What a try that stopped in a later mode has saved."""
        since, name = self._finished.get(key, (0.0, ""))
        is_there = bool(name) and (self._folder / f"{name}.json").is_file()
        return name if is_there and time.monotonic() - since < KEPT_SECONDS else None


def _bounded(search: Search, until: float) -> Search:
    def bounded(request: SourceSearch) -> SourceHits:
        if time.monotonic() > until:
            raise Conflict(
                f"it took longer than {MAX_SECONDS} s; the answers so far are kept: measure again to go on"
            )
        patience = min(PATIENCE_SECONDS, until - time.monotonic())
        return ask_again(partial(search, request), PASSING, patience, PAUSE_SECONDS)

    return bounded


def _ask(search: Search, request: SourceSearch, query_id: str) -> QuestionResult:
    begun = time.perf_counter()
    answer = search(request)
    milliseconds = (time.perf_counter() - begun) * 1000
    return QuestionResult(
        query_id=query_id,
        found=[_span(each) for each in answer.sources],
        ms=round(milliseconds, 3),
        timings_ms=answer.timings_ms,
        degraded=[each.part for each in answer.degraded if each.part != "spelling"],
    )


def _span(hit: SourceHit) -> FoundSpan:
    return FoundSpan(document=hit.document, start=hit.chunk.start, end=hit.chunk.end)

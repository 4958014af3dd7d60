"""One run: take the set in, ask every question, score, save."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kg_api.client import KgClient
from kg_api.errors import InvalidInput
from kg_api.evaluate.asking import AnswerFile, ask_all
from kg_api.evaluate.identity import describe_kg
from kg_api.evaluate.results import Run
from kg_api.evaluate.running import make_results_folder, measure
from kg_api.evaluate.saved.reading import read_result
from kg_api.evaluate.scores.plots import plot_result
from kg_api.evaluate.sets.sample import SEED, sample_queries
from kg_api.models.evaluation import EvalResult, FoundSpan, QuestionResult, QuestionSet, SetQuery
from kg_api.models.vocabulary import Target, Tier
from kg_cli.evaluate.choice import Choice
from kg_cli.evaluate.corpus import Corpus, in_place, take_in, wait_for_concepts
from kg_cli.evaluate.modes import ModeAnswer
from kg_cli.jobs.waiting import patiently
from kg_cli.terminal import console


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What all configurations of a command share."""

    folder: Path
    """The set's."""
    tier: Tier
    target: Target | None
    limit: int
    ontology: str | None
    in_place: bool
    results: Path
    """The folder that results are saved in."""


@dataclass(frozen=True, slots=True)
class SavedResult:
    """A result and its file."""

    result: EvalResult
    path: Path
    reused: bool = False


def evaluate(
    client: KgClient,
    questions: QuestionSet,
    choice: Choice,
    settings: RunSettings,
    *,
    output: Path | None = None,
    reuse: bool = False,
) -> SavedResult:
    """Measure one configuration, or give what was measured before.

    Args:
        client: of the service.
        questions: the set.
        choice: the configuration.
        settings: what to ask, and where results go.
        output: the result's file; unset: one in the folder of results.
        reuse: take a saved result of the very same run.

    Raises:
        KgError: the set does not fit, or the service stays away; answers so far are kept.
    """
    corpus = _corpus(client, questions, choice, settings)
    if choice.needs_concepts:
        corpus = wait_for_concepts(client, corpus)
    run = _run(client, questions, choice, settings, corpus)
    make_results_folder(settings.results)
    if reuse and (known := _find_saved(settings.results, run)):
        return known
    search = partial(_search, client, run, choice, corpus)
    return _measure(run, search, settings.results, output)


def _corpus(client: KgClient, questions: QuestionSet, choice: Choice, settings: RunSettings) -> Corpus:
    if not settings.in_place:
        return take_in(client, questions, choice, settings.ontology)
    if settings.ontology is None:
        raise InvalidInput("--in-place needs --ontology: the one to use as it is")
    if changes := [*choice.embedding, *choice.extraction]:
        raise InvalidInput(f"--in-place takes the ontology as it is; leave {', '.join(changes)} out")
    return in_place(client, questions, settings.ontology)


def _answers(query: SetQuery, target: Target) -> bool:
    """Whether something is said to answer that is measured by a target."""
    if target == "passages":
        return any(each.relevance for each in query.passages)
    return bool(query.relevant if target == "documents" else query.references)


def _run(
    client: KgClient, questions: QuestionSet, choice: Choice, settings: RunSettings, corpus: Corpus
) -> Run:
    target = settings.target or questions.targets[0]
    if target not in questions.targets:
        raise InvalidInput(f"{questions.name} has no {target} to measure; it has {questions.targets[0]}")
    queries = [each for each in questions.queries if _answers(each, target)]
    config = {
        "set": questions.name,
        "tier": settings.tier,
        "seed": SEED,
        "target": target,
        "limit": settings.limit,
        **choice.asked(target, settings.limit),
        "mode": choice.mode,
        "endpoint": choice.asks.endpoint.path,
        "titles": choice.titles,
        "passage": choice.passage,
        **corpus.description,
    }
    sample = sample_queries(queries, settings.tier)
    told = describe_kg(client.health().version)
    return Run(choice.label, target, questions, sample, settings.limit, config, told)


def _measure(
    run: Run, search: Callable[[SetQuery], QuestionResult], folder: Path, output: Path | None
) -> SavedResult:
    made, path = measure(run, partial(_ask, search, run), folder, output)
    try:
        plot_result(made, path.with_suffix(".png"))
    except OSError as error:
        raise InvalidInput(f"the picture of {path} cannot be written: {error.strerror}") from error
    return SavedResult(made, path)


def _ask(
    search: Callable[[SetQuery], QuestionResult], run: Run, kept: AnswerFile
) -> Mapping[str, QuestionResult]:
    total, known = len(run.queries), len(kept.answers)
    if known:
        console.say(f"going on: {known} of {total} questions were answered before")
    with console.progress("questions") as bar:
        task = bar.add_task(f"asking ({run.label})", total=total, completed=known)
        try:
            return ask_all(run.queries, search, kept, lambda: bar.advance(task))
        except BaseException:
            console.say(
                f"{len(kept.answers)} of {total} answers are kept; the same command goes on from there"
            )
            raise


def _search(client: KgClient, run: Run, choice: Choice, corpus: Corpus, query: SetQuery) -> QuestionResult:
    asked = {**choice.asked(run.target, run.limit), "ontology": corpus.ontology}
    call = partial(choice.asks.endpoint.ask, client, query.text, asked, choice.passage)
    answer, milliseconds = patiently(partial(_timed, call))
    return QuestionResult(
        query_id=query.query_id,
        found=[_locate(corpus, *place) for place in answer.found],
        ms=round(milliseconds, 3),
        timings_ms=answer.timings_ms,
        degraded=[part for part in answer.degraded if part != "spelling"],
        refusal=answer.refusal,
    )


def _timed(call: Callable[[], ModeAnswer]) -> tuple[ModeAnswer, float]:
    begun = time.perf_counter()
    answer = call()
    return answer, (time.perf_counter() - begun) * 1000


def _locate(corpus: Corpus, document: str, start: int, end: int) -> FoundSpan:
    sent = corpus.sent.get(document)
    return FoundSpan(document=document, start=start, end=end) if sent is None else sent.found(start, end)


def _find_saved(folder: Path, run: Run) -> SavedResult | None:
    """The newest saved result of the very same run, unless it lacked a part."""
    for path in sorted(folder.glob(f"*-{run.key[:8]}.json"), reverse=True):
        found = read_result(path)
        if found.key == run.key and not found.degraded:
            return SavedResult(found, path, reused=True)
    return None

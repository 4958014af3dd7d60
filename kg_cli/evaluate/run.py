"""One evaluation run: ingest the set, run every question, score and save."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from kg_api.client import KgClient
from kg_api.errors import InvalidInput
from kg_api.evaluation.comparing import compare
from kg_api.evaluation.results import Run, save_result
from kg_api.evaluation.run import describe_kg
from kg_api.evaluation.saved import read_result
from kg_api.evaluation.scores import list_families, list_main_metrics, list_ranks
from kg_api.evaluation.sets import SEED, read_set, sample_queries
from kg_api.local import processes
from kg_api.schemas.evaluation import Comparison, EvalResult, FoundSpan, QuestionResult, QuestionSet, SetQuery
from kg_api.schemas.search import SourceHits
from kg_api.schemas.vocabulary import Target, Tier
from kg_api.wording import pluralize
from kg_cli.evaluate.choice import Choice, parse_choice
from kg_cli.evaluate.make import Corpus, store_missing_documents, use_ontology, wait_for_concepts
from kg_cli.jobs.report import retry_while_unavailable
from kg_cli.terminal import console
from kg_cli.terminal.connect import open_client


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings that all configurations of a command share."""

    folder: Path
    tier: Tier
    target: Target | None
    limit: int
    ontology: str | None
    in_place: bool
    results: Path  # folder for results


@dataclass(frozen=True, slots=True)
class SavedResult:
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
    """Measure one configuration. With `reuse`, return the saved result of an identical run, if any."""
    if not settings.in_place:
        corpus = store_missing_documents(client, questions, choice, settings.ontology)
    elif settings.ontology is None:
        raise InvalidInput("--in-place needs --ontology with the ontology to use")
    elif changes := [*choice.embedding, *choice.extraction]:
        raise InvalidInput(f"--in-place uses the ontology unchanged. Omit {', '.join(changes)}")
    else:
        corpus = use_ontology(client, questions, settings.ontology)
    if choice.needs_concepts:
        corpus = wait_for_concepts(client, corpus)
    run = _run(client, questions, choice, settings, corpus)
    try:
        processes.make_folder(settings.results)
    except OSError as error:
        raise InvalidInput(f"{settings.results} cannot be used for results: {error.strerror}") from error
    if reuse:
        for path in sorted(settings.results.glob(f"*-{run.key[:8]}.json"), reverse=True):
            found = read_result(path)
            if found.key == run.key and not found.degraded:  # complete results only
                return SavedResult(found, path, reused=True)
    started, search = datetime.now(tz=UTC), partial(_search, client, run, choice, corpus)
    with console.progress("questions") as bar:
        if run.queries:
            search(run.queries[0])  # warm-up: the first request of a connection is slower
        queries = bar.track(run.queries, description=f"asking ({run.label})")
        answers = {query.query_id: search(query) for query in queries}
    return SavedResult(*save_result(run, answers, started, settings.results, output))


def _run(
    client: KgClient, questions: QuestionSet, choice: Choice, settings: RunSettings, corpus: Corpus
) -> Run:
    target = settings.target or questions.targets[0]
    if target not in questions.targets:
        raise InvalidInput(f"{questions.name} has no {target} to measure, only {questions.targets[0]}")
    answered: dict[Target, Callable[[SetQuery], bool]] = {
        "passages": lambda each: any(passage.relevance for passage in each.passages),
        "documents": lambda each: bool(each.relevant),
        "spans": lambda each: bool(each.references),
    }
    queries = [each for each in questions.queries if answered[target](each)]
    config = {
        "set": questions.name,
        "tier": settings.tier,
        "seed": SEED,
        "target": target,
        "limit": settings.limit,
        **choice.asked(target, settings.limit),
        "mode": choice.mode,
        "endpoint": "/queries/sources/search",
        **corpus.description,
    }
    sample = sample_queries(queries, settings.tier)
    facts = describe_kg(client.health().version)
    return Run(choice.label, target, questions, sample, settings.limit, config, facts)


def _search(client: KgClient, run: Run, choice: Choice, corpus: Corpus, query: SetQuery) -> QuestionResult:
    parameters: dict[str, Any] = {**choice.asked(run.target, run.limit), "ontology": corpus.ontology}

    def ask_timed() -> tuple[SourceHits, float]:
        begun = time.perf_counter()
        return client.search_sources(query.text, **parameters), (time.perf_counter() - begun) * 1000

    answer, milliseconds = retry_while_unavailable(ask_timed)
    found = list[FoundSpan]()
    spans = ((each.document, each.chunk.start, each.chunk.end) for each in answer.sources)
    for document, start, end in dict.fromkeys(spans):
        sent = corpus.sent.get(document)
        as_found = FoundSpan(document=document, start=start, end=end)
        found.append(sent.find_span(start, end) if sent else as_found)
    return QuestionResult(
        query_id=query.query_id,
        found=found,
        ms=round(milliseconds, 3),
        timings_ms=answer.timings_ms,
        degraded=[each.part for each in answer.degraded if each.part != "spelling"],
    )


# Comparison of saved results and of configurations, which are measured if necessary


def compare_results(
    paths: Sequence[Path],
    configs: Sequence[str],
    settings: RunSettings | None,
    metrics: Sequence[str] | None,
    against: str,
    *,
    fresh: bool,
) -> Comparison:
    """Compare saved results and configurations (comma-separated `name=value` pairs)."""
    if configs and settings is None:
        raise InvalidInput("configurations are measured on a set: name it with --set")
    saved = [SavedResult(read_result(path), path, reused=True) for path in paths]
    if configs and settings is not None:
        choices = [parse_choice(config.split(",")) for config in configs]  # parse all before the first run
        questions = read_set(settings.folder)
        with open_client() as client:
            for choice in choices:
                each = evaluate(client, questions, choice, settings, reuse=not fresh)
                console.say(f"{'known' if each.reused else 'measured'}: {each.result.label}")
                saved.append(each)
    found = compare([each.result for each in saved], metrics, against)
    return found.model_copy(
        update={"results": {label: str(each.path) for label, each in zip(found.labels, saved, strict=True)}}
    )


def save(comparison: Comparison, output: Path | None, folder: Path) -> Path:
    name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{comparison.data.name}-comparison.json"
    path = output or folder / name
    try:
        processes.make_folder(path.absolute().parent)
        processes.write_text(path, comparison.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}") from error
    console.say(f"saved: {path}")
    return path


# Printed results


def build_result_json(saved: SavedResult) -> dict[str, Any]:
    """Return the JSON of `kg eval run --json`: the result without scores per question, and its file."""
    fields = saved.result.model_dump(mode="json", exclude={"per_query", "query_ms", "questions", "format"})
    return {**fields, "result": str(saved.path)}


def print_result(saved: SavedResult) -> None:
    result = saved.result
    names = list_families(result.metrics)
    at = list_ranks(result.metrics, names[0])
    rows = [[name, *(f"{result.metrics[f'{name}@{k}']:.4f}" for k in at)] for name in names]
    title = f"{result.data.name}: {result.label} ({pluralize(result.data.asked, 'question')})"
    console.print_table(["measure", *(f"@{k}" for k in at)], rows, title=title)
    names = list_main_metrics(result.target, result.metrics)
    rows = [[name, "{:.4f} to {:.4f}".format(*result.intervals[name])] for name in names]
    console.print_table(["measure", "95 % interval"], rows)
    latencies = {"whole request": result.latency_ms, **result.stages_ms}
    columns = ("p50", "p95", "p99")
    console.print_table(
        ["milliseconds", *columns],
        [[stage, *(f"{times[name]:.1f}" for name in columns)] for stage, times in latencies.items()],
    )
    for note in result.data.notes:
        console.note(note)
    for part, count in result.degraded.items():
        console.note(f"{count} of {result.data.asked} answers were degraded ({part}): not as requested")
    console.say(f"saved: {saved.path}")


def print_comparison(comparison: Comparison) -> None:
    """Print the metrics of each configuration and the significance of their differences."""
    metrics = list(dict.fromkeys(test.metric for test in comparison.tests))
    marks = {
        (test.label, test.metric): " +" if test.difference > 0 else " -"
        for test in comparison.tests
        if test.significant
    }
    rows = [
        [
            label,
            *(f"{comparison.metrics[label][name]:.4f}{marks.get((label, name), '')}" for name in metrics),
            *(f"{comparison.latency_ms[label][name]:.0f}" for name in ("p50", "p95")),
        ]
        for label in comparison.labels
    ]
    question_count = pluralize(comparison.data.asked, "question")
    title = f"{comparison.data.name}, {question_count}; against: {comparison.baseline}"
    names = [metric.replace("_", "\n", 1) for metric in metrics]  # on two lines, so that several columns fit
    console.print_table(["configuration", *names, "p50 ms", "p95 ms"], rows, title=title)
    for metric in metrics:
        rows = [
            [
                test.label,
                f"{test.difference:+.4f}",
                f"{test.interval[0]:+.3f} to {test.interval[1]:+.3f}",
                f"{test.wins}/{test.ties}/{test.losses}",
                f"{test.p_holm:.4f}",
            ]
            for test in comparison.tests
            if test.metric == metric
        ]
        console.print_table([metric, "difference", "95 % interval", "w/t/l", "p (Holm)"], rows)
    console.say("+ better, - worse, with p < 0.05 by the paired randomisation test, corrected by Holm")
    for label, parts in comparison.degraded.items():
        for part, count in parts.items():
            console.note(f"{label}: {count} answers were degraded ({part})")

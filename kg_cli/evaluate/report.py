"""Results as a person reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.markup import escape

from kg_api.evaluate.scores.measures import families, main_metrics, ranks
from kg_api.models.evaluation import Comparison, EvalResult, PairedTest
from kg_api.wording.plural import pluralize
from kg_cli.evaluate.run import SavedResult
from kg_cli.terminal import console

_LEFT_OUT = {"per_query", "query_ms", "questions", "format"}


def result_json(saved: SavedResult) -> dict[str, Any]:
    """What `kg eval run --json` prints: the result without the scores of each question, and its file."""
    told = saved.result.model_dump(mode="json", exclude=_LEFT_OUT)
    return {**told, "result": str(saved.path), "plot": str(saved.path.with_suffix(".png"))}


def print_result(saved: SavedResult) -> None:
    """Print the measures with their intervals, and the latencies."""
    result = saved.result
    names = families(result.metrics)
    at = ranks(result.metrics, names[0])
    rows = [[name, *(f"{result.metrics[f'{name}@{k}']:.4f}" for k in at)] for name in names]
    title = f"{result.data.name}: {result.label} ({pluralize(result.data.asked, 'question')})"
    console.print_table(["measure", *(f"@{k}" for k in at)], rows, title=title)
    names = main_metrics(result.target, result.metrics)
    rows = [[name, "{:.4f} to {:.4f}".format(*result.intervals[name])] for name in names]
    console.print_table(["measure", "95 % interval"], rows)
    latencies = {"whole request": result.latency_ms, **result.stages_ms}
    columns = ("p50", "p95", "p99")
    console.print_table(
        ["milliseconds", *columns],
        [[stage, *(f"{told[name]:.1f}" for name in columns)] for stage, told in latencies.items()],
    )
    _print_notes(result)
    console.say(escape(f"saved: {saved.path}"))


def _print_notes(result: EvalResult) -> None:
    for note in result.data.notes:
        console.say(escape(f"note: {note}"))
    for part, count in result.degraded.items():
        console.say(
            escape(
                f"note: {count} of {result.data.asked} answers were degraded ({part}): not what was asked for"
            )
        )
    if result.refused:
        _print_refused("", result.data.asked, result.refused)


def _print_refused(label: str, asked: int, refused: Mapping[str, int]) -> None:
    told = ", ".join(f"{reason}: {count}" for reason, count in refused.items())
    say = f"note: {label}{sum(refused.values())} of {asked} questions were not answered"
    console.say(escape(f"{say} ({told}); they count as 0"))


def print_comparison(comparison: Comparison) -> None:
    """Print the measures of each configuration, then what is known of their differences."""
    metrics = list(dict.fromkeys(test.metric for test in comparison.tests))
    marks = {(test.label, test.metric): _mark(test) for test in comparison.tests}
    rows = [
        [
            label,
            *(f"{comparison.metrics[label][name]:.4f}{marks.get((label, name), '')}" for name in metrics),
            *(f"{comparison.latency_ms[label][name]:.0f}" for name in ("p50", "p95")),
        ]
        for label in comparison.labels
    ]
    asked = pluralize(comparison.data.asked, "question")
    title = f"{comparison.data.name}, {asked}; against: {comparison.baseline}"
    console.print_table(["configuration", *map(_short, metrics), "p50 ms", "p95 ms"], rows, title=title)
    for metric in metrics:
        _print_tests(metric, comparison)
    console.say("+ better, - worse, with p < 0.05 by the paired randomisation test, corrected by Holm")
    for label, parts in comparison.degraded.items():
        for part, count in parts.items():
            console.say(escape(f"note: {label}: {count} answers were degraded ({part})"))
    for label, refused in comparison.refused.items():
        if refused:
            _print_refused(f"{label}: ", comparison.data.asked, refused)


def _print_tests(metric: str, comparison: Comparison) -> None:
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
    columns = [metric, "difference", "95 % interval", "w/t/l", "p (Holm)"]
    console.print_table(columns, rows)


def _mark(test: PairedTest) -> str:
    if not test.significant:
        return ""
    return " +" if test.difference > 0 else " -"


def _short(metric: str) -> str:
    """A measure's name on two lines, so that a table of several fits."""
    return metric.replace("_", "\n", 1) if "_" in metric else metric

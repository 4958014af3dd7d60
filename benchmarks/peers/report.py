"""What is told: one JSON object with everything, a table, and whether kg's aims are met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.peers.contestants import FLOOR, OWN
from benchmarks.peers.job import Measured, Report
from benchmarks.peers.quality import METRIC

HTTP_MS = 1.0
SHARES = {"new": 1.1, "again": 2.0, "vector given": 0.6}
"""Times the fastest of the others. They run inside the asking process, and kg answers over HTTP."""
WIDTH = 200


def as_json(reports: Mapping[str, Report]) -> dict[str, Any]:
    """All that was measured but the passages found."""
    told = {name: asdict(report) for name, report in reports.items()}
    for report in told.values():
        for corpus in report["corpora"].values():
            del corpus["answers"]
    return told


def aims(reports: Mapping[str, Report], found: Mapping[str, Any], clients: int) -> dict[str, Any]:
    """What kg reached of what it wants; nothing when it or all others were not measured."""
    timed = {name: next(iter(report.corpora.values())) for name, report in reports.items()}
    own = timed.pop(OWN, None)
    timed.pop(FLOOR, None)
    if own is None or not timed:
        return {}
    others = list(timed.values())
    fastest = min(each.search["new, 1 client"].p50_ms for each in others)
    one = own.search["new, 1 client"].p50_ms
    rows = {
        "taking in, share of the bare embedder": (own.share_of_bare, 0.95, own.share_of_bare >= 0.95),
        "new, 1 client, p50 ms": (one, round(fastest + HTTP_MS, 2), one <= fastest + HTTP_MS),
        **dict(_together(way, own, others, clients) for way in SHARES),
        **{f"{METRIC} {name}": _above(scores) for name, scores in found.items()},
    }
    return {name: {"kg": got, "aim": aim, "met": met} for name, (got, aim, met) in rows.items()}


def _together(
    way: str, own: Measured, others: list[Measured], clients: int
) -> tuple[str, tuple[float, float, bool]]:
    name = f"{way}, {clients} clients"
    fastest, got = max(each.search[name].a_second for each in others), own.search[name].a_second
    aim = round(fastest * SHARES[way], 1)
    return f"{name}, a second", (got, aim, got >= aim)


def _above(scores: Mapping[str, Any]) -> tuple[float, float, bool]:
    """By the mean alone; whether chance explains it stands beside the scores."""
    got = max(each[METRIC] for label, each in scores.items() if label.startswith(f"{OWN},"))
    best = max(
        each[METRIC] for label, each in scores.items() if not label.startswith((f"{OWN},", f"{FLOOR},"))
    )
    return got, best, got > best


def show(reports: Mapping[str, Report], found: Mapping[str, Any]) -> None:
    """A table on stderr, a column for each contestant."""
    table = Table("", *reports)
    rows = {name: _rows(report) for name, report in reports.items()}
    for label in dict.fromkeys(label for each in rows.values() for label in each):
        table.add_row(label, *(each.get(label, "") for each in rows.values()))
    for name, scores in found.items():
        table.add_row(f"{METRIC} {name}", *(_scores(contestant, scores) for contestant in reports))
    Console(stderr=True, width=WIDTH).print(table)


def _rows(report: Report) -> dict[str, str]:
    told: dict[str, str] = {}
    for name, corpus in report.corpora.items():
        rate = corpus.passages / corpus.taking_in_seconds
        told[f"taking in {name}, a second"] = f"{rate:.1f} ({corpus.share_of_bare} of bare)"
        for way, phase in corpus.search.items():
            told[f"{way}: p50 / p95 ms"] = f"{phase.p50_ms} / {phase.p95_ms}"
            told[f"{way}: a second"] = str(phase.a_second) + (f", {phase.errors}" if phase.errors else "")
            told[f"{way}: CPU ms a search"] = _by_role(phase.cpu_ms)
        told[f"memory MiB after {name}"] = _by_role(corpus.memory_mb)
    return told


def _by_role(values: Mapping[str, float]) -> str:
    return ", ".join(f"{role} {value}" for role, value in values.items())


def _scores(contestant: str, scores: Mapping[str, Any]) -> str:
    own = {label: each for label, each in scores.items() if label.startswith(f"{contestant},")}
    return "; ".join(f"{label.partition(', ')[2]} {each[METRIC]}" for label, each in own.items())

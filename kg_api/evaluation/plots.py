"""Plots of results by matplotlib, without a display."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kg_api.evaluation.scores import families, missing, ranks
from kg_api.schemas.evaluation import Comparison, EvalResult

try:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError as error:
    raise missing(error) from None


def plot_result(result: EvalResult, path: Path) -> None:
    """Plot the metrics by rank with intervals, and the latencies, as PNG."""
    figure, (by_rank, times) = _figure(2, f"{result.data.name}: {result.label}")
    for name in families(result.metrics):
        cutoffs = ranks(result.metrics, name)
        values = [result.metrics[f"{name}@{k}"] for k in cutoffs]
        intervals = [result.intervals[f"{name}@{k}"] for k in cutoffs]
        (line,) = by_rank.plot(cutoffs, values, "o-", label=name)
        low, high = zip(*intervals, strict=True)
        by_rank.fill_between(cutoffs, low, high, alpha=0.15, color=line.get_color())
    by_rank.set(xlabel="rank k", ylabel="mean, 95 % interval", ylim=(0, 1.02))
    by_rank.legend()
    spent = np.sort(np.asarray(list(result.query_ms.values())))
    times.step(spent, np.arange(1, len(spent) + 1) / len(spent), where="post")
    times.set(xlabel="milliseconds of a request", ylabel="share of the questions", ylim=(0, 1.02))
    times.set_xlim(left=0)
    figure.savefig(path, dpi=120, format="png")


def plot_comparison(comparison: Comparison, path: Path) -> None:
    """Plot the compared metrics and latencies of each configuration as PNG."""
    metrics = list(dict.fromkeys(test.metric for test in comparison.tests))
    figure, panels = _figure(len(metrics) + 1, f"{comparison.data.name}, against {comparison.baseline}")
    places = np.arange(len(comparison.labels))
    for panel, metric in zip(panels, metrics, strict=False):
        values = np.asarray([comparison.metrics[label][metric] for label in comparison.labels])
        bounds = np.asarray([comparison.intervals[label][metric] for label in comparison.labels])
        errors = np.maximum(np.stack([values - bounds[:, 0], bounds[:, 1] - values]), 0)
        significant = {test.label for test in comparison.tests if test.metric == metric and test.significant}
        colours = ["C1" if label in significant else "C0" for label in comparison.labels]
        panel.barh(places, values, xerr=errors, color=colours, error_kw={"elinewidth": 1})
        panel.set(title=metric, ylim=(len(places) - 0.5, -0.5), yticks=places, yticklabels=[])
    last = panels[-1]
    for name in ("p50", "p95"):
        last.plot(
            [comparison.latency_ms[label][name] for label in comparison.labels], places, "o", label=name
        )
    last.set(xlabel="milliseconds", ylim=(len(places) - 0.5, -0.5), yticks=places, yticklabels=[])
    last.set_xlim(left=0)
    last.legend()
    panels[0].set_yticks(places, labels=comparison.labels)
    figure.savefig(path, dpi=120, format="png")


def _figure(columns: int, title: str) -> tuple[Any, Any]:
    figure = Figure(figsize=(4.2 * columns, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=10)
    return figure, figure.subplots(1, columns)

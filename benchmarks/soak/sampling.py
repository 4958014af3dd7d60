"""Memory, handles, threads and connections of the processes, over time, and the lines through them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import psutil

from benchmarks.storm.faults import Background

SAMPLE_SECONDS = 5.0
MEASURES: Final = ("memory_mb", "handles", "threads", "connections")
TWO_SIDED_95 = 1.96
"""Standard errors, of very many samples."""


@dataclass
class Series:
    """What one role has had, sample by sample."""

    seconds: list[float] = field(default_factory=list[float])
    values: dict[str, list[float]] = field(default_factory=lambda: {str(name): [] for name in MEASURES})


class Sampler(Background):
    """Looks at the processes of each role, with those that they started."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        super().__init__()
        self.series = {role: Series() for role in pids}
        self._processes = {role: psutil.Process(pid) for role, pid in pids.items()}
        self._begun = time.monotonic()

    def step(self) -> float:
        """Look once."""
        others = {process.pid for process in self._processes.values()}
        for role, process in self._processes.items():
            children = [each for each in process.children(recursive=True) if each.pid not in others]
            self._note(role, [process, *children])
        return SAMPLE_SECONDS

    def _note(self, role: str, processes: Sequence[psutil.Process]) -> None:
        found: dict[str, float] = dict.fromkeys(MEASURES, 0.0)
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                for name, value in _measured(process).items():
                    found[name] += value
        self.series[role].seconds.append(time.monotonic() - self._begun)
        for name, value in found.items():
            self.series[role].values[name].append(value)


def _measured(process: psutil.Process) -> dict[str, float]:
    with process.oneshot():
        return {
            "memory_mb": process.memory_info().rss / 2**20,
            "handles": process.num_fds(),
            "threads": process.num_threads(),
            "connections": len(process.net_connections("tcp")),
        }


def slopes(series: Series, after: float) -> dict[str, dict[str, float]]:
    """What each measure grows by in an hour, by least squares, with its interval of 95 %.

    Args:
        series: of one role.
        after: seconds of warming up that are left out.
    """
    seconds = np.array(series.seconds)
    kept = seconds >= after
    return {name: _slope(seconds[kept], np.array(values)[kept]) for name, values in series.values.items()}


def _slope(seconds: np.ndarray, values: np.ndarray) -> dict[str, float]:
    """By `numpy.polyfit`. Samples follow one another, so that the true interval is wider."""
    line, covariance = np.polyfit(seconds / 3600, values, 1, cov=True)
    margin = TWO_SIDED_95 * float(covariance[0][0]) ** 0.5
    quarter = max(len(values) // 4, 1)
    return {
        "an_hour": round(float(line[0]), 2),
        "plus_minus": round(margin, 2),
        "first_quarter": round(float(values[:quarter].mean()), 1),
        "last_quarter": round(float(values[-quarter:].mean()), 1),
        "most": round(float(values.max()), 1),
    }

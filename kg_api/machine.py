"""Cores and memory of this process, and defaults that depend on them."""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

MAX_PROCESSES = 12  # largest number in the benchmarks
USUAL_PROCESSES = 4
"""Maximum number of processes that the memory does not limit."""
PROCESS_BYTES = 350 * 1024**2
"""Memory of one service process with the packaged model (ADR 46)."""
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def count_cores() -> int:
    """Count available cores. A container can limit them."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    own = len(allowed(0)) if allowed else os.cpu_count() or 1
    return min([own, *(max(1, math.ceil(quota)) for quota in _read_quotas())])


def get_memory_bytes() -> int:
    """Return the available memory. A container can limit it."""
    return min([psutil.virtual_memory().total, *_read_memory_limits()])


def freeze_heap() -> None:
    """Let garbage collection skip the present objects, which live as long as the process (ADR 109).

    Later objects are collected every 10,000 instead of every 700: a search makes about as many, and most are
    gone when it ends.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


def choose_batch_size(cores: int) -> int:
    """Choose the default batch size. With 64, 32 cores are 25% idle (benchmarks/results/ingest.md)."""
    return max(64, 16 * cores)


def choose_process_count(cores: int, memory_bytes: int) -> int:
    """Return the default number of service processes.

    One process per core up to four, then three per 4 cores, because Neo4j also needs cores. All processes
    together use at most 1/16 of the memory, unless there are at most four (ADR 46).
    """
    room = memory_bytes // 16 // PROCESS_BYTES
    return min(cores, max(USUAL_PROCESSES, min(3 * cores // 4, room, MAX_PROCESSES)))


def _read_quotas() -> Iterator[float]:
    for group in _list_groups("cpu"):
        quota, _, period = _read_word(group / "cpu.max").partition(" ")
        quota = quota or _read_word(group / "cpu.cfs_quota_us")
        period = period or _read_word(group / "cpu.cfs_period_us")
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield int(quota) / int(period)


def _read_memory_limits() -> Iterator[int]:
    """Yield the memory limits of the control groups. An unlimited group has a word or a very large number."""
    for group in _list_groups("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            if (value := _read_word(group / name)).isdecimal():
                yield int(value)


def _list_groups(controller: str) -> Iterator[Path]:
    """Yield the control groups of this process and their parents, for Linux cgroups v1 and v2."""
    for line in _read_word(_OWN_GROUPS).splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" or controller in controllers.split(","):
            own = PurePosixPath(path.strip("/"))
            yield from (_CONTROL_GROUPS / controllers / each for each in (own, *own.parents))


def _read_word(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""

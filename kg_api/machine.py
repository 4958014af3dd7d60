"""What of the machine this process may use, and how much runs there by default."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

MAX_PROCESSES = 12
"""More were not measured."""
USUAL_PROCESSES = 4
"""So many whatever the memory, where there are so many cores."""
PROCESS_BYTES = 350 * 1024**2
"""What a process of the service takes with the packaged model (ADR 46)."""
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def cores() -> int:
    """The cores that this process may use; a container can give it fewer than the machine has."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    own = len(allowed(0)) if allowed else os.cpu_count() or 1
    return min([own, *(max(1, math.ceil(quota)) for quota in _quotas())])


def memory_bytes() -> int:
    """The memory that this process may use; a container can give it less than the machine has."""
    return min([psutil.virtual_memory().total, *_memory_limits()])


def batch_for(cores: int) -> int:
    """Return sources a batch: with 64, 32 cores wait a quarter of the time (benchmarks/results/ingest.md)."""
    return max(64, 16 * cores)


def service_processes(cores: int, memory_bytes: int) -> int:
    """Processes of the service: one a core up to four, then three of four cores, for Neo4j needs some, too.

    Those beyond four take no more than a sixteenth of the memory together with the others (ADR 46).
    """
    room = memory_bytes // 16 // PROCESS_BYTES
    return min(cores, max(USUAL_PROCESSES, min(3 * cores // 4, room, MAX_PROCESSES)))


def _quotas() -> Iterator[float]:
    for group in _groups("cpu"):
        quota, _, period = _said(group / "cpu.max").partition(" ")
        quota = quota or _said(group / "cpu.cfs_quota_us")
        period = period or _said(group / "cpu.cfs_period_us")
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield int(quota) / int(period)


def _memory_limits() -> Iterator[int]:
    """Bytes; where there is no limit, a word or more than there is."""
    for group in _groups("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            if (said := _said(group / name)).isdecimal():
                yield int(said)


def _groups(controller: str) -> Iterator[Path]:
    """The control groups that this process is in, of Linux's version 2 and 1: its own and those around it."""
    for line in _said(_OWN_GROUPS).splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" or controller in controllers.split(","):
            own = PurePosixPath(path.strip("/"))
            yield from (_CONTROL_GROUPS / controllers / each for each in (own, *own.parents))


def _said(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""

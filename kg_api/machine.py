"""What of the machine this process may use, and how much runs there by default."""

from __future__ import annotations

import os
from pathlib import Path

import psutil

MAX_PROCESSES = 12
"""More were not measured."""
USUAL_PROCESSES = 4
"""So many whatever the memory, where there are so many cores."""
PROCESS_BYTES = 350 * 1024**2
"""What a process of the service takes with the packaged model (adr/0046)."""
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def cores() -> int:
    """The cores that this process may use; a container can give it fewer than the machine has."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def memory_bytes() -> int:
    """The memory that this process may use; a container can give it less than the machine has."""
    limits = [limit for file in _LIMITS if (limit := _limit(Path(file)))]
    return min([psutil.virtual_memory().total, *limits])


def batch_for(cores: int) -> int:
    """Sources a batch for a model that runs here: 16 a core, so that few cores wait for the last of a batch.

    With 64 they waited a quarter of the time on 32 cores (simulated: docs/benchmarks.md).
    """
    return max(64, 16 * cores)


def service_processes(cores: int, memory_bytes: int) -> int:
    """Processes of the service: one a core up to four, then three of four cores, for Neo4j needs some, too.

    Those beyond four take no more than a sixteenth of the memory together with the others (adr/0084).
    """
    room = memory_bytes // 16 // PROCESS_BYTES
    return min(cores, max(USUAL_PROCESSES, min(3 * cores // 4, room, MAX_PROCESSES)))


def _limit(file: Path) -> int | None:
    """None: there is no limit, or no such file."""
    try:
        said = file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return int(said) if said.isdecimal() else None

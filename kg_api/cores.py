"""How many cores this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores that this process may use; a container can give it fewer than the machine has."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def batch_for(cores: int) -> int:
    """Sources a batch for a model that runs here: 16 a core, so that few cores wait for the last of a batch.

    With 64 they waited a quarter of the time on 32 cores (simulated: docs/benchmarks.md).
    """
    return max(64, 16 * cores)

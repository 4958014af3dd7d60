"""How many cores this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores that this process may use; a container can give it fewer than the machine has."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(allowed(0)) if allowed else os.cpu_count() or 1

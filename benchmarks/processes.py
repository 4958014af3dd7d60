"""Processor time and memory of processes, each with those that it started."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import psutil


class Watched:
    """Processes by role; what a role started itself counts with it, but no other role's process does."""

    def __init__(self, roles: Mapping[str, int]) -> None:
        self._roles = {role: psutil.Process(pid) for role, pid in roles.items()}

    def cpu_seconds(self) -> dict[str, float]:
        """So far, by role."""
        found = dict.fromkeys(self._roles, 0.0)
        for role, process in self._each():
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                found[role] += times.user + times.system
        return found

    def memory_mb(self) -> dict[str, int]:
        """At this moment, by role."""
        found = dict.fromkeys(self._roles, 0)
        for role, process in self._each():
            with suppress(psutil.NoSuchProcess):
                found[role] += process.memory_info().rss // 2**20
        return found

    def _each(self) -> list[tuple[str, psutil.Process]]:
        own = {process.pid for process in self._roles.values()}
        found = [(role, process) for role, process in self._roles.items()]
        for role, process in self._roles.items():
            found += [(role, child) for child in process.children(recursive=True) if child.pid not in own]
        return found

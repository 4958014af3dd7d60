"""Several clients that search a running kg at once."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from functools import partial
from itertools import repeat
from typing import Any

from benchmarks.peers.asking import ask
from benchmarks.processes import Watched
from benchmarks.stack import Stack

SEED = 5


def crowd(running: Stack, searches: Sequence[dict[str, Any]], clients: int, seconds: float) -> dict[str, Any]:
    """Let clients, each with a connection of its own, search for so long; how fast, and whose CPU it took.

    Args:
        running: what is asked.
        searches: parameters of `search_sources`, of which each takes one by chance, again and again.
        clients: how many at once.
        seconds: for how long.
    """
    own, dice = threading.local(), random.Random(SEED)

    def search(given: dict[str, Any]) -> None:
        if not hasattr(own, "client"):
            own.client = running.client()
        own.client.search_sources(**given)

    pids = running.pids()
    watched = Watched({role: pids[role] for role in ("api", "neo4j")})
    phase = ask((partial(search, dice.choice(searches)) for _ in repeat(None)), clients, seconds, watched)
    return {
        "clients": clients,
        "searches a second": phase.a_second,
        "p50": phase.p50_ms,
        "p95": phase.p95_ms,
        "errors": sum(phase.errors.values()),
        "CPU ms a search": phase.cpu_ms,
    }

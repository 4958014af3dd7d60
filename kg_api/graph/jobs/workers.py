"""The workers that are there: each gives a sign of life every few seconds."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.graph.database import Graph

ALIVE_SECONDS = 20.0
"""A worker that was not seen for so long counts as gone."""


def sign_of_life(graph: Graph, name: str, *, host: str, pid: int, notes: Sequence[str] = ()) -> None:
    """Say that a worker is there."""
    graph.write("workers/seen", name=name, host=host, pid=pid, notes=list(notes))


def forget_worker(graph: Graph, name: str) -> None:
    graph.write("workers/forget", name=name)


def forget_lost_workers(graph: Graph) -> int:
    """Forget those that gave no sign for an hour; how many."""
    return graph.write("workers/forget_lost")[0]["forgotten"]


def unknown_kinds(graph: Graph, kinds: Sequence[str]) -> dict[str, int]:
    """How many jobs wait, by kind, that are of none of these kinds."""
    rows = graph.read("jobs/unknown_kinds", kinds=list(kinds))
    return {row["kind"]: row["waiting"] for row in rows}

"""Which blobs are used, by whom, and which may go.

A blob is loose from its first hold on until it is seen to be used, and again when a user of it goes: what is
not loose needs no looking at. Whoever uses, holds or frees a blob writes to its node, and so does who
collects it, before anything is looked at: they take turns, and none sees half of what another does.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence

from kg_api.graph.database import Graph, Transaction

HOLD_SECONDS = 3600
"""A document is stored long before; a hold that nobody released is of a process that died."""
LOOKED_AT_ONCE = 500


def hold_blobs(graph: Graph, keys: Sequence[str], seconds: float = HOLD_SECONDS) -> str:
    """Keep blobs that are about to be written; gives the hold, which storing their document releases."""
    hold_id = uuid.uuid4().hex
    graph.write("blobs/hold", hold_id=hold_id, keys=sorted(set(keys)), seconds=seconds)
    return hold_id


def release_holds(tx: Transaction, hold_ids: Sequence[str]) -> None:
    """Within the transaction after which the blobs are used, or never will be."""
    if hold_ids:
        tx.run("blobs/release", hold_ids=list(hold_ids))


def collect_blobs(graph: Graph, delete: Callable[[str], None]) -> int:
    """Delete the blobs that nothing uses or is about to use.

    Args:
        graph: who uses which.
        delete: deletes the file of a key; it may be called again for one that has gone.

    Returns:
        How many were deleted.
    """
    while graph.write("blobs/forget_holds")[0]["forgotten"]:
        pass
    return sum(_collect(graph, key, delete) for key in _loose(graph))


def _loose(graph: Graph) -> Iterator[str]:
    after = ""
    while keys := [row["key"] for row in graph.read("blobs/loose", after=after, limit=LOOKED_AT_ONCE)]:
        yield from keys
        after = keys[-1]


def _collect(graph: Graph, key: str, delete: Callable[[str], None]) -> bool:
    """The file goes while its node is locked: who holds it next waits, and writes the file again."""

    def look(tx: Transaction) -> bool:
        rows = tx.run("blobs/look_at", key=key)
        if not rows or rows[0]["held"] or rows[0]["waits"]:
            return False
        if rows[0]["used"]:
            tx.run("blobs/settle", key=key)
            return False
        delete(key)
        tx.run("blobs/delete", key=key)
        return True

    return graph.transaction(look)

"""Which blobs are used, by whom, and which may go.

A blob is loose from its first hold on until it is seen to be used, and again when a user of it goes: what is
not loose needs no looking at. Whoever uses, holds or frees a blob writes to its node, and so does who
collects it, before anything is looked at: they take turns, and none sees half of what another does.

A blob that nothing uses goes before its file does. What is left of it, a `:DeadBlob`, names the file, and
goes after it: so a file is deleted in the end, whoever dies meanwhile, and never while somebody may use it.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import NamedTuple

from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.spaces.registry import all_spaces

HOLD_SECONDS = 3600
"""A document is stored long before; a hold that nobody released is of a process that died."""
LOOKED_AT_ONCE = 500
"""By one transaction."""


class Blob(NamedTuple):
    """Bytes that are kept."""

    key: str
    """Their hash."""
    generation: str | None
    """Which of all that ever were of this key; None: it is of before there were generations."""


class HeldBlob(NamedTuple):
    """One that is kept, and about to be written."""

    blob: Blob
    used: bool
    """Whether something uses it already: then its file should be there."""


class SampledBlob(NamedTuple):
    """One of some."""

    blob: Blob
    dead: bool
    """Whether it has gone, and its file is there or not."""


class Hold(NamedTuple):
    """What keeps blobs until a document that uses them is stored."""

    hold_id: str
    blobs: list[HeldBlob]


def hold_blobs(graph: Graph, keys: Sequence[str], seconds: float = HOLD_SECONDS) -> Hold:
    """Keep blobs that are about to be written; storing their document releases the hold."""
    hold_id = uuid.uuid4().hex
    rows = graph.write("blobs/hold", hold_id=hold_id, keys=sorted(set(keys)), seconds=seconds)
    return Hold(hold_id, [HeldBlob(_blob(row), row["used"]) for row in rows])


def release_holds(tx: Transaction, hold_ids: Sequence[str]) -> None:
    """Within the transaction after which the blobs are used, or never will be."""
    if hold_ids:
        tx.run("blobs/release", hold_ids=list(hold_ids))


def forget_holds(graph: Graph) -> None:
    """Forget what processes that died hold."""
    while graph.write("blobs/forget_holds")[0]["forgotten"]:
        pass


def find_blob(graph: Graph, key: str) -> Blob | None:
    """The blob of a key, if it is known."""
    return next(iter(_blobs(graph.read("blobs/find", key=key))), None)


def some_blobs(graph: Graph, limit: int) -> list[SampledBlob]:
    """Some of those there are, and some of those that have gone; so many of each."""
    rows = graph.read("blobs/some", limit=limit)
    return [SampledBlob(_blob(row), row["dead"]) for row in rows]


def known_store(graph: Graph) -> str | None:
    """The store that has their files; None: nobody has used one yet, or kg did not remember it then."""
    return next((row["store_id"] for row in graph.read("blobs/store")), None)


def remember_store(graph: Graph, identity: str) -> str:
    """Let that store have their files, unless there is one; gives the one there is."""
    return graph.write("blobs/know_store", store_id=identity)[0]["store_id"]


def lose_blob(graph: Graph, key: str) -> None:
    """Say that the file of a blob is missing or damaged."""
    graph.write("blobs/lose", key=key)


def lost_blobs(graph: Graph, keys: Sequence[str]) -> set[str]:
    """Those of some whose files were seen to be missing or damaged."""
    return {row["key"] for row in graph.read("blobs/lost", keys=sorted(keys))}


def mend_blobs(graph: Graph, keys: Sequence[str]) -> int:
    """Say that files are whole again; pictures that were set aside are due now, how many."""
    spaces = [at for each in all_spaces(graph).values() if each.is_of_images for at in each.slots]
    marks = [{"mark_property": s.mark_property, "refusal_property": s.refusal_property} for s in spaces]
    return graph.write("blobs/mend", keys=sorted(keys), spaces=marks)[0]["due"]


def loose_blobs(graph: Graph, after: str = "", limit: int = LOOKED_AT_ONCE) -> list[str]:
    """The keys of the next blobs that may be unused, in their order."""
    return [row["key"] for row in graph.read("blobs/loose", after=after, limit=limit)]


def bury_unused(graph: Graph, keys: Sequence[str]) -> None:
    """Let those of some blobs go that nothing uses or is about to use; their files are to be deleted then."""

    def look(tx: Transaction) -> None:
        rows = tx.run("blobs/look_at", keys=sorted(keys))
        tx.run("blobs/settle", keys=[row["key"] for row in rows if row["used"]])
        tx.run("blobs/bury", keys=[row["key"] for row in rows if not (row["used"] or row["wanted"])])

    graph.transaction(look)


def dead_blobs(graph: Graph, limit: int = LOOKED_AT_ONCE) -> list[Blob]:
    """Some that have gone, and whose files are to be deleted."""
    return _blobs(graph.read("blobs/dead", limit=limit))


def forget_dead(graph: Graph, blobs: Sequence[Blob]) -> int:
    """Forget blobs whose files were deleted; how many nobody else forgot."""
    dead = [each.key + (each.generation or "") for each in blobs]
    return graph.write("blobs/delete_dead", dead=dead)[0]["deleted"]


def _blobs(rows: Sequence[Row]) -> list[Blob]:
    return [_blob(row) for row in rows]


def _blob(row: Row) -> Blob:
    return Blob(row["key"], row["generation"])

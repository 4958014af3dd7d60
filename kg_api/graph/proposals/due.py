"""What is to be looked at for links: sources and concepts that were embedded or read since.

They have a second label, `Unlinked`, which whoever embeds or reads them gives and whoever looks takes away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.graph.database import Graph, Reader, Transaction
from kg_api.graph.spaces.registry import Space
from kg_api.models.vocabulary import ProposalKind

PORTION: Final = 5000
"""Nodes that are flagged in one transaction."""
FlaggedTo = tuple[str, int]
"""The last that was flagged: of sources document and paragraph, of concepts the id and 0."""


@dataclass(frozen=True, slots=True)
class DueNode:
    """A source or a concept that is to be looked at."""

    id: str
    text_hash: str
    at: str | None
    """The time of its vector; none: it has none, and is passed by."""


def count_due(graph: Reader, ontology: str) -> int:
    """How many sources and concepts of an ontology are to be looked at."""
    return graph.read("proposals/count_due", ontology=ontology)[0]["due"]


def read_due(graph: Graph, kind: ProposalKind, ontology: str, space: Space, limit: int) -> list[DueNode]:
    """Some that are to be looked at, in no order."""
    given = {"ontology": ontology, "time_property": time_property(kind, space), "limit": limit}
    if kind == "source":
        rows = graph.read("proposals/due_sources", **given)
    else:
        rows = graph.read("proposals/due_concepts", **given)
    return [DueNode(**row) for row in rows]


def flag_portion(
    tx: Transaction, kind: ProposalKind, ontology: str, space: Space, after: FlaggedTo
) -> FlaggedTo | None:
    """Flag the next of an ontology that are not flagged; how far that is, none at the end."""
    given = {"ontology": ontology, "time_property": time_property(kind, space), "limit": PORTION}
    if kind == "source":
        rows = tx.run("proposals/flag_sources", **given, after=after[0], after_paragraph=after[1])
        return (rows[0]["after"], rows[0]["after_paragraph"]) if rows else None
    last = tx.run("proposals/flag_concepts", **given, after=after[0])[0]["after"]
    return (last, 0) if last else None


def note_seen(tx: Transaction, kind: ProposalKind, space: Space, nodes: Sequence[DueNode]) -> None:
    """Take the flags away, but of those that were embedded anew meanwhile. They are locked."""
    rows = [{"id": each.id, "at": each.at} for each in nodes]
    given = {"rows": rows, "time_property": time_property(kind, space)}
    if kind == "source":
        tx.run("proposals/seen_sources", **given)
    else:
        tx.run("proposals/seen_concepts", **given)


def time_property(kind: ProposalKind, space: Space) -> str:
    """The property that says when one was embedded; of concepts both slots have the same."""
    return (space if kind == "source" else space.at("")).time_property

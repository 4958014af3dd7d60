"""Following edges of the graph from some nodes, a bounded number of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.graph.database import Graph, Row
from kg_api.models.vocabulary import EdgeDirection, NodeKind

SCANNED: Final = 10_000
"""Edges of one node that are looked at in one hop, and sources of documents that lead to it."""
SCANNED_IN_ALL: Final = 50_000
"""And of all nodes of a hop together."""
MAX_QUOTES: Final = 3
OUTGOING: Final[dict[EdgeDirection, list[bool]]] = {"out": [True], "in": [False], "both": [True, False]}


@dataclass(frozen=True, slots=True)
class Following:
    direction: EdgeDirection
    fan_out: int
    """At most so many from one node."""
    types: Sequence[str] | None = None
    """Keys of types; None: all."""
    document_ids: Sequence[str] | None = None
    """What these state or hold only; None: all."""

    @property
    def outgoing(self) -> list[bool]:
        """As statements take the direction."""
        return OUTGOING[self.direction]

    @property
    def documents(self) -> list[str] | None:
        return None if self.document_ids is None else list(self.document_ids)


@dataclass(frozen=True, slots=True)
class NeighbouringNode:
    """A node at the other end of an edge."""

    id: str
    kind: NodeKind
    ontology: str
    outgoing: bool
    """Whether the edge goes to it."""
    document_id: str | None = None
    """Of a source."""
    type: str = ""
    type_key: str = ""
    support: int = 1
    """How many sources state the edge."""
    relation_ids: tuple[str, ...] = ()
    """Of the surest that state it."""
    verified: bool = True


@dataclass(frozen=True, slots=True)
class NeighbouringNodes:
    """What is around one node, the best first."""

    found: Sequence[NeighbouringNode]
    left_out: int
    """So many more there are."""
    hub: bool = False
    """It has so many edges, or its documents so many sources, that not all were looked at."""


Follow = Callable[[Graph, Sequence[str], Following], dict[str, NeighbouringNodes]]


def related(graph: Graph, ids: Sequence[str], how: Following) -> dict[str, NeighbouringNodes]:
    """From concepts to those they are stated to be related to."""
    given = {
        "outgoing": how.outgoing,
        "types": None if how.types is None else list(how.types),
        "document_ids": how.documents,
        "fan_out": how.fan_out,
        "most_quotes": MAX_QUOTES,
    }
    found = _neighbours(graph.read("constructive/related", ids=list(ids), scanned=_share(ids), **given))
    hubs = _left_to_documents(found, how)
    if not hubs:
        return found
    rows = graph.read("constructive/from_documents/related", ids=hubs, scanned=SCANNED, **given)
    return found | _from_documents(hubs, rows)


def sources_of_concepts(graph: Graph, ids: Sequence[str], how: Following) -> dict[str, NeighbouringNodes]:
    """From concepts to the sources that carry them."""
    given = {"document_ids": how.documents, "fan_out": how.fan_out}
    rows = graph.read("constructive/sources_of_concepts", ids=list(ids), scanned=_share(ids), **given)
    found = _neighbours(rows)
    hubs = _left_to_documents(found, how)
    if not hubs:
        return found
    rows = graph.read("constructive/from_documents/sources_of_concepts", ids=hubs, scanned=SCANNED, **given)
    return found | _from_documents(hubs, rows)


def concepts_of_sources(graph: Graph, ids: Sequence[str], how: Following) -> dict[str, NeighbouringNodes]:
    """From sources to the concepts that they carry."""
    rows = graph.read("constructive/concepts_of_sources", ids=list(ids), fan_out=how.fan_out)
    return _neighbours(rows)


def beside(graph: Graph, ids: Sequence[str], how: Following) -> dict[str, NeighbouringNodes]:
    """From sources to those directly before and behind them."""
    rows = graph.read("constructive/next_to", ids=list(ids), outgoing=how.outgoing, fan_out=how.fan_out)
    return _neighbours(rows)


def sources_of_documents(graph: Graph, ids: Sequence[str], how: Following) -> dict[str, NeighbouringNodes]:
    """From documents to their first sources."""
    return _neighbours(graph.read("constructive/sources_of_documents", ids=list(ids), fan_out=how.fan_out))


def documents_of_sources(graph: Graph, ids: Sequence[str], _: Following) -> dict[str, NeighbouringNodes]:
    """From sources to the document of each."""
    return _neighbours(graph.read("constructive/documents_of_sources", ids=list(ids)))


def _left_to_documents(found: Mapping[str, NeighbouringNodes], how: Following) -> list[str]:
    """Nodes with so many edges that those which some documents state are looked for from these."""
    return [] if how.document_ids is None else [each for each, around in found.items() if around.hub]


def _from_documents(hubs: Sequence[str], rows: Sequence[Row]) -> dict[str, NeighbouringNodes]:
    (row,) = rows
    missed = {each: NeighbouringNodes([], 0, hub=not row["whole"]) for each in hubs}
    return missed | _neighbours([each | {"hub": not row["whole"]} for each in row["found"]])


def _share(ids: Sequence[str]) -> int:
    return max(1, min(SCANNED, SCANNED_IN_ALL // max(1, len(ids))))


def _neighbours(rows: Sequence[Row]) -> dict[str, NeighbouringNodes]:
    return {
        row["of"]: NeighbouringNodes(
            [_neighbour(each) for each in row["found"]],
            max(0, row["number"] - len(row["found"])),
            hub=row["hub"],
        )
        for row in rows
    }


def _neighbour(found: Row) -> NeighbouringNode:
    told: Row = {**found, "relation_ids": tuple(found.get("relation_ids", ()))}
    return NeighbouringNode(**told)

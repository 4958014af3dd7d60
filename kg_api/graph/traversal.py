"""Bounded traversals of edges from given nodes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from kg_api.graph.client import Graph, drop_deleted_rows
from kg_api.schemas.constructive import DocumentFacts, EdgeQuote
from kg_api.schemas.search import DescribedPlace
from kg_api.schemas.vocabulary import EdgeDirection, EdgeKind, NodeKind

SCANNED: Final = 10_000  # edges to scan per node and hop
SCANNED_IN_ALL: Final = 50_000  # edges to scan per hop
SCANNED_FOR_DOCUMENTS: Final = 500_000
"""Edges to scan per hop with a document filter, which applies to the edges."""
MAX_QUOTES: Final = 3
OUTGOING: Final[dict[EdgeDirection, list[bool]]] = {"out": [True], "in": [False], "both": [True, False]}


@dataclass(frozen=True, slots=True)
class Following:
    direction: EdgeDirection
    fan_out: int
    types: list[str] | None = None  # keys of types (None: all)
    document_ids: list[str] | None = None
    """Documents that must state the edges and contain the nodes (None: all)."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    id: str
    kind: NodeKind
    ontology: str
    outgoing: bool
    document_id: str | None = None
    type: str = ""
    type_key: str = ""
    support: int = 1
    relation_ids: Sequence[str] = ()
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Neighbours:
    found: Sequence[Neighbour]
    left_out: int
    hub: bool  # whether the node has too many edges to scan


def follow(
    graph: Graph,
    kind: EdgeKind,
    start: Literal["concept", "source", "document"],
    ids: list[str],
    how: Following,
) -> dict[str, Neighbours]:
    """Return by node id the neighbours of nodes of one kind along edges of one kind."""
    few: dict[str, Any] = {"ids": ids, "fan_out": how.fan_out}
    in_all = SCANNED_IN_ALL if how.document_ids is None else SCANNED_FOR_DOCUMENTS
    many = {**few, "document_ids": how.document_ids, "scanned": _share(ids, in_all)}
    outgoing = OUTGOING[how.direction]
    match kind, start:
        case "related_to", _:
            related = {"outgoing": outgoing, "types": how.types, "most_quotes": MAX_QUOTES}
            rows = graph.search("constructive/related", **many, **related)
        case "appears_in", "concept":
            rows = graph.search("constructive/sources_of_concepts", **many)
        case "appears_in", _:
            rows = graph.search("constructive/concepts_of_sources", **few)
        case "part_of", "document":
            rows = graph.search("constructive/sources_of_documents", **few)
        case "part_of", _:
            rows = graph.search("constructive/documents_of_sources", ids=ids)
        case "next_to", _:
            rows = graph.search("constructive/next_to", **few, outgoing=outgoing)
    return {
        row["of"]: Neighbours(
            [Neighbour(**each) for each in row["found"]],
            max(0, row["number"] - len(row["found"])),
            row["hub"],
        )
        for row in rows
    }


def _share(items: Sequence[object], in_all: int) -> int:
    return max(1, min(SCANNED, in_all // max(1, len(items))))


# Evidence of a subgraph's edges

Triple = tuple[str, str, str]  # subject, key of the type, and object of a relationship in any source
Stated = tuple[int, Sequence[str]]
"""Number of sources that state a relationship, and ids of the statements with the highest confidence."""


def filter_stated_relationships(
    graph: Graph, edges: Sequence[Triple], document_ids: Sequence[str]
) -> tuple[dict[Triple, Stated], int]:
    """Return the relationships that some documents state, and the number of incompletely scanned ones."""
    rows = graph.search(
        "constructive/stated_within",
        document_ids=list(document_ids),
        most_quotes=MAX_QUOTES,
        edges=[
            {"number": at, "subject": subject, "type_key": key, "object": target}
            for at, (subject, key, target) in enumerate(edges)
        ],
        scanned=_share(edges, SCANNED_FOR_DOCUMENTS),
    )
    found: dict[Triple, Stated] = {
        edges[row["number"]]: (row["support"], row["relation_ids"]) for row in rows if not row["hub"]
    }
    return found, sum(row["hub"] for row in rows)


def filter_appearing_concepts(
    graph: Graph, concept_ids: Sequence[str], document_ids: Sequence[str]
) -> tuple[set[str], int]:
    """Return the concepts that appear in some documents, and the number of incompletely scanned ones."""
    rows = graph.search(
        "constructive/within",
        ids=list(concept_ids),
        scanned=_share(concept_ids, SCANNED_FOR_DOCUMENTS),
        document_ids=list(document_ids),
    )
    found: set[str] = {row["concept_id"] for row in rows if row["appears"]}
    return found, len(rows) - len(found)


def read_edge_statements(graph: Graph, relation_ids: Iterable[str]) -> dict[str, EdgeQuote]:
    """Return statements of relationships by id. Deleted ones are missing."""
    rows = graph.search("constructive/statements", ids=list(dict.fromkeys(relation_ids)))
    found = dict[str, EdgeQuote]()
    for row in drop_deleted_rows(rows, ("source_start", "quote", "ontology", "document", "paragraph")):
        # The position of a quote is relative to its source, so it stays valid when the source moves.
        start = row["source_start"]
        place = {} if row["start"] is None else {"start": start + row["start"], "end": start + row["end"]}
        kept = ("quote", "statement", "source_id", "ontology", "document", "paragraph")
        found[row["relation_id"]] = EdgeQuote.model_validate({name: row[name] for name in kept} | place)
    return found


def read_quotes(
    graph: Graph, sources: Mapping[str, DescribedPlace]
) -> dict[tuple[str, str], list[EdgeQuote]]:
    """Return by concept and source up to three quotes of the concept, in reading order."""
    found = dict[tuple[str, str], list[EdgeQuote]]()
    rows = graph.read("concepts/present_quotes", source_ids=list(sources))
    for row in sorted(rows, key=lambda row: (row["start"], row["instance_id"])):
        quotes = found.setdefault((row["concept_id"], row["source_id"]), [])
        place = sources[row["source_id"]]
        if len(quotes) < MAX_QUOTES:
            quotes.append(
                EdgeQuote(
                    quote=row["quote"],
                    start=place.start + row["start"],
                    end=place.start + row["end"],
                    source_id=place.source_id,
                    ontology=place.ontology,
                    document=place.document,
                    paragraph=place.paragraph,
                )
            )
    return found


def read_documents_by_id(graph: Graph, document_ids: Iterable[str]) -> dict[str, DocumentFacts]:
    """Return documents by id. Deleted ones are missing."""
    rows = drop_deleted_rows(graph.read("documents/of_ids", document_ids=list(document_ids)), DocumentFacts)
    documents = ({**row, "metadata": json.loads(row["metadata"] or "{}")} for row in rows)
    return {row["document_id"]: DocumentFacts.model_validate(row) for row in documents}

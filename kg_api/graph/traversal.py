"""Following edges of the graph from some nodes, a bounded number of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from kg_api.graph.client import Graph, without_deleted
from kg_api.schemas.constructive import DocumentFacts, EdgeQuote
from kg_api.schemas.search import DescribedPlace
from kg_api.schemas.vocabulary import EdgeDirection, EdgeKind, NodeKind

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
    types: list[str] | None = None
    """Keys of types; None: all."""
    document_ids: list[str] | None = None
    """Only edges that these documents state, and nodes that they hold; None: all."""


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
    hub: bool = False
    """It has so many edges, or its documents so many sources, that not all were examined."""


def follow(
    graph: Graph,
    kind: EdgeKind,
    start: Literal["concept", "source", "document"],
    ids: list[str],
    how: Following,
) -> dict[str, Neighbours]:
    """Return by id the neighbours of nodes of one sort along edges of one kind."""
    documents = {"document_ids": how.document_ids, "fan_out": how.fan_out}
    related: dict[str, Any] = {
        **documents,
        "outgoing": OUTGOING[how.direction],
        "types": how.types,
        "most_quotes": MAX_QUOTES,
    }
    scanned = max(1, min(SCANNED, SCANNED_IN_ALL // max(1, len(ids))))
    match kind, start:
        case "related_to", _:
            rows = graph.search("constructive/related", ids=ids, scanned=scanned, **related)
        case "appears_in", "concept":
            rows = graph.search("constructive/sources_of_concepts", ids=ids, scanned=scanned, **documents)
        case "appears_in", _:
            rows = graph.search("constructive/concepts_of_sources", ids=ids, fan_out=how.fan_out)
        case "part_of", "document":
            rows = graph.search("constructive/sources_of_documents", ids=ids, fan_out=how.fan_out)
        case "part_of", _:
            rows = graph.search("constructive/documents_of_sources", ids=ids)
        case "next_to", _:
            outgoing = OUTGOING[how.direction]
            rows = graph.search("constructive/next_to", ids=ids, outgoing=outgoing, fan_out=how.fan_out)
    # From a node with too many edges those that some documents state are found from these documents.
    order = [row["of"] for row in rows]
    hubs = [row["of"] for row in rows if row["hub"]] if how.document_ids is not None else []
    whole = True
    if hubs and kind == "related_to":
        (row,) = graph.search("constructive/from_documents/related", ids=hubs, scanned=SCANNED, **related)
        rows, whole = [each for each in rows if not each["hub"]] + row["found"], row["whole"]
    elif hubs and start == "concept":
        (row,) = graph.search(
            "constructive/from_documents/sources_of_concepts", ids=hubs, scanned=SCANNED, **documents
        )
        rows, whole = [each for each in rows if not each["hub"]] + row["found"], row["whole"]
    found = {each: Neighbours([], 0, hub=not whole) for each in hubs}
    for row in rows:
        around = [Neighbour(**each) for each in row["found"]]
        hub = not whole if row["of"] in found else row["hub"]
        found[row["of"]] = Neighbours(around, max(0, row["number"] - len(around)), hub=hub)
    return {each: found[each] for each in order}


# The evidence for the edges of a subgraph, and the part of it in some documents.

LOOKED_AT: Final = 1_000
"""Sources of one concept, among which one of some documents is looked for at first."""
LOOKED_AT_IN_ALL: Final = 50_000
BETWEEN_IN_ALL: Final = 500_000
"""Relationships of the ends that have fewer, among which those between both are looked for."""

Triple = tuple[str, str, str]
"""Subject, key of the type, object: a relationship, whoever states it."""
Stated = tuple[int, Sequence[str]]
"""By how many sources a relationship is stated, and the ids of the surest statements."""


def stated_within(
    graph: Graph, edges: Sequence[Triple], document_ids: Sequence[str]
) -> tuple[dict[Triple, Stated], int]:
    """Return the relationships that sources of some documents state, and how many could not be examined."""
    given = {"document_ids": list(document_ids), "most_quotes": MAX_QUOTES}
    rows = graph.search(
        "constructive/stated_within",
        edges=[
            {"number": at, "subject": subject, "type_key": key, "object": target}
            for at, (subject, key, target) in enumerate(edges)
        ],
        scanned=max(1, min(SCANNED, BETWEEN_IN_ALL // max(1, len(edges)))),
        **given,
    )
    found: dict[Triple, Stated] = {
        edges[row["number"]]: (row["support"], row["relation_ids"]) for row in rows if not row["hub"]
    }
    hubs: list[Triple] = [edges[row["number"]] for row in rows if row["hub"]]
    if not hubs:
        return found, 0
    (row,) = graph.search(
        "constructive/from_documents/stated_within",
        triples=[[*each] for each in hubs],
        scanned=SCANNED,
        **given,
    )
    for each in row["found"]:
        subject, key, target = each["triple"]
        found[subject, key, target] = each["support"], each["relation_ids"]
    return found, 0 if row["whole"] else len({*hubs} - found.keys())


def concepts_within(
    graph: Graph, concept_ids: Sequence[str], document_ids: Sequence[str]
) -> tuple[set[str], int]:
    """Return those of some concepts that appear in some documents, and how many could not be examined."""
    share = max(1, min(LOOKED_AT, LOOKED_AT_IN_ALL // max(1, len(concept_ids))))
    given = {"document_ids": list(document_ids)}
    rows = graph.search("constructive/within", ids=list(concept_ids), scanned=share, **given)
    found: set[str] = {row["concept_id"] for row in rows if row["appears"]}
    hubs: list[str] = [row["concept_id"] for row in rows if not row["appears"]]
    if not hubs:
        return found, 0
    (row,) = graph.search("constructive/from_documents/within", ids=hubs, scanned=SCANNED, **given)
    found.update(row["found"])
    return found, 0 if row["whole"] else len({*hubs} - found)


def statements_of(graph: Graph, relation_ids: Iterable[str]) -> dict[str, EdgeQuote]:
    """Return by id the statements of relationships; a deleted one is missing."""
    rows = graph.search("constructive/statements", ids=list(dict.fromkeys(relation_ids)))
    found = dict[str, EdgeQuote]()
    for row in without_deleted(rows, ("source_start", "quote", "ontology", "document", "paragraph")):
        # A quote's place is stored within its source, so that it stays true when the source moves.
        start = row["source_start"]
        place = {} if row["start"] is None else {"start": start + row["start"], "end": start + row["end"]}
        kept = ("quote", "statement", "source_id", "ontology", "document", "paragraph")
        found[row["relation_id"]] = EdgeQuote.model_validate({name: row[name] for name in kept} | place)
    return found


def quotes_of(graph: Graph, sources: Mapping[str, DescribedPlace]) -> dict[tuple[str, str], list[EdgeQuote]]:
    """Return by concept and source the quotes that prove the concept, at most three, in reading order."""
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


def documents_of(graph: Graph, document_ids: Iterable[str]) -> dict[str, DocumentFacts]:
    """Return some documents by id; a deleted one is missing."""
    rows = without_deleted(graph.read("documents/of_ids", document_ids=list(document_ids)), DocumentFacts)
    told = ({**row, "metadata": json.loads(row["metadata"] or "{}")} for row in rows)
    return {row["document_id"]: DocumentFacts.model_validate(row) for row in told}

"""Following edges of the graph from some nodes, a bounded number of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.graph.client import Graph, Row
from kg_api.schemas.constructive import DocumentFacts, EdgeQuote
from kg_api.schemas.search import DescribedPlace
from kg_api.schemas.vocabulary import EdgeDirection, NodeKind

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
    found = _neighbours(graph.search("constructive/related", ids=list(ids), scanned=_share(ids), **given))
    hubs = _left_to_documents(found, how)
    if not hubs:
        return found
    rows = graph.search("constructive/from_documents/related", ids=hubs, scanned=SCANNED, **given)
    return found | _from_documents(hubs, rows)


def sources_of_concepts(graph: Graph, ids: Sequence[str], how: Following) -> dict[str, NeighbouringNodes]:
    """From concepts to the sources that carry them."""
    given = {"document_ids": how.documents, "fan_out": how.fan_out}
    rows = graph.search("constructive/sources_of_concepts", ids=list(ids), scanned=_share(ids), **given)
    found = _neighbours(rows)
    hubs = _left_to_documents(found, how)
    if not hubs:
        return found
    rows = graph.search("constructive/from_documents/sources_of_concepts", ids=hubs, scanned=SCANNED, **given)
    return found | _from_documents(hubs, rows)


def concepts_of_sources(graph: Graph, ids: Sequence[str], how: Following) -> dict[str, NeighbouringNodes]:
    """From sources to the concepts that they carry."""
    rows = graph.search("constructive/concepts_of_sources", ids=list(ids), fan_out=how.fan_out)
    return _neighbours(rows)


def beside(graph: Graph, ids: Sequence[str], how: Following) -> dict[str, NeighbouringNodes]:
    """From sources to those directly before and behind them."""
    rows = graph.search("constructive/next_to", ids=list(ids), outgoing=how.outgoing, fan_out=how.fan_out)
    return _neighbours(rows)


def sources_of_documents(graph: Graph, ids: Sequence[str], how: Following) -> dict[str, NeighbouringNodes]:
    """From documents to their first sources."""
    return _neighbours(graph.search("constructive/sources_of_documents", ids=list(ids), fan_out=how.fan_out))


def documents_of_sources(graph: Graph, ids: Sequence[str], _: Following) -> dict[str, NeighbouringNodes]:
    """From sources to the document of each."""
    return _neighbours(graph.search("constructive/documents_of_sources", ids=list(ids)))


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


# What proves the edges of a subgraph, and what of it stands in some documents.

LOOKED_AT: Final = 1_000
"""Sources of one concept, among which one of some documents is looked for at first."""
LOOKED_AT_IN_ALL: Final = 50_000
BETWEEN_IN_ALL: Final = 500_000
"""Relationships of the ends that have fewer, among which those between both are looked for."""


@dataclass(frozen=True, slots=True)
class Triple:
    """A relationship, whoever states it."""

    subject: str
    type_key: str
    object: str


@dataclass(frozen=True, slots=True)
class Stated:
    """By how many sources it is stated, and the ids of the surest statements."""

    support: int
    relation_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConceptsWithin:
    """Which concepts appear in some documents."""

    found: frozenset[str]
    unknown: frozenset[str] = frozenset()
    """Of these, too, not all sources were looked at: so many they have, and the documents have."""


@dataclass(frozen=True, slots=True)
class StatedWithin:
    """What sources of some documents state of relationships; one that none of them states is missing."""

    found: Mapping[Triple, Stated]
    unknown: frozenset[Triple] = frozenset()
    """Of these not all was looked at: so many relationships both ends have, and the documents sources."""


def stated_within(graph: Graph, edges: Sequence[Triple], document_ids: Sequence[str]) -> StatedWithin:
    """What sources of some documents state of relationships."""
    share = max(1, min(SCANNED, BETWEEN_IN_ALL // max(1, len(edges))))
    numbered = dict(enumerate(edges))
    rows = graph.search(
        "constructive/stated_within",
        edges=[
            {"number": at, "subject": each.subject, "type_key": each.type_key, "object": each.object}
            for at, each in numbered.items()
        ],
        document_ids=list(document_ids),
        scanned=share,
        most_quotes=MAX_QUOTES,
    )
    found = {numbered[row["number"]]: _stated(row) for row in rows if not row["hub"]}
    hubs = [numbered[row["number"]] for row in rows if row["hub"]]
    return _between_hubs(graph, found, hubs, document_ids) if hubs else StatedWithin(found)


def _between_hubs(
    graph: Graph, found: Mapping[Triple, Stated], hubs: Sequence[Triple], document_ids: Sequence[str]
) -> StatedWithin:
    (row,) = graph.search(
        "constructive/from_documents/stated_within",
        triples=[[each.subject, each.type_key, each.object] for each in hubs],
        document_ids=list(document_ids),
        scanned=SCANNED,
        most_quotes=MAX_QUOTES,
    )
    further = {Triple(*each["triple"]): _stated(each) for each in row["found"]}
    unknown = frozenset[Triple]() if row["whole"] else frozenset(hubs) - further.keys()
    return StatedWithin({**found, **further}, unknown)


def concepts_within(graph: Graph, concept_ids: Sequence[str], document_ids: Sequence[str]) -> ConceptsWithin:
    """Those of some concepts that appear in some documents."""
    share = max(1, min(LOOKED_AT, LOOKED_AT_IN_ALL // max(1, len(concept_ids))))
    given = {"document_ids": list(document_ids)}
    rows = graph.search("constructive/within", ids=list(concept_ids), scanned=share, **given)
    within = frozenset(row["concept_id"] for row in rows if row["appears"])
    hubs = [row["concept_id"] for row in rows if not row["appears"]]
    if not hubs:
        return ConceptsWithin(within)
    (row,) = graph.search("constructive/from_documents/within", ids=hubs, scanned=SCANNED, **given)
    found = within.union(row["found"])
    return ConceptsWithin(found, frozenset[str]() if row["whole"] else frozenset(hubs) - found)


def statements_of(graph: Graph, relation_ids: Iterable[str]) -> dict[str, EdgeQuote]:
    """By id what relationships say; one that has gone is missing."""
    rows = graph.search("constructive/statements", ids=list(dict.fromkeys(relation_ids)))
    return {row["relation_id"]: _statement(row) for row in rows}


def _stated(row: Row) -> Stated:
    return Stated(row["support"], tuple(row["relation_ids"]))


def quotes_of(graph: Graph, sources: Mapping[str, DescribedPlace]) -> dict[tuple[str, str], list[EdgeQuote]]:
    """By concept and source the quotes of it that prove the concept, at most three, in reading order."""
    found = dict[tuple[str, str], list[EdgeQuote]]()
    rows = graph.read("concepts/present_quotes", source_ids=list(sources))
    for row in sorted(rows, key=lambda row: (row["start"], row["instance_id"])):
        quotes = found.setdefault((row["concept_id"], row["source_id"]), [])
        if len(quotes) < MAX_QUOTES:
            quotes.append(_quote(row, sources[row["source_id"]]))
    return found


def documents_of(graph: Graph, document_ids: Iterable[str]) -> dict[str, DocumentFacts]:
    """Some documents by id; one that has gone is missing."""
    rows = graph.read("documents/of_ids", document_ids=list(document_ids))
    told = ({**row, "metadata": json.loads(row["metadata"] or "{}")} for row in rows)
    return {row["document_id"]: DocumentFacts.model_validate(row) for row in told}


def _statement(row: Row) -> EdgeQuote:
    """A quote's place is stored within its source, so that it stays true when the source moves."""
    inside, start = row["start"] is not None, row["source_start"]
    place = {"start": start + row["start"], "end": start + row["end"]} if inside else {}
    kept = ("quote", "statement", "source_id", "ontology", "document", "paragraph")
    return EdgeQuote.model_validate({name: row[name] for name in kept} | place)


def _quote(row: Row, place: DescribedPlace) -> EdgeQuote:
    return EdgeQuote(
        quote=row["quote"],
        start=place.start + row["start"],
        end=place.start + row["end"],
        source_id=place.source_id,
        ontology=place.ontology,
        document=place.document,
        paragraph=place.paragraph,
    )

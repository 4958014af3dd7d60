"""What proves the edges of a subgraph, and what of it stands in some documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kg_api.graph.database import Graph, Row
from kg_api.graph.traversal.edges import MAX_QUOTES, SCANNED
from kg_api.models.constructive.subgraph import DocumentFacts, EdgeQuote
from kg_api.models.queries.places import DescribedPlace

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
    rows = graph.read(
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
    (row,) = graph.read(
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
    rows = graph.read("constructive/within", ids=list(concept_ids), scanned=share, **given)
    within = frozenset(row["concept_id"] for row in rows if row["appears"])
    hubs = [row["concept_id"] for row in rows if not row["appears"]]
    if not hubs:
        return ConceptsWithin(within)
    (row,) = graph.read("constructive/from_documents/within", ids=hubs, scanned=SCANNED, **given)
    found = within.union(row["found"])
    return ConceptsWithin(found, frozenset[str]() if row["whole"] else frozenset(hubs) - found)


def statements_of(graph: Graph, relation_ids: Iterable[str]) -> dict[str, EdgeQuote]:
    """By id what relationships say; one that has gone is missing."""
    rows = graph.read("constructive/statements", ids=list(dict.fromkeys(relation_ids)))
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

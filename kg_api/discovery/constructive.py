"""Constructive queries: steps that build a subgraph."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kg_api.concepts.relations import RelationshipSearcher
from kg_api.concepts.search import ConceptService
from kg_api.discovery.expansion import (
    Expander,
    Narrowed,
    NodeFilter,
    NodeRanker,
    QueryProgress,
    Seeder,
    WorkingEdge,
    WorkingNode,
    WorkingSet,
    keep_best,
)
from kg_api.errors import TookTooLong
from kg_api.graph.client import SEARCH_SECONDS, Graph, limit_time
from kg_api.graph.concepts import concepts_of
from kg_api.graph.filters import RememberedFilters
from kg_api.graph.similar import places_of
from kg_api.graph.traversal import documents_of, quotes_of, statements_of
from kg_api.schemas.concepts import Concept
from kg_api.schemas.constructive import (
    AnyNode,
    ConstructiveQuery,
    DocumentFacts,
    EdgeQuote,
    ExpandStep,
    FilterStep,
    LimitStep,
    RankStep,
    SeedStep,
    Step,
    StepReport,
    Subgraph,
    SubgraphConcept,
    SubgraphDocument,
    SubgraphEdge,
    SubgraphSource,
)
from kg_api.schemas.search import DescribedPlace
from kg_api.search.notes import Stopwatch
from kg_api.search.scope import choose
from kg_api.search.service import SearchService
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import snapshots_of
from kg_api.wording import pluralize

# What a query has built, read for the answer.

MAX_WAYS = 3

Quotes = Mapping[tuple[str, str], Sequence[EdgeQuote]]


@dataclass(frozen=True, slots=True)
class ReadNodes:
    """What nodes are, by id; one that has gone meanwhile is missing."""

    concepts: Mapping[str, Concept]
    sources: Mapping[str, DescribedPlace]
    documents: Mapping[str, DocumentFacts]

    def __contains__(self, identity: str) -> bool:
        return identity in self.concepts or identity in self.sources or identity in self.documents


def present(graph: Graph, built: WorkingSet) -> tuple[list[AnyNode], list[SubgraphEdge]]:
    """Nodes, the best first, and the edges between them with what proves them."""
    read = _read(graph, built)
    there = [node for node in built.ranked() if node.id in read]
    edges = [edge for edge in built.edges.values() if all(end in read for end in edge.ends)]
    statements = statements_of(graph, [each for edge in edges for each in edge.relation_ids[:MAX_WAYS]])
    quotes = quotes_of(graph, read.sources) if any(edge.kind == "appears_in" for edge in edges) else {}
    nodes = [_node(node, rank, read) for rank, node in enumerate(there, start=1)]
    return nodes, [_edge(edge, statements, quotes) for edge in edges]


def _read(graph: Graph, built: WorkingSet) -> ReadNodes:
    sources = [node.id for node in built.of("passage", "image")]
    documents = [node.id for node in built.of("document")]
    return ReadNodes(
        concepts_of(graph, (node.id for node in built.of("concept"))),
        {place.source_id: place for place in places_of(graph, sources)} if sources else {},
        documents_of(graph, documents) if documents else {},
    )


def _node(node: WorkingNode, rank: int, read: ReadNodes) -> AnyNode:
    ways = node.ways
    shared: dict[str, Any] = {
        "id": node.id,
        "rank": rank,
        "score": node.score,
        "similarity": node.similarity,
        "reached": ways[:MAX_WAYS],
        "more_reached": max(0, len(ways) - MAX_WAYS),
    }
    if node.kind == "concept":
        return SubgraphConcept(kind="concept", concept=read.concepts[node.id], **shared)
    if node.kind == "document":
        return SubgraphDocument(kind="document", document=read.documents[node.id], **shared)
    return SubgraphSource(kind=node.kind, source=read.sources[node.id], **shared)


def _edge(edge: WorkingEdge, statements: Mapping[str, EdgeQuote], quotes: Quotes) -> SubgraphEdge:
    said = [statements[each] for each in edge.relation_ids[:MAX_WAYS] if each in statements]
    return SubgraphEdge(
        kind=edge.kind,
        subject=edge.subject,
        type=edge.type,
        object=edge.object,
        steps=edge.steps,
        sources=edge.support,
        verified=edge.verified,
        quotes=[*quotes.get((edge.subject, edge.object), ())] if edge.kind == "appears_in" else said,
    )


# A constructive query: its steps one after the other, and what they have built.


@dataclass(frozen=True, slots=True)
class _Changed:
    """What a step did to the number of nodes."""

    added: int = 0
    removed: int = 0


class ConstructiveService:
    """Builds subgraphs. Thread-safe; one a process."""

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        search: SearchService,
        concepts: ConceptService,
        relationships: RelationshipSearcher,
    ) -> None:
        self._graph = graph
        self._plans = snapshots_of(graph)
        self._remembered = RememberedFilters(graph)
        self._seeder = Seeder(graph, search, concepts, relationships)
        self._expander = Expander(graph)
        self._filter = NodeFilter(graph, self._remembered)
        self._ranker = NodeRanker(graph, spaces)

    def query(self, query: ConstructiveQuery) -> Subgraph:
        """Do the steps, and give what they built. What was left out is told of each step.

        Raises:
            NotFound: a concept, a source, a document or an ontology that the query names is not there.
            Conflict: several are called like one that it names.
            InvalidInput: a seed is of an ontology or a document that the query leaves out, or a condition is
                of a field that no document has, and another one is called nearly so.
            Unavailable: an index that a seed needs does not answer.
            TookTooLong: the database takes too long to filter or to read what there is.
        """
        until = time.monotonic() + query.seconds
        with limit_time(until + SEARCH_SECONDS):
            return self._build(query, until)

    def _build(self, query: ConstructiveQuery, until: float) -> Subgraph:
        watch = Stopwatch("constructive")
        with watch.stage("scope"):
            progress = self._begin(query, until)
        with watch.stage("steps"):
            reports = [self._report(step, at, progress) for at, step in enumerate(query.steps, start=1)]
        with watch.stage("present"):
            nodes, edges = present(self._graph, progress.built)
        return Subgraph(
            nodes=nodes,
            edges=edges,
            steps=reports,
            note=None if nodes else _why_nothing(reports, progress),
            degraded=progress.degraded,
            timings_ms=watch.milliseconds(),
        )

    def _begin(self, query: ConstructiveQuery, until: float) -> QueryProgress:
        known = self._plans.known(query.ontologies or (), new_too=query.ontologies is None)
        known.require_known(query.ontologies)
        there = known.there(query.ontologies)
        asked = Narrowed(query.ontologies, query.documents, query.where)
        chosen = choose(self._graph, self._remembered, asked, there, whole_documents=True)
        ids = chosen.filters.document_ids
        within = None if ids is None else frozenset(ids)
        progress = QueryProgress(query, known, frozenset(there), chosen.filters, until, within)
        progress.note_degraded(chosen.notes)
        progress.unseen += [] if ids or ids is None else [each.effect for each in chosen.notes]
        return progress

    def _report(self, step: Step, number: int, progress: QueryProgress) -> StepReport:
        started = time.monotonic()
        progress.cut = []
        changed = self._do(step, number, progress)
        return StepReport(
            number=number,
            step=step.step,
            added=changed.added,
            removed=changed.removed,
            nodes=len(progress.built.nodes),
            edges=len(progress.built.edges),
            cut=progress.cut,
            milliseconds=1000 * (time.monotonic() - started),
        )

    def _do(self, step: Step, number: int, progress: QueryProgress) -> _Changed:
        match step:
            case SeedStep() | ExpandStep():
                # Search or follow, as long as there is time
                if step.step == "seed" and number > 1 and progress.is_late:
                    progress.note_late("not searched")
                    return _Changed()
                before = len(progress.built.nodes)
                try:
                    with limit_time(progress.until):
                        if step.step == "seed":
                            self._seeder.seed(step, number, progress)
                        else:
                            self._expander.expand(step, number, progress)
                except TookTooLong as error:
                    progress.note_late(
                        "not searched to its end" if step.step == "seed" else "not followed", error
                    )
                return _Changed(added=len(progress.built.nodes) - before)
            case FilterStep():
                return _Changed(removed=self._filter.filter(step, number, progress))
            case RankStep():
                self._rank(step, progress)
                return _Changed()
            case LimitStep():
                return _Changed(removed=keep_best(step, progress))

    def _rank(self, step: RankStep, progress: QueryProgress) -> None:
        try:
            self._ranker.rank(step, progress)
        except TookTooLong as error:
            progress.note_late("not ranked, the order is the one before", error)


def _why_nothing(reports: list[StepReport], progress: QueryProgress) -> str:
    emptied = next((each for each in reports if each.removed and not each.nodes), None)
    if emptied is None and any(cut.by == "time" for each in reports for cut in each.cut):
        return "the time was up before a seed was found: give it more seconds, or ask for less"
    if emptied is None:
        why = "; ".join(dict.fromkeys(progress.unseen)) or "try other words, or mode 'vector' or 'text'"
        return f"no seed was found: {why}"
    before = pluralize(emptied.removed, "node")
    why = "; ".join(progress.unfitting.get(emptied.number, ())) or "ask it for less, or leave it out"
    return f"step {emptied.number} ({emptied.step}) left nothing of {before}: {why}"

"""Constructive queries, which build a subgraph step by step."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kg_api.concepts.network import ID
from kg_api.concepts.relations import RelationshipSearcher
from kg_api.concepts.search import (
    ConceptQuery,
    ConceptService,
    embed_concept_query,
    fuse_by_reciprocal_rank,
    start_embedding,
)
from kg_api.discovery.subgraph import (
    WorkingEdge,
    WorkingNode,
    WorkingSet,
    compute_pagerank,
    count_connections,
)
from kg_api.errors import InvalidInput, NotFound, TookTooLong
from kg_api.graph.client import SEARCH_SECONDS, Graph, limit_time
from kg_api.graph.concepts import find_concept, read_concepts
from kg_api.graph.library import find_source
from kg_api.graph.relation_search import resolve_types
from kg_api.graph.search import Filters, compute_concept_nearness
from kg_api.graph.similar import describe_places, read_search_vectors
from kg_api.graph.traversal import (
    Following,
    filter_appearing_concepts,
    filter_stated_relationships,
    follow,
    read_documents_by_id,
    read_edge_statements,
    read_quotes,
)
from kg_api.schemas.base import ID_DIGITS, normalize_concept_name
from kg_api.schemas.concepts import Concept, RelationshipSearch, format_nearest_labels
from kg_api.schemas.constructive import (
    AnyNode,
    ConstructiveQuery,
    Cut,
    ExpandStep,
    FilterStep,
    LimitStep,
    RankStep,
    Reached,
    SeedStep,
    Step,
    StepReport,
    Subgraph,
    SubgraphConcept,
    SubgraphDocument,
    SubgraphEdge,
    SubgraphSource,
)
from kg_api.schemas.search import Degradation, Place, SourceSearch
from kg_api.schemas.vocabulary import (
    MAX_ONTOLOGIES,
    MAX_SUBGRAPH_EDGES,
    MAX_SUBGRAPH_NODES,
    CutReason,
    EdgeDirection,
    EdgeKind,
    NodeKind,
)
from kg_api.search.notes import Stopwatch
from kg_api.search.scope import choose
from kg_api.search.service import SearchService
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import OntologySnapshot, get_snapshots
from kg_api.wording import pluralize

MAX_WAYS: Final = 3
FRONTIER: Final = 200  # best nodes from which a hop follows edges
CANDIDATES: Final = 50  # hits that kg checks for a concept that matches a phrase
DIGITS: Final = re.compile(rf"[0-9a-f]{{8,{ID_DIGITS}}}")  # an id or its beginning
TYPES: Final[dict[EdgeKind, str]] = {
    "related_to": "related to",
    "appears_in": "appears in",
    "part_of": "part of",
    "next_to": "next to",
}
SOURCES: Final[tuple[NodeKind, ...]] = ("passage", "image")
OUT: Final[Collection[EdgeDirection]] = ("out", "both")
IN: Final[Collection[EdgeDirection]] = ("in", "both")
WAYS: Final[Sequence[tuple[EdgeKind, Any, tuple[NodeKind, ...], Collection[EdgeDirection]]]] = (
    ("related_to", "concept", ("concept",), (*OUT, *IN)),
    ("appears_in", "concept", ("concept",), OUT),
    ("appears_in", "source", SOURCES, IN),
    ("part_of", "source", SOURCES, OUT),
    ("part_of", "document", ("document",), IN),
    ("next_to", "source", SOURCES, (*OUT, *IN)),
)
"""Kind of edge, kind and kinds of its start nodes, and directions of a step in which kg follows it."""


@dataclass(slots=True)
class _Progress:
    """State of one query: its scope, its subgraph, and the nodes and edges that its steps skipped."""

    query: ConstructiveQuery
    known: OntologySnapshot  # all ontologies
    ontologies: frozenset[str]  # existing ontologies in the scope of the query
    filters: Filters
    until: float  # end of the search (monotonic clock)
    document_ids: frozenset[str] | None = None  # the documents of `filters`
    number: int = 0
    built: WorkingSet = field(default_factory=WorkingSet)
    cut: list[Cut] = field(default_factory=list[Cut])
    degraded: list[Degradation] = field(default_factory=list[Degradation])

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self.until

    @property
    def named(self) -> list[str] | None:
        """Existing ontologies that the query names, or None if it names none."""
        return None if self.query.ontologies is None else sorted(self.ontologies)

    def note_cut(self, by: CutReason, effect: str, left_out: int | None = None) -> None:
        self.cut.append(Cut(by=by, left_out=left_out, effect=effect))

    def note_late(self, effect: str, error: TookTooLong | None = None) -> None:
        """Record skipped work: the time of the query was up, or a statement timed out."""
        over = f"the query's {self.query.seconds:g} s were over"
        self.note_cut("time", f"{effect}: {over if error is None or self.is_late else error}")

    def note_degraded(self, degraded: Iterable[Degradation]) -> None:
        self.degraded += [each for each in degraded if each not in self.degraded]

    def includes(self, node: WorkingNode) -> bool:
        """Check if the ontology and the document of a node are in the scope of the query."""
        ids = self.document_ids
        in_scope = ids is None or node.document_id is None or node.document_id in ids
        return node.ontology in self.ontologies and in_scope

    def add(self, nodes: Sequence[WorkingNode], limit: int) -> int:
        """Add up to `limit` new nodes, at most the maximum of a subgraph, and return their number."""
        room = MAX_SUBGRAPH_NODES - len(self.built.nodes)
        new = list(dict.fromkeys(each.id for each in nodes if each.id not in self.built.nodes))
        taken = {*new[: min(limit, room)]}
        for each in nodes:
            if each.id in taken or each.id in self.built.nodes:
                self.built.add(each)
        left_out = len(new) - min(limit, room)
        what = pluralize(left_out, "node")
        if left_out > 0 and room < limit:
            at_most = f"a subgraph has at most {MAX_SUBGRAPH_NODES}. Insert a limit step before"
            self.note_cut("nodes", f"{what} skipped: {at_most}", left_out)
        elif left_out > 0:
            effect = (
                f"{what} dropped, the most distant or least certain ones: the step returns at most {limit}"
            )
            self.note_cut("limit", effect, left_out)
        return len(taken)

    def connect(self, edge: WorkingEdge) -> bool:
        """Add an edge if both nodes exist, and return False if there are too many edges."""
        if not {*edge.ends} <= self.built.nodes.keys():
            return True
        if edge.key not in self.built.edges and len(self.built.edges) >= MAX_SUBGRAPH_EDGES:
            return False
        self.built.connect(edge)
        return True

    def seed(self, ids: Iterable[tuple[str, NodeKind, str, str | None]]) -> list[WorkingNode]:
        """Make seeds in rank order from tuples of id, kind, ontology and document id."""
        return [
            WorkingNode(*each, reached=[Reached(step=self.number, hops=0, rank=rank)])
            for rank, each in enumerate(ids, start=1)
        ]


class ConstructiveService:
    """Builder of subgraphs. Thread-safe, one per process."""

    def __init__(
        self,
        graph: Graph,
        spaces: SpaceRegistry,
        search: SearchService,
        concepts: ConceptService,
        relationships: RelationshipSearcher,
    ) -> None:
        self._graph = graph
        self._spaces = spaces
        self._search = search
        self._concepts = concepts
        self._relationships = relationships
        self._snapshots = get_snapshots(graph)
        self._remembered = self._snapshots.filters
        self._steps: dict[str, Callable[[Any, _Progress], None]] = {
            "seed": self._seed,
            "expand": self._expand,
            "filter": self._filter,
            "rank": self._rank,
            "limit": self._limit,
        }
        self._seeds: dict[str, Callable[[SeedStep, _Progress], None]] = {
            "text": self._seed_by_text,
            "concept": self._seed_by_concept,
            "relationship": self._seed_by_relationship,
            "source": self._seed_by_source,
            "image": self._seed_by_source,
        }

    def query(self, query: ConstructiveQuery) -> Subgraph:
        """Run the steps and return their subgraph, with a report of each step."""
        until = time.monotonic() + query.seconds
        with limit_time(until + SEARCH_SECONDS):
            watch = Stopwatch("constructive")
            with watch.stage("scope"):
                progress = self._begin(query, until)
            with watch.stage("steps"):
                reports = [self._run(step, at, progress) for at, step in enumerate(query.steps, start=1)]
            with watch.stage("present"):
                nodes, edges = _present(self._graph, progress.built)
        return Subgraph(
            nodes=nodes,
            edges=edges,
            steps=reports,
            note=None if nodes else _explain_nothing(reports),
            degraded=progress.degraded,
            timings_ms=watch.get_milliseconds(),
        )

    def _begin(self, query: ConstructiveQuery, until: float) -> _Progress:
        known = self._snapshots.get(query.ontologies or (), new_too=query.ontologies is None)
        known.require_known(query.ontologies)
        there = known.keep_existing(query.ontologies)
        chosen = choose(self._graph, self._remembered, query, there, whole_documents=True)
        ids = chosen.filters.document_ids
        within = None if ids is None else frozenset(ids)
        progress = _Progress(query, known, frozenset(there), chosen.filters, until, within)
        progress.note_degraded(chosen.notes)
        return progress

    def _run(self, step: Step, number: int, progress: _Progress) -> StepReport:
        started = time.monotonic()
        progress.number, progress.cut = number, []
        before = {*progress.built.nodes}
        self._steps[step.step](step, progress)
        after = progress.built.nodes.keys()
        return StepReport(
            number=number,
            step=step.step,
            added=len(after - before),
            removed=len(before - after),
            nodes=len(after),
            edges=len(progress.built.edges),
            cut=progress.cut,
            milliseconds=1000 * (time.monotonic() - started),
        )

    # Seed steps

    def _seed(self, step: SeedStep, progress: _Progress) -> None:
        if progress.number > 1 and progress.is_late:
            progress.note_late("not searched")
            return
        try:
            with limit_time(progress.until):
                self._seeds[step.by](step, progress)
        except TookTooLong as error:
            progress.note_late("incomplete search", error)

    def _seed_by_text(self, step: SeedStep, progress: _Progress) -> None:
        query = progress.query
        found = self._search.search(
            SourceSearch(
                query_text=step.value,
                ontology=query.ontology,
                documents=query.documents,
                where=[*(query.where or ()), *(step.where or ())] or None,
                kinds=step.kinds,
                mode=step.mode,
                limit=step.limit,
            )
        )
        progress.note_degraded(found.degraded)
        if found.note:
            progress.note_degraded([Degradation(part="query", effect=found.note)])
        progress.add(progress.seed(map(_identify, found.sources)), step.limit)

    def _seed_by_concept(self, step: SeedStep, progress: _Progress) -> None:
        found, is_phrase = self._find_concepts(step, progress)
        ids = progress.filters.document_ids
        within = None
        if ids is not None:
            within = self._filter_appearing_concepts([each.concept_id for each in found], ids, progress)
        seen = [each for each in found if within is None or each.concept_id in within]
        taken = [each for each in seen if each.ontology in progress.ontologies]
        if not taken:
            raise _report_excluded_seed(step.value, found[0].ontology, progress)
        if is_phrase:
            some = taken[: step.limit]
            what, labels = pluralize(len(some), "concept"), ", ".join(repr(each.label) for each in some)
            effect = f"no concept has the name {step.value!r}. kg used {what} that it matches: {labels}"
            progress.note_degraded([Degradation(part="concepts", effect=effect)])
        kind: NodeKind = "concept"
        seeds = progress.seed((each.concept_id, kind, each.ontology, None) for each in taken)
        progress.add(seeds, step.limit)

    def _find_concepts(self, step: SeedStep, progress: _Progress) -> tuple[Sequence[Concept], bool]:
        """Find a concept by id, label, or alias, or concepts by similarity (at least one, and then True)."""
        if DIGITS.fullmatch(step.value):
            try:
                return [find_concept(self._graph, step.value)], False
            except NotFound:
                if ID.fullmatch(step.value):
                    raise
        found = self._concepts.search(step.value, progress.named, max(CANDIDATES, step.limit))
        also_called = [each for each in found.concepts if each.fits == "name"]
        name = normalize_concept_name(step.value)
        exact = [each for each in also_called if normalize_concept_name(each.label) == name] or also_called
        taken = exact or [each for each in found.concepts if each.fits]
        if not taken:
            raise NotFound(
                f"no concept matches {step.value!r}{format_nearest_labels(found.concepts)}. Start with a "
                f"'text', or find a concept with `kg concepts search`"
            )
        return taken, not exact

    def _seed_by_relationship(self, step: SeedStep, progress: _Progress) -> None:
        within, ids = progress.named, progress.filters.document_ids
        if within is not None and len(within) > MAX_ONTOLOGIES:
            effect = f"kg searched relationships in the first {MAX_ONTOLOGIES} of {len(within)} ontologies"
            progress.note_degraded([Degradation(part="concepts", effect=effect)])
        search = RelationshipSearch(
            query_text=step.value, ontologies=within and within[:MAX_ONTOLOGIES], limit=step.limit
        )
        found = self._relationships.search(search, progress.document_ids)
        progress.note_degraded(found.degraded)
        ontologies = dict[str, str]()
        edges = list[WorkingEdge]()
        for hit in found.relationships:
            subject, target = hit.subject.concept_id, hit.object.concept_id
            ontologies |= {subject: hit.ontology, target: hit.ontology}
            key, relation_ids = (
                normalize_concept_name(hit.type),
                tuple(each.relation_id for each in hit.evidence),
            )
            own = [progress.number]
            edges.append(
                WorkingEdge(
                    "related_to", subject, target, hit.type, key, hit.sources, relation_ids, steps=own
                )
            )
        if ids is not None:
            edges = self._filter_stated_edges(edges, ids, progress)
        nodes = [
            WorkingNode(
                end, "concept", ontologies[end], None, [Reached(step=progress.number, hops=0, rank=rank)]
            )
            for rank, edge in enumerate(edges[: step.limit], start=1)
            for end in edge.ends
        ]
        progress.add(nodes, 2 * step.limit)
        for edge in edges[: step.limit]:
            progress.connect(edge)

    def _seed_by_source(self, step: SeedStep, progress: _Progress) -> None:
        place = find_source(self._graph, step.value)
        if step.by == "image" and place.kind != "image":
            raise InvalidInput(
                f"step {progress.number}: {step.value!r} is a passage, not an image. Seed it by 'source'"
            )
        (node,) = progress.seed([_identify(place)])
        if not progress.includes(node):
            raise _report_excluded_seed(step.value, node.ontology, progress)
        progress.add([node], 1)

    # Expand steps

    def _expand(self, step: ExpandStep, progress: _Progress) -> None:
        try:
            with limit_time(progress.until):
                self._follow_hops(step, progress)
        except TookTooLong as error:
            progress.note_late("not followed", error)

    def _follow_hops(self, step: ExpandStep, progress: _Progress) -> None:
        built, added = progress.built, 0
        types, unknown = resolve_types(self._graph, sorted(progress.ontologies), step.types)
        if unknown:
            progress.note_degraded([Degradation(part="concepts", effect=unknown)])
        ids = progress.filters.document_ids
        how = Following(step.direction, step.fan_out, types, None if ids is None else list(ids))
        frontier = built.sort_nodes()
        for hop in range(step.hops):
            if not frontier:
                break
            if progress.is_late:
                progress.note_late(f"{hop} of {pluralize(step.hops, 'hop')} followed")
                break
            before = frozenset(built.nodes)
            if further := len(frontier) - FRONTIER if len(frontier) > FRONTIER else 0:
                only = f"edges were followed from the best {FRONTIER} nodes only"
                progress.note_cut("frontier", f"{only}, not from {further} further ones", further)
            added += self._follow_hop(step, how, frontier[:FRONTIER], step.limit - added, progress)
            frontier = built.sort_nodes(node for node in built.nodes.values() if node.id not in before)

    def _follow_hop(  # noqa: C901 - one loop over edges
        self,
        step: ExpandStep,
        how: Following,
        frontier: Sequence[WorkingNode],
        limit: int,
        progress: _Progress,
    ) -> int:
        """Add the neighbours of all nodes, first neighbours first, and return the number of new nodes."""
        found = list[tuple[int, WorkingNode, WorkingEdge]]()
        left_out, hubs = 0, set[str]()
        try:
            for kind, start, kinds, directions in WAYS:
                starts = {node.id: node for node in frontier if node.kind in kinds}
                if kind not in step.along or step.direction not in directions or not starts:
                    continue
                for identity, around in follow(self._graph, kind, start, list(starts), how).items():
                    left_out += around.left_out
                    if around.hub:
                        hubs.add(identity)
                    hops = starts[identity].best.hops + 1
                    for place, each in enumerate(around.found, start=1):
                        way = Reached(step=progress.number, hops=hops, along=kind, via=identity, rank=place)
                        node = WorkingNode(each.id, each.kind, each.ontology, each.document_id, [way])
                        if progress.includes(node):
                            ends = (identity, each.id) if each.outgoing else (each.id, identity)
                            connection = (
                                each.type or TYPES[kind],
                                each.type_key,
                                each.support,
                                each.relation_ids,
                            )
                            edge = WorkingEdge(kind, *ends, *connection, each.verified, [progress.number])
                            found.append((place, node, edge))
        except TookTooLong as error:
            progress.note_late("not all edges followed", error)
        if left_out:
            what = f"{pluralize(left_out, 'edge')} not followed"
            progress.note_cut(
                "fan_out", f"{what}: from one node at most {step.fan_out} of a kind are", left_out
            )
        if hubs:
            what = f"{pluralize(len(hubs), 'node')} have too many edges, so kg did not read all of them"
            progress.note_cut("hub", f"{what}: there may be better ones")
        found.sort(key=lambda each: each[0])
        nodes = [node for _, node, edge in found if edge.key not in progress.built.edges]
        ranks = dict[str, int]()  # the same for each way to a node
        for node in nodes:
            rank = ranks.setdefault(node.id, len(ranks) + 1)
            node.reached = [each.model_copy(update={"rank": rank}) for each in node.reached]
        added = progress.add(nodes, limit)
        too_many = sum(not progress.connect(edge) for _, _, edge in found)
        if too_many:
            what = f"{pluralize(too_many, 'edge')} left out"
            progress.note_cut("edges", f"{what}: a subgraph has at most {MAX_SUBGRAPH_EDGES}", too_many)
        return added

    # Filter and limit steps

    def _filter(self, step: FilterStep, progress: _Progress) -> None:
        """Keep nodes of the given kinds and documents, and the relationships that these documents state."""
        built, removed = progress.built, 0
        ids: Sequence[str] | None = None
        if step.where or step.documents is not None:
            narrowed = progress.query.model_copy(update={"documents": step.documents, "where": step.where})
            there = sorted(progress.ontologies)
            chosen = choose(self._graph, self._remembered, narrowed, there, whole_documents=True)
            progress.note_degraded(chosen.notes)
            seen = progress.document_ids
            ids = [each for each in chosen.filters.document_ids or [] if seen is None or each in seen]
        if step.kinds is not None:
            removed += built.keep(lambda node: node.kind in (step.kinds or ()))
        if ids is not None:
            within = self._filter_appearing_concepts(
                [node.id for node in built.list_kind("concept")], ids, progress
            )
            wanted = {*ids}
            removed += built.keep(
                lambda node: node.id in within if node.kind == "concept" else node.document_id in wanted
            )
            stated = [edge for edge in built.edges.values() if edge.kind == "related_to"]
            kept = {edge.key: edge for edge in self._filter_stated_edges(stated, ids, progress)}
            built.edges = {
                key: kept.get(key, edge)
                for key, edge in built.edges.items()
                if edge.kind != "related_to" or key in kept
            }
        if removed:
            effect = f"{pluralize(removed, 'node')} do not match the filter"
            progress.note_cut("filter", effect, removed)

    def _limit(self, step: LimitStep, progress: _Progress) -> None:
        built = progress.built
        counted = built.list_kind(*step.kinds) if step.kinds else built.sort_nodes()
        removed = built.remove({node.id for node in counted[step.nodes :]})
        if removed:
            what = pluralize(removed, "node")
            progress.note_cut("limit", f"{what} dropped after the best {step.nodes}", removed)

    def _filter_appearing_concepts(
        self, concept_ids: Sequence[str], ids: Sequence[str], progress: _Progress
    ) -> Collection[str]:
        if not concept_ids or not ids:
            return ()
        found, unknown = filter_appearing_concepts(self._graph, concept_ids, ids)
        _note_unproven("concept", unknown, progress)
        return found

    def _filter_stated_edges(
        self, edges: Sequence[WorkingEdge], ids: Sequence[str], progress: _Progress
    ) -> list[WorkingEdge]:
        """Filter the relationships that the given documents state, with only the statements in them."""
        if not edges or not ids:
            return []
        triples = [(edge.subject, edge.type_key, edge.object) for edge in edges]
        within, unknown = filter_stated_relationships(self._graph, triples, ids)
        _note_unproven("relationship", unknown, progress)
        kept = ((edge, within.get(each)) for edge, each in zip(edges, triples, strict=True))
        return [replace(edge, support=each[0], relation_ids=each[1]) for edge, each in kept if each]

    # Rank steps

    def _rank(self, step: RankStep, progress: _Progress) -> None:
        built = progress.built
        try:
            if not built.nodes:
                scores: Mapping[str, float] = {}
            elif step.by == "text":
                scores = self._score_by_text(step, progress)
            else:
                scores = compute_pagerank(built) if step.by == "pagerank" else count_connections(built)
            built.rank(scores)
        except TookTooLong as error:
            progress.note_late("not ranked, the order is the one before", error)

    def _score_by_text(self, step: RankStep, progress: _Progress) -> Mapping[str, float]:
        built = progress.built
        text = step.text or progress.query.text or ""
        concept_query = embed_concept_query(text, sorted(progress.ontologies), progress.known, self._spaces)
        words = "concepts were searched by words only", "similar nodes could not be searched"
        progress.note_degraded(
            each.model_copy(update={"effect": each.effect.replace(*words)}) for each in concept_query.degraded
        )
        near = self._find_cosines(concept_query, progress)
        for node in built.nodes.values():
            node.similarity = near.get(node.id)
        without = {node.ontology for node in built.list_kind("concept") if node.id not in near}
        if concept_query.meanings and without:
            progress.note_degraded(start_embedding(self._graph, progress.known, sorted(without)))
        # Cosines of different spaces or kinds of nodes are not comparable. So each group has its own ranks.
        spaces = {name: each.space.slug for each in concept_query.meanings for name in each.ontologies}
        groups: defaultdict[tuple[str, bool], list[WorkingNode]] = defaultdict(list)
        for node in built.nodes.values():
            if node.id in near:
                groups[spaces[node.ontology], node.kind == "concept"].append(node)
        scores = dict[str, float]()
        for group in groups.values():
            group.sort(key=lambda node: (-near[node.id], node.id))
            scores |= fuse_by_reciprocal_rank([[node.id for node in group]])
        best = dict[str, float]()  # a document is as similar as its best source
        for node in built.list_kind("passage", "image"):
            if node.document_id is not None and node.id in scores:
                best[node.document_id] = max(scores[node.id], best.get(node.document_id, 0.0))
        scores |= {node.id: best[node.id] for node in built.list_kind("document") if node.id in best}
        behind = len(built.nodes.keys() - scores.keys())
        if behind:
            what = pluralize(behind, "node")
            effect = f"{what} without a vector, or a document without a source here, rank last"
            progress.note_degraded([Degradation(part="vectors", effect=effect)])
        return scores

    def _find_cosines(self, concept_query: ConceptQuery, progress: _Progress) -> dict[str, float]:
        """Find the cosine of the text and each node that has a vector, by id."""
        built = progress.built
        concepts = [node.id for node in built.list_kind("concept")]
        near = (
            dict(compute_concept_nearness(self._graph, concepts, concept_query.meanings)) if concepts else {}
        )
        sources = {node.id: node for node in built.list_kind(*SOURCES)}
        by_ontology = {name: each.vector for each in concept_query.meanings for name in each.ontologies}
        found = read_search_vectors(self._graph, list(sources), progress.known.answering, progress.known.new)
        for identity, parts in found.items():
            vector = by_ontology.get(sources[identity].ontology)
            if vector is not None and parts:
                near[identity] = max(float(part.vector @ vector) for part in parts)
        return near


def _identify(place: Place) -> tuple[str, NodeKind, str, str]:
    return place.source_id, place.kind, place.ontology, place.document_id


def _note_unproven(what: str, number: int, progress: _Progress) -> None:
    if number:
        effect = (
            f"{pluralize(number, what)} skipped that may match, because kg did not read all of their "
            "evidence. Request fewer at once"
        )
        progress.note_cut("hub", effect, number)


def _report_excluded_seed(value: str, ontology: str, progress: _Progress) -> InvalidInput:
    """Return the error for a seed that the filters of the query exclude."""
    if ontology not in progress.ontologies:
        message = f"is in the ontology {ontology!r}, which this query does not include. Add it to ontology"
    elif progress.cut:
        message = f"was not found in the documents that the query sees: {progress.cut[-1].effect}"
    else:
        message = "is in no document that the query sees. Change documents or where"
    return InvalidInput(f"{value!r} {message}")


def _explain_nothing(reports: list[StepReport]) -> str:
    emptied = next((each for each in reports if each.removed and not each.nodes), None)
    if emptied is not None:
        before = pluralize(emptied.removed, "node")
        return f"step {emptied.number} ({emptied.step}) left nothing of {before}. Request less in this step"
    if any(cut.by == "time" for each in reports for cut in each.cut):
        return "the time limit ended before a seed was found. Raise seconds, or request less"
    return "no seed was found. Try other words or filters, or mode 'vector' or 'text'"


def _present(graph: Graph, built: WorkingSet) -> tuple[list[AnyNode], list[SubgraphEdge]]:
    """Read the nodes, best first, and the edges between them with their evidence."""
    ids = [node.id for node in built.list_kind(*SOURCES)]
    documents = [node.id for node in built.list_kind("document")]
    concepts = read_concepts(graph, (node.id for node in built.list_kind("concept")))
    sources = {place.source_id: place for place in describe_places(graph, ids)} if ids else {}
    known = read_documents_by_id(graph, documents) if documents else {}
    nodes = list[AnyNode]()
    there = set[str]()
    for node in built.sort_nodes():
        ways = node.ways
        shared: dict[str, Any] = {
            "id": node.id,
            "rank": len(nodes) + 1,
            "score": node.score,
            "similarity": node.similarity,
            "reached": ways[:MAX_WAYS],
            "more_reached": max(0, len(ways) - MAX_WAYS),
        }
        if node.id in concepts:
            nodes.append(SubgraphConcept(kind="concept", concept=concepts[node.id], **shared))
        elif node.id in known:
            nodes.append(SubgraphDocument(kind="document", document=known[node.id], **shared))
        elif node.id in sources and node.kind in SOURCES:
            nodes.append(SubgraphSource(kind=node.kind, source=sources[node.id], **shared))
        else:
            continue  # it was deleted during the query
        there.add(node.id)
    edges = [edge for edge in built.edges.values() if there.issuperset(edge.ends)]
    statements = read_edge_statements(
        graph, [each for edge in edges for each in edge.relation_ids[:MAX_WAYS]]
    )
    quotes = read_quotes(graph, sources) if any(edge.kind == "appears_in" for edge in edges) else {}
    return nodes, [
        SubgraphEdge(
            kind=edge.kind,
            subject=edge.subject,
            type=edge.type,
            object=edge.object,
            steps=edge.steps,
            sources=edge.support,
            verified=edge.verified,
            quotes=[*quotes.get(edge.ends, ())]
            if edge.kind == "appears_in"
            else [statements[each] for each in edge.relation_ids[:MAX_WAYS] if each in statements],
        )
        for edge in edges
    ]

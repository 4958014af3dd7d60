"""The graph of sources that are similar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kg_api.graph.database import Graph
from kg_api.graph.filters.remembered import RememberedFilters
from kg_api.graph.proposals.reads import links_among
from kg_api.graph.readiness import EmbeddingWatch
from kg_api.graph.search.similar import VectorPart, vectors_of
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation
from kg_api.models.queries.similarity import GraphRequest, RepeatedText, SourceEdge, SourceGraph, SourceNode
from kg_api.search.rank.duplicates import near_duplicates
from kg_api.search.timing import Stopwatch
from kg_api.similarity.edges import Vectors, nearest_pairs
from kg_api.similarity.nodes import ChosenSources, choose_nodes
from kg_api.similarity.parts import MAX_PARTS, evenly
from kg_api.similarity.repeated import describe_repeated, repeated_groups
from kg_api.similarity.scope import under_way
from kg_api.spaces.plans import OntologySnapshot

Pairs = Mapping[tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class _Link:
    """What somebody accepted."""

    proposal_id: str
    similarity: float


_PLACE = set(SourceNode.model_fields) - {"degree", "group", "repeated"}


def build_graph(
    graph: Graph,
    remembered: RememberedFilters,
    request: GraphRequest,
    known: OntologySnapshot,
    progress: EmbeddingWatch,
) -> SourceGraph:
    """Choose the nodes, read their vectors, and compare every pair.

    Raises:
        NotFound: one of the sources to begin with is not there.
        InvalidInput: the filters name too many documents.
    """
    watch = Stopwatch("source_graph")
    with watch.stage("nodes"):
        nodes = choose_nodes(graph, remembered, request, known)
    places = nodes.places
    with watch.stage("vectors"):
        ids = [place.source_id for place in places]
        every = vectors_of(graph, ids, known.answering, known.new)
        vectors = {identity: evenly(parts, MAX_PARTS) for identity, parts in every.items()}
    with watch.stage("groups"):
        groups = [group for group in near_duplicates([place.full_text for place in places]) if group[1:]]
        apart = [] if request.repeated else _apart(places, groups, nodes.seeds)
    with watch.stage("edges"):
        pairs = _pairs(places, vectors, known, request, {at for group in apart for at in group})
        links = _links(graph, places)
        pairs = {**{pair: link.similarity for pair, link in links.items()}, **pairs}
    of_group = {number: at for at, group in enumerate(groups) for number in group}
    spaces = sorted({known.space_of(place.ontology).slug for place in places})
    return SourceGraph(
        nodes=_nodes(places, pairs, of_group, {at for group in apart for at in group}),
        edges=_edges(places, pairs, of_group, links),
        groups=[[places[number].source_id for number in group] for group in groups],
        repeated=[_repeated([places[at] for at in group]) for group in apart],
        total=nodes.total,
        truncated=nodes.total > len(places),
        spaces=spaces,
        degraded=[
            *_describe_degradations(nodes, vectors, spaces),
            *under_way(progress.read(), {place.ontology for place in places}),
        ],
        timings_ms=watch.milliseconds(),
    )


def _pairs(
    places: Sequence[Place],
    vectors: Mapping[str, Sequence[VectorPart]],
    known: OntologySnapshot,
    request: GraphRequest,
    apart: Collection[int],
) -> dict[tuple[int, int], float]:
    """The edges by the numbers of their places, each model's by itself."""
    models: dict[str, list[int]] = {}
    for number, place in enumerate(places):
        if vectors.get(place.source_id) and number not in apart:
            models.setdefault(known.space_of(place.ontology).slug, []).append(number)
    pairs: dict[tuple[int, int], float] = {}
    for numbers in models.values():
        found = nearest_pairs(
            Vectors.of([[part.vector for part in vectors[places[at].source_id]] for at in numbers]),
            [places[at].document_id for at in numbers],
            request.neighbours,
            request.min_similarity,
            across=request.across_documents_only,
        )
        pairs |= {(numbers[a], numbers[b]): similarity for (a, b), similarity in found.items()}
    return pairs


def _apart(
    places: Sequence[Place], same: Sequence[Sequence[int]], seeds: Collection[str] | None
) -> list[list[int]]:
    """What many documents repeat, the most frequent first; not what was asked for."""
    named = [number for number, place in enumerate(places) if place.source_id in (seeds or ())]
    texts, documents = [place.full_text for place in places], [place.document_id for place in places]
    groups = repeated_groups(texts, documents, same, named, whole=seeds is None)
    return sorted(groups, key=lambda group: (-len(group), group))


def _repeated(places: Sequence[Place]) -> RepeatedText:
    documents = len({place.document_id for place in places})
    return describe_repeated(places[0].full_text, documents, [place.source_id for place in places])


def _nodes(
    places: Sequence[Place], pairs: Pairs, groups: Mapping[int, int], apart: Collection[int]
) -> list[SourceNode]:
    degrees = Counter(end for pair in pairs for end in pair)
    return [
        SourceNode(
            **place.model_dump(include=_PLACE),
            degree=degrees[number],
            group=groups.get(number),
            repeated=number in apart,
        )
        for number, place in enumerate(places)
    ]


def _links(graph: Graph, places: Sequence[Place]) -> dict[tuple[int, int], _Link]:
    """The links among the nodes by their numbers."""
    numbers = {place.source_id: number for number, place in enumerate(places)}
    links = dict[tuple[int, int], _Link]()
    for row in links_among(graph, list(numbers)):
        a, b = sorted((numbers[row["a"]], numbers[row["b"]]))
        links[a, b] = _Link(row["proposal_id"], row["similarity"])
    return links


def _edges(
    places: Sequence[Place],
    pairs: Pairs,
    groups: Mapping[int, int],
    links: Mapping[tuple[int, int], _Link],
) -> list[SourceEdge]:
    nearest_first = sorted(pairs.items(), key=lambda each: (-each[1], each[0]))
    return [
        SourceEdge(
            a=places[a].source_id,
            b=places[b].source_id,
            similarity=min(1.0, similarity),
            near_duplicate=a in groups and groups[a] == groups.get(b),
            linked=links[a, b].proposal_id if (a, b) in links else None,
        )
        for (a, b), similarity in nearest_first
    ]


def _describe_degradations(
    nodes: ChosenSources, vectors: Mapping[str, Sequence[VectorPart]], spaces: Sequence[str]
) -> list[Degradation]:
    told = list(nodes.degraded)
    missing = sum(not vectors.get(place.source_id) for place in nodes.places)
    if missing:
        effect = f"{missing} of {len(nodes.places)} sources have no vector yet: they have no edges"
        told.append(Degradation(part="vectors", effect=effect))
    if len(spaces) > 1:
        effect = f"sources of different spaces cannot be compared and have no edges: {', '.join(spaces)}"
        told.append(Degradation(part="vectors", effect=effect))
    if nodes.total > len(nodes.places):
        effect = f"{len(nodes.places):,} of {nodes.total:,} sources; raise max_nodes, or name documents"
        told.append(Degradation(part="query", effect=effect))
    return told

"""Graph to show similar sources: nodes, and edges between the nearest pairs."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from kg_api.errors import NotFound
from kg_api.graph.client import Graph
from kg_api.graph.filters import RememberedFilters
from kg_api.graph.library import find_sources_by_name
from kg_api.graph.names import find_documents_by_name
from kg_api.graph.proposals import read_links
from kg_api.graph.search import Filters
from kg_api.graph.similar import (
    NearSource,
    SimilarityQuery,
    VectorPart,
    describe_places,
    find_nearest,
    list_places,
    read_search_vectors,
)
from kg_api.schemas.search import Degradation, Place
from kg_api.schemas.similarity import GraphRequest, SourceEdge, SourceGraph, SourceNode
from kg_api.search.near import MAX_PARTS, Comparable, build_comparable, deduplicate_sources, sample_evenly
from kg_api.search.notes import Stopwatch, describe_embedding_progress
from kg_api.search.rank import group_near_duplicates
from kg_api.search.scope import Chosen, choose_sources
from kg_api.spaces.snapshot import OntologySnapshot, ProgressReading

# Nearest pairs by exhaustive comparison

Floats = NDArray[np.float32]
BLOCK = 512
"""Number of vectors to compare in a block. If there are 80,000 others, this needs 164 MB."""


@dataclass(frozen=True, slots=True)
class Vectors:
    rows: Floats  # shape (vectors, dimensions), grouped by source
    starts: NDArray[np.int64]  # index of the first vector of each source

    @classmethod
    def join(cls, parts: Sequence[Sequence[Floats]]) -> Vectors:
        """Normalize and join the vectors, if each source has one or more."""
        counts = [len(each) for each in parts]
        rows = np.stack([vector for each in parts for vector in each])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return cls((rows / lengths).astype(np.float32), np.cumsum([0, *counts[:-1]], dtype=np.int64))


def find_nearest_pairs(
    vectors: Vectors, documents: Sequence[str], neighbours: int, least: float | None, *, across: bool
) -> dict[tuple[int, int], float]:
    """Connect each source to the sources that are most similar.

    The similarity of two sources is that of their nearest chunks.

    Args:
        vectors: Vectors of the sources.
        documents: Document of each source.
        neighbours: Neighbours per source. A pair is an edge if either source selects the other.
        least: Minimum similarity of an edge.
        across: Connect only sources of different documents.

    Returns:
        The cosine of each pair of indexes (a, b) with a < b.
    """
    of_document = np.unique(np.asarray(documents), return_inverse=True)[1]
    pairs: dict[tuple[int, int], float] = {}
    for begin, end in _split_blocks(vectors):
        # Similarity of the block with all sources, shape (block, all)
        starts = vectors.starts
        rows = vectors.rows[starts[begin] : starts[end] if end < len(starts) else None]
        every = np.maximum.reduceat(rows @ vectors.rows.T, starts, axis=1)
        block = np.maximum.reduceat(every, starts[begin:end] - starts[begin], axis=0)
        numbers = np.arange(begin, end)
        block[numbers - begin, numbers] = -np.inf
        if across:
            block[of_document[numbers][:, None] == of_document[None, :]] = -np.inf
        for number, row in zip(numbers.tolist(), block, strict=True):
            for other in _find_best(row, neighbours, least):
                pairs[min(number, other), max(number, other)] = float(row[other])
    return pairs


def _split_blocks(vectors: Vectors) -> Iterator[tuple[int, int]]:
    """Yield ranges of sources that have about `BLOCK` vectors, at least one source each."""
    begin = 0
    while begin < len(vectors.starts):
        ends = [*vectors.starts[1:].tolist(), len(vectors.rows)]  # per source
        end = max(begin + 1, bisect_right(ends, int(vectors.starts[begin]) + BLOCK))
        yield begin, end
        begin = end


def _find_best(row: Floats, count: int, least: float | None) -> list[int]:
    """Find the largest values, to get their indexes. If values are equal, use the first."""
    kept = np.flatnonzero(row > -np.inf if least is None else row >= least)
    if len(kept) > count:
        worst = -np.partition(-row[kept], count - 1)[count - 1]
        kept = kept[row[kept] >= worst]
    order = np.lexsort((kept, -row[kept]))
    return kept[order][:count].tolist()


# Node selection

SEED_PARTS = 4  # chunks of a start source used as queries
PASSAGES_A_SOURCE = 3  # passages fetched per neighbour, because several may belong to one source


@dataclass(frozen=True, slots=True)
class ChosenSources:
    """Nodes in reading order, and how many sources there are."""

    places: list[Place]
    total: int
    degraded: list[Degradation] = field(default_factory=list[Degradation])


def choose_nodes(
    graph: Graph, remembered: RememberedFilters, request: GraphRequest, known: OntologySnapshot
) -> ChosenSources:
    """Choose the requested sources and their neighbours, or the sources in the selected documents.

    Raises:
        NotFound: A requested ontology, document, or source does not exist.
        Conflict: A requested name is ambiguous.
        InvalidInput: The filters match too many documents or use an unknown field.
    """
    known.require_known(request.ontologies)
    if request.source_ids is not None:
        fitting = _build_filter(graph, remembered, request, None)
        return _find_neighbourhood(
            graph, request, find_sources_by_name(graph, request.source_ids), known, fitting
        )
    wanted = list(known.embedding_states) if request.ontologies is None else request.ontologies
    named = request.documents
    named_documents = (
        None
        if named is None
        else find_documents_by_name(graph, named, known.keep_existing(request.ontologies))
    )
    ids = (
        None
        if named_documents is None
        else [each for of_ontology in named_documents.values() for each in of_ontology]
    )
    fitting = _build_filter(graph, remembered, request, ids)
    filters = fitting.filters
    places, total = list_places(graph, wanted, filters.document_ids, request.max_nodes, filters.sources)
    return ChosenSources(places, total, [*fitting.notes])


def _build_filter(
    graph: Graph, remembered: RememberedFilters, request: GraphRequest, ids: Sequence[str] | None
) -> Chosen:
    """Use the filter from the request, within some documents or all."""
    within = Filters(request.ontologies, ids)
    return choose_sources(graph, remembered, request.where, within) if request.where else Chosen(within)


def _find_neighbourhood(
    graph: Graph, request: GraphRequest, source_ids: Sequence[str], known: OntologySnapshot, fitting: Chosen
) -> ChosenSources:
    """Find the start sources and those that are most similar, up to `max_nodes`."""
    seeds = describe_places(graph, source_ids)
    if missing := sorted(set(source_ids) - {place.source_id for place in seeds}):
        names = ", ".join(map(repr, missing[:10]))
        raise NotFound(f"source {names} not found. Its document may have changed since your search")
    parts = read_search_vectors(graph, source_ids, known.answering, known.new)
    scopes = {space.slug: space for space in (known.get_space(place.ontology) for place in seeds)}
    found: list[NearSource] = []
    degraded = [*fitting.notes]
    for space in scopes.values():
        filters = fitting.filters
        compared = build_comparable(space, request.ontologies, known)
        scope = replace(compared, documents=filters.document_ids, sources=filters.sources)
        own = [place for place in seeds if known.get_space(place.ontology).slug == space.slug]
        found += _find_neighbours(graph, _to_queries(own, parts, request), scope, request)
        degraded += scope.degradations()
    nearest_first = sorted(found, key=lambda near: (-near.similarity, near.place.source_id))
    every: dict[str, Place] = {
        place.source_id: place for place in (*seeds, *(near.place for near in nearest_first))
    }
    kept = sorted(
        [*every.values()][: request.max_nodes],
        key=lambda p: (p.ontology, p.document, p.document_id, p.paragraph),
    )
    return ChosenSources(kept, len(every), degraded)


def _to_queries(
    seeds: Sequence[Place], parts: dict[str, list[VectorPart]], request: GraphRequest
) -> list[SimilarityQuery]:
    return [
        SimilarityQuery(place, own[:SEED_PARTS], same_document=not request.across_documents_only)
        for place in seeds
        if (own := parts.get(place.source_id))
    ]


def _find_neighbours(
    graph: Graph, queries: Sequence[SimilarityQuery], scope: Comparable, request: GraphRequest
) -> Iterator[NearSource]:
    """Yield the nearest sources for each query, from both index slots in the space.

    With a document filter, a search across documents needs one request per query document, because the
    filter list must exclude that document.
    """
    depth = PASSAGES_A_SOURCE * request.neighbours + 1
    for some, among in _build_lookups(queries, scope, across=request.across_documents_only):
        found = [
            near
            for space, names in scope.slots
            for near in find_nearest(
                graph, some, space, names, depth, document_ids=among, sources=scope.sources
            )[0]
        ]
        for number, each in enumerate(some):
            own = sorted((near for near in found if near.asked == number), key=lambda near: -near.similarity)
            once = list(deduplicate_sources(own, each.place.source_id, request.min_similarity))
            yield from once[: request.neighbours]


def _build_lookups(
    queries: Sequence[SimilarityQuery], scope: Comparable, *, across: bool
) -> Iterator[tuple[Sequence[SimilarityQuery], Sequence[str] | None]]:
    """Yield queries to send together, each with its document filter."""
    if scope.documents is None or not across:
        yield queries, scope.documents
        return
    for own in dict.fromkeys(each.place.document_id for each in queries):
        of_document = [each for each in queries if each.place.document_id == own]
        yield of_document, [each for each in scope.documents if each != own]


# Graph of similar sources

Pairs = Mapping[tuple[int, int], float]


@dataclass(frozen=True, slots=True)
class _Link:
    """An accepted link."""

    proposal_id: str
    similarity: float


_PLACE = set(SourceNode.model_fields) - {"degree", "group"}


def build_graph(
    graph: Graph,
    remembered: RememberedFilters,
    request: GraphRequest,
    known: OntologySnapshot,
    progress: ProgressReading,
) -> SourceGraph:
    """Select the nodes, read their vectors, and compare all pairs.

    Raises:
        NotFound: A start source does not exist.
        InvalidInput: The filters match too many documents.
    """
    watch = Stopwatch("source_graph")
    with watch.stage("nodes"):
        nodes = choose_nodes(graph, remembered, request, known)
    places = nodes.places
    with watch.stage("vectors"):
        ids = [place.source_id for place in places]
        every = read_search_vectors(graph, ids, known.answering, known.new)
        vectors = {identity: sample_evenly(parts, MAX_PARTS) for identity, parts in every.items()}
    with watch.stage("groups"):
        groups = [
            group for group in group_near_duplicates([place.full_text for place in places]) if group[1:]
        ]
    with watch.stage("edges"):
        pairs = _find_pairs(places, vectors, known, request)
        links = _read_links(graph, places)
        pairs = {**{pair: link.similarity for pair, link in links.items()}, **pairs}
    of_group = {number: at for at, group in enumerate(groups) for number in group}
    spaces = sorted({known.get_space(place.ontology).slug for place in places})
    return SourceGraph(
        nodes=_build_nodes(places, pairs, of_group),
        edges=_build_edges(places, pairs, of_group, links),
        groups=[[places[number].source_id for number in group] for group in groups],
        total=nodes.total,
        truncated=nodes.total > len(places),
        spaces=spaces,
        degraded=[
            *_describe_degradations(nodes, vectors, spaces),
            *describe_embedding_progress(progress.get(), {place.ontology for place in places}),
        ],
        timings_ms=watch.get_milliseconds(),
    )


def _find_pairs(
    places: Sequence[Place],
    vectors: Mapping[str, Sequence[VectorPart]],
    known: OntologySnapshot,
    request: GraphRequest,
) -> dict[tuple[int, int], float]:
    """Return the edges by node index. Models are compared separately."""
    models: dict[str, list[int]] = {}
    for number, place in enumerate(places):
        if vectors.get(place.source_id):
            models.setdefault(known.get_space(place.ontology).slug, []).append(number)
    pairs: dict[tuple[int, int], float] = {}
    for numbers in models.values():
        found = find_nearest_pairs(
            Vectors.join([[part.vector for part in vectors[places[at].source_id]] for at in numbers]),
            [places[at].document_id for at in numbers],
            request.neighbours,
            request.min_similarity,
            across=request.across_documents_only,
        )
        pairs |= {(numbers[a], numbers[b]): similarity for (a, b), similarity in found.items()}
    return pairs


def _build_nodes(places: Sequence[Place], pairs: Pairs, groups: Mapping[int, int]) -> list[SourceNode]:
    degrees = Counter(end for pair in pairs for end in pair)
    return [
        SourceNode(**place.model_dump(include=_PLACE), degree=degrees[number], group=groups.get(number))
        for number, place in enumerate(places)
    ]


def _read_links(graph: Graph, places: Sequence[Place]) -> dict[tuple[int, int], _Link]:
    """Return accepted links by node index."""
    numbers = {place.source_id: number for number, place in enumerate(places)}
    links = dict[tuple[int, int], _Link]()
    for row in read_links(graph, list(numbers)):
        a, b = sorted((numbers[row["a"]], numbers[row["b"]]))
        links[a, b] = _Link(row["proposal_id"], row["similarity"])
    return links


def _build_edges(
    places: Sequence[Place], pairs: Pairs, groups: Mapping[int, int], links: Mapping[tuple[int, int], _Link]
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
    degradations = list(nodes.degraded)
    missing = sum(not vectors.get(place.source_id) for place in nodes.places)
    if missing:
        effect = f"{missing} of {len(nodes.places)} sources have no vector yet: they have no edges"
        degradations.append(Degradation(part="vectors", effect=effect))
    if len(spaces) > 1:
        effect = f"sources of different spaces cannot be compared and have no edges: {', '.join(spaces)}"
        degradations.append(Degradation(part="vectors", effect=effect))
    if nodes.total > len(nodes.places):
        effect = f"{len(nodes.places):,} of {nodes.total:,} sources. Raise max_nodes, or name documents"
        degradations.append(Degradation(part="query", effect=effect))
    return degradations

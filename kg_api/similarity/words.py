"""What is like a source by its words: for sources that have no vector."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from kg_api.graph.database import Graph
from kg_api.graph.filters.sources import SourceFilter
from kg_api.graph.fulltext.queries import MAX_TERMS, SCOPES_A_QUERY, lucene_queries, terms
from kg_api.graph.search.passages import Filters, LaneHit, SpaceVectors
from kg_api.graph.search.words import WordedAmong, by_text
from kg_api.models.identity import scope_of_document
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation
from kg_api.models.queries.similarity import SimilarSearch, SimilarSource
from kg_api.search.places import PlaceReader
from kg_api.similarity.grouping import duplicate_of, together_by_words
from kg_api.similarity.parts import to_matched_chunk
from kg_api.similarity.scope import Comparable

NO_VECTORS = SpaceVectors(vectors={}, properties={}, spaces={})
MAX_HITS = 1000

Scored = tuple[Place, float]
"""A source, and how much of the words it shares."""


def similar_by_words(
    graph: Graph, own: Place, request: SimilarSearch, scope: Comparable
) -> list[SimilarSource]:
    """The sources that share most words with one, the best first; of those that are looked at."""
    within = Filters(request.ontologies, scope.documents, scope.sources)
    limit = max(50, 3 * request.limit)
    while True:
        found = _find(graph, own, request, limit, within)
        groups = _groups(own, found, together=request.group_duplicates)
        if len(groups) >= request.limit or len(found) < limit - 1 or limit >= MAX_HITS:
            return groups[: request.limit]
        limit = min(MAX_HITS, 4 * limit)


def why(own: Place, request: SimilarSearch) -> list[Degradation]:
    """What is different when words are compared."""
    effect = "the source has no vector yet: what shares its words was looked for, which says less"
    told = [Degradation(part="vectors", effect=effect)]
    left_out = len(terms(own.full_text)) - MAX_TERMS
    if left_out > 0:
        effect = f"its first {MAX_TERMS} words were used, {left_out} were left out"
        told.append(Degradation(part="query", effect=effect))
    if request.min_similarity is not None:
        told.append(Degradation(part="query", effect="min_similarity was not applied: it needs vectors"))
    return told


def _find(graph: Graph, own: Place, request: SimilarSearch, limit: int, within: Filters) -> list[Scored]:
    besides = None if request.same_document else own.document_id
    best = sharing_words(graph, own, within, limit, besides=besides)
    scores = {each.source.source_id: each.score for each in best}
    places = PlaceReader(graph).read(scores)
    return [(places[each], score) for each, score in scores.items() if each in places]


def sharing_words(
    graph: Graph, own: Place, within: Filters, limit: int, *, besides: str | None = None
) -> list[LaneHit]:
    """The sources that share most words with one, the best first, without itself.

    Args:
        graph: where they are.
        own: whose words.
        within: where to look.
        limit: how many.
        besides: a document that is left out.
    """
    documents = within.document_ids
    behind = documents is not None and len(documents) > SCOPES_A_QUERY
    queries = lucene_queries(terms(own.full_text), within.ontologies, None if behind else documents)
    if besides is not None:
        queries = [f"{query} -scope:{scope_of_document(besides)}" for query in queries]
    among = documents if behind else None
    every = chain.from_iterable(_by_text(graph, query, limit, among, within.sources) for query in queries)
    best = sorted(every, key=lambda each: (-each.score, each.source.source_id))[:limit]
    return [each for each in best if each.source.source_id != own.source_id]


def _by_text(
    graph: Graph, query: str, limit: int, documents: Sequence[str] | None, sources: SourceFilter
) -> Sequence[LaneHit]:
    if documents is None and not sources:
        return by_text(graph, query, NO_VECTORS, limit)
    among = WordedAmong(query, NO_VECTORS, limit, documents, sources=sources)
    (found,) = graph.look_up([among.lookup])
    return among.hits(graph, found).found


def _groups(own: Place, found: Sequence[Scored], *, together: bool) -> list[SimilarSource]:
    groups = together_by_words(own, [place for place, _ in found], together=together)
    return [
        _present(own, found[first], [found[other] for other in others], near_duplicate=copy)
        for copy, (first, *others) in groups
    ]


def _present(own: Place, found: Scored, others: Sequence[Scored], *, near_duplicate: bool) -> SimilarSource:
    place, score = found
    return SimilarSource(
        **place.model_dump(),
        similarity=None,
        score=score,
        chunk=to_matched_chunk(place),
        own_chunk=to_matched_chunk(own),
        near_duplicate=near_duplicate,
        duplicates=[duplicate_of(other, None) for other, _ in others],
    )

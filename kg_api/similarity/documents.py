"""Which documents are like a document: by the passages of both that are near to each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from kg_api.errors import Unavailable
from kg_api.graph.database import Graph
from kg_api.graph.documents.library import find_document
from kg_api.graph.readiness import EmbeddingWatch, IndexWatch
from kg_api.graph.search.similar import NearSource, SimilarityQuery, nearest, places_in, vectors_of
from kg_api.models.queries.places import Place
from kg_api.models.queries.search import Degradation
from kg_api.models.queries.similarity import (
    AlikePair,
    SimilarDocument,
    SimilarDocuments,
    SimilarDocumentSearch,
)
from kg_api.search.rank.duplicates import MIN_OVERLAP, overlap
from kg_api.search.timing import Stopwatch
from kg_api.similarity.parts import evenly
from kg_api.similarity.repeated import MIN_DOCUMENTS, describe_repeated, repeats
from kg_api.similarity.scope import Comparable, comparable, under_way
from kg_api.spaces.plans import OntologySnapshot

MAX_SOURCES = 200
"""Of a longer document the first so many are compared."""
MAX_PARTS = 4
"""Chunks of one source that are compared; of more, so many that are spread evenly."""
EACH = 30
"""Passages of other documents that are looked at for each source."""
TOGETHER = 20

Best = dict[int, NearSource]
"""By the number of the own source: what is nearest to it in one document."""


def similar_documents(
    graph: Graph,
    document_id: str,
    request: SimilarDocumentSearch,
    known: OntologySnapshot,
    *,
    watches: tuple[IndexWatch, EmbeddingWatch],
    among: Callable[[Comparable, str], Comparable],
) -> SimilarDocuments:
    """Find the documents that are most like one.

    Args:
        graph: where they are.
        document_id: what to compare.
        request: what to look for.
        known: all ontologies.
        watches: what may not be ready.
        among: narrows what is looked into to the documents of a filter.

    Raises:
        NotFound: there is no such document.
        Unavailable: the vector index is still being filled.
    """
    watch, (indexes, progress) = Stopwatch("similar_documents"), watches
    document = find_document(graph, document_id)
    places, total = places_in(graph, [document.ontology], [document.document_id], MAX_SOURCES)
    scope = comparable(known.space_of(document.ontology), request.ontologies, known)
    scope = among(scope, document.document_id)
    if waiting := indexes.populating(*(space.index_name for space, _ in scope.slots)):
        raise Unavailable(
            f"the vector index {', '.join(waiting)} is still being filled; try again in a moment"
        )
    with watch.stage("vectors"):
        asked = _to_queries(graph, places, known)
    with watch.stage("nearest"):
        every = list(_nearest(graph, asked, scope))
    with watch.stage("repeated"):
        apart = {} if request.repeated else _apart(asked, every)
    found = _find_best((each for each in every if each[0] not in apart), request.min_similarity)
    own, compared = [each.place for each in asked], len(asked) - len(apart)
    alike = [_present(best, own, compared, request.pairs) for best in found.values()]
    best_first = sorted(alike, key=lambda each: (-each.score, each.ontology, each.document))
    return SimilarDocuments(
        document_id=document_id,
        ontology=document.ontology,
        document=document.document,
        sources=total,
        compared=compared,
        space=scope.space.slug,
        documents=best_first[: request.limit],
        repeated=[
            describe_repeated(own[at].full_text, count, [own[at].source_id]) for at, count in apart.items()
        ],
        degraded=[
            *_describe_left_out(places, total, len(asked)),
            *scope.degradations(),
            *under_way(progress.read(), scope.ontologies),
        ],
        timings_ms=watch.milliseconds(),
    )


def _to_queries(graph: Graph, places: Sequence[Place], known: OntologySnapshot) -> list[SimilarityQuery]:
    vectors = vectors_of(graph, [place.source_id for place in places], known.answering, known.new)
    return [
        SimilarityQuery(place, evenly(vectors[place.source_id], MAX_PARTS))
        for place in places
        if vectors.get(place.source_id)
    ]


def _find_best(nears: Iterable[tuple[int, NearSource]], least: float | None) -> Mapping[str, Best]:
    """By document: for each own source what is nearest to it there."""
    found: defaultdict[str, Best] = defaultdict(dict)
    for at, near in nears:
        if least is None or near.similarity >= least:
            best = found[near.place.document_id]
            if at not in best or near.similarity > best[at].similarity:
                best[at] = near
    return found


def _apart(asked: Sequence[SimilarityQuery], nears: Iterable[tuple[int, NearSource]]) -> dict[int, int]:
    """Which sources many documents repeat, and how many; none where that is most of the document."""
    others: defaultdict[int, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for at, near in nears:
        others[at][near.place.document_id].append(near.place.full_text)
    counts = {at: repeats(asked[at].place.full_text, others[at]) for at in sorted(others)}
    found = {at: count for at, count in counts.items() if count >= MIN_DOCUMENTS}
    return found if 2 * len(found) <= len(asked) else {}


def _nearest(
    graph: Graph, asked: Sequence[SimilarityQuery], scope: Comparable
) -> Iterable[tuple[int, NearSource]]:
    for begin in range(0, len(asked), TOGETHER):
        for space, names in scope.slots:
            nears, _ = nearest(
                graph, asked[begin : begin + TOGETHER], space, names, EACH, document_ids=scope.documents
            )
            yield from ((begin + near.asked, near) for near in nears)


def _present(best: Best, own: Sequence[Place], compared: int, most: int) -> SimilarDocument:
    nearest_first = sorted(best.items(), key=lambda each: (-each[1].similarity, each[0]))
    place = nearest_first[0][1].place
    return SimilarDocument(
        document_id=place.document_id,
        ontology=place.ontology,
        document=place.document,
        similarity=nearest_first[0][1].similarity,
        score=sum(near.similarity for near in best.values()) / compared,
        sources=len(best),
        pairs=[_pair(own[at], near) for at, near in nearest_first[:most]],
    )


def _pair(own: Place, near: NearSource) -> AlikePair:
    same = overlap(own.full_text, near.place.full_text) >= MIN_OVERLAP
    return AlikePair(own=own, other=near.place, similarity=near.similarity, near_duplicate=same)


def _describe_left_out(places: Sequence[Place], total: int, compared: int) -> list[Degradation]:
    effects: list[str] = []
    if total > len(places):
        effects.append(f"the document has {total} sources: the first {len(places)} were compared")
    if missing := len(places) - compared:
        effects.append(f"{missing} sources of the document have no vector: they were not compared")
    return [Degradation(part="vectors", effect=effect) for effect in effects]

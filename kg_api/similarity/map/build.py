"""Making a map: axes by a part of the vectors, points of all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

import numpy as np

from kg_api.graph.database import Graph
from kg_api.graph.search.similar import count_sources
from kg_api.models.communities.communities import Community
from kg_api.models.queries.search import Degradation
from kg_api.models.queries.similarity import MapCommunity, PassageMap
from kg_api.search.timing import Stopwatch
from kg_api.similarity.map.projection import Projection, fitted
from kg_api.similarity.map.reading import PassagePortion, read_documents, read_passages
from kg_api.spaces.plans import OntologySnapshot

FITTED: Final = 3000
"""Vectors that the axes are found by; more move them by nothing that can be seen."""
DIGITS: Final = 4
"""Of a coordinate: a ten-thousandth of the picture."""


def build_map(
    graph: Graph, ontology: str, limit: int, communities: Sequence[Community], known: OntologySnapshot
) -> PassageMap:
    """Make the map of an ontology.

    Args:
        graph: where it is.
        ontology: which; it is there.
        limit: so many passages at most.
        communities: of its coarsest level, those that are named.
        known: all ontologies.
    """
    watch = Stopwatch("passage_map")
    total = count_sources(graph, [ontology])
    with watch.stage("points"):
        read, points, explained = _points(
            read_passages(graph, ontology, limit, known, grouped=bool(communities))
        )
    with watch.stage("documents"):
        ids = list(dict.fromkeys(chain.from_iterable(each.documents for each in read)))
        documents = read_documents(graph, ids)
    numbers = {each: at for at, each in enumerate(ids)}
    groups = {each.community_id: at for at, each in enumerate(communities)}
    of = [each for portion in read for each in portion.communities]
    return PassageMap(
        ontology=ontology,
        space=known.space_of(ontology).slug,
        source_ids=[each for portion in read for each in portion.source_ids],
        x=points[:, 0].round(DIGITS).tolist(),
        y=points[:, 1].round(DIGITS).tolist(),
        document=[numbers[each] for portion in read for each in portion.documents],
        community=[None if each is None else groups.get(each) for each in of],
        documents=documents,
        communities=[MapCommunity(community_id=each.community_id, name=each.name) for each in communities],
        total=total,
        explained=explained,
        degraded=[*_describe(total, min(limit, total), len(points)), *_unnamed({*of} - {None, *groups})],
        timings_ms=watch.milliseconds(),
    )


Pieces = list[PassagePortion]


def _points(passages: Iterable[PassagePortion]) -> tuple[Pieces, np.ndarray, tuple[float, float]]:
    """All passages without their vectors, and where each is."""
    coming = iter(passages)
    first = _first(coming)
    if not first:
        return [], np.empty((0, 2)), (0.0, 0.0)
    axes = Projection.of(np.concatenate([each.vectors for each in first]))
    read, points = Pieces(), list[np.ndarray]()
    for each in chain(first, coming):
        if each.source_ids:
            points.append(axes.points(each.vectors))
            read.append(PassagePortion(each.source_ids, each.documents, each.communities, each.vectors[:0]))
    return read, fitted(np.concatenate(points)), axes.explained


def _first(coming: Iterator[PassagePortion]) -> Pieces:
    """So many as the axes are found by."""
    found, count = Pieces(), 0
    for each in coming:
        if each.source_ids:
            found.append(each)
            count += len(each.source_ids)
        if count >= FITTED:
            break
    return found


def _describe(total: int, read: int, shown: int) -> list[Degradation]:
    told = list[Degradation]()
    if read < total:
        effect = f"{read:,} of {total:,} passages, drawn by lot; raise limit to have more of them"
        told.append(Degradation(part="query", effect=effect))
    if shown < read:
        effect = f"{read - shown:,} of {read:,} passages have no vector yet: they are left out"
        told.append(Degradation(part="vectors", effect=effect))
    return told


def _unnamed(communities: Collection[str | None]) -> list[Degradation]:
    if not communities:
        return []
    effect = f"{len(communities):,} communities beyond the largest are shown as if passages were of none"
    return [Degradation(part="concepts", effect=effect)]

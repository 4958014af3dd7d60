"""Map to show the passages in an ontology, using their vectors in two dimensions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kg_api.graph.client import Graph, split_into_portions
from kg_api.graph.similar import count_sources, read_search_vectors
from kg_api.schemas.metadata import parse_moments
from kg_api.schemas.search import Degradation
from kg_api.schemas.similarity import MapDocument, PassageMap
from kg_api.search.notes import Stopwatch
from kg_api.spaces.snapshot import OntologySnapshot

# Projection to two dimensions by principal components of a sample

Floats = NDArray[np.float32]
AXES: Final = 2
DIRECTIONS: Final = 10  # more directions need fewer rounds
ROUNDS: Final = 12


@dataclass(frozen=True, slots=True)
class Projection:
    """Projection onto the two axes with the greatest variance, through the mean vector."""

    middle: NDArray[np.float64]  # shape (dimensions,)
    axes: NDArray[np.float64]
    """Orthonormal axes, shape (2, dimensions), in descending order of variance."""
    explained: tuple[float, float]  # share of the variance per axis, 0 to 1

    @classmethod
    def fit(cls, vectors: Floats) -> Projection:
        """Compute a principal component analysis (Pearson 1901) by subspace iteration (Halko et al. 2011).

        A fixed random basis rotates toward the directions of greatest variance. The covariance matrix
        (dimensions squared) is never computed. The largest component of each axis is positive, so that the
        same vectors never give a mirrored map (as svd_flip in scikit-learn).

        Args:
            vectors: Shape (at least 1, at least 2).
        """
        middle = vectors.mean(axis=0, dtype=np.float64)
        apart = (vectors - middle).astype(np.float32)
        basis = _compute_directions(apart)
        _, lengths, turned = np.linalg.svd(apart @ basis, full_matrices=False)
        axes = np.zeros((AXES, apart.shape[1]))  # a single vector has only one direction
        axes[: len(turned)] = turned[:AXES] @ basis.T
        largest = np.abs(axes).argmax(axis=1)
        axes *= np.where(axes[np.arange(AXES), largest] < 0, -1.0, 1.0)[:, None]
        total = float(np.square(apart).sum()) or 1.0
        first, second, *_ = [*map(float, np.square(lengths) / total), 0.0]
        return cls(middle, axes, (first, second))

    def project(self, vectors: Floats) -> NDArray[np.float64]:
        """Compute the coordinates for vectors, shape (vectors, 2)."""
        return (vectors - self.middle) @ self.axes.T


def _compute_directions(apart: Floats) -> Floats:
    """Compute directions with the greatest variance, shape (dimensions, few)."""
    dimensions = apart.shape[1]
    begin = np.random.default_rng(0).standard_normal((dimensions, min(DIRECTIONS, dimensions)))
    basis = begin.astype(np.float32)
    for _ in range(ROUNDS):
        basis, _ = np.linalg.qr(apart.T @ (apart @ basis))
    return basis


def scale_points(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale points to -1 to 1, with the same factor for both axes."""
    furthest = np.abs(points).max() if len(points) else 0.0
    return points / furthest if furthest else points


# Reading in portions, to limit memory

PORTION: Final = 1000
DAY: Final = 10  # length of `2025-01-31`


@dataclass(frozen=True, slots=True)
class PassagePortion:
    """Passages that have vectors, with their documents."""

    source_ids: list[str]
    documents: list[str]  # ids
    vectors: NDArray[np.float32]


def read_passages(
    graph: Graph, ontology: str, limit: int, known: OntologySnapshot
) -> Iterator[PassagePortion]:
    """Yield passages that have vectors, from the first `limit` passages by id.

    Ids are hashes, so this is a random sample.
    """
    after, left = "", limit
    while left > 0:
        wanted = min(left, PORTION)
        rows = graph.read("similar/of_ontology", ontology=ontology, after=after, limit=wanted)
        if not rows:
            return
        after, left = rows[-1]["source_id"], left - len(rows)
        documents = {row["source_id"]: row["document_id"] for row in rows}
        found = read_search_vectors(graph, list(documents), known.answering, known.new)
        parts = {each: found[each] for each in documents if found.get(each)}
        means = [np.mean([part.vector for part in each], axis=0) for each in parts.values()]
        yield PassagePortion(
            source_ids=list(parts),
            documents=[documents[each] for each in parts],
            vectors=np.array(means, dtype=np.float32),
        )


def read_documents(graph: Graph, document_ids: Sequence[str]) -> list[MapDocument]:
    rows = [
        row
        for some in split_into_portions(document_ids, PORTION)
        for row in graph.read("documents/about", document_ids=list(some))
    ]
    there = {row["document_id"]: row for row in rows}
    return [_build_document(each, there.get(each)) for each in document_ids]


def _build_document(document_id: str, row: dict[str, Any] | None) -> MapDocument:
    if row is None:
        return MapDocument(document_id=document_id, document=document_id, title=document_id)
    return MapDocument(
        document_id=document_id,
        document=row["document"],
        title=row["title"],
        date=_get_day(json.loads(row["metadata"] or "{}").get("date")),
    )


def _get_day(given: object) -> str | None:
    """Return the first date of a document."""
    found = parse_moments(given)
    return found[0].start.isoformat()[:DAY] if found else None


# Map: axes from a sample, coordinates of all passages

FITTED: Final = 3000  # vectors that determine the axes, because more make no visible difference
DIGITS: Final = 4  # decimal places, one ten-thousandth of the map


def build_map(graph: Graph, ontology: str, limit: int, known: OntologySnapshot) -> PassageMap:
    """Build the map of an existing ontology."""
    watch = Stopwatch("passage_map")
    total = count_sources(graph, [ontology])
    with watch.stage("points"):
        read, points, explained = _compute_points(read_passages(graph, ontology, limit, known))
    with watch.stage("documents"):
        ids = list(dict.fromkeys(chain.from_iterable(each.documents for each in read)))
        documents = read_documents(graph, ids)
    numbers = {each: at for at, each in enumerate(ids)}
    return PassageMap(
        ontology=ontology,
        space=known.get_space(ontology).slug,
        source_ids=[each for portion in read for each in portion.source_ids],
        x=points[:, 0].round(DIGITS).tolist(),
        y=points[:, 1].round(DIGITS).tolist(),
        document=[numbers[each] for portion in read for each in portion.documents],
        documents=documents,
        total=total,
        explained=explained,
        degraded=_describe(total, min(limit, total), len(points)),
        timings_ms=watch.get_milliseconds(),
    )


Pieces = list[PassagePortion]


def _compute_points(passages: Iterable[PassagePortion]) -> tuple[Pieces, np.ndarray, tuple[float, float]]:
    """Compute the coordinates, and how much of the variance they explain.

    The passages no longer have vectors.
    """
    coming = iter(passages)
    first = _collect_first(coming)
    if not first:
        return [], np.empty((0, 2)), (0.0, 0.0)
    axes = Projection.fit(np.concatenate([each.vectors for each in first]))
    read, points = Pieces(), list[np.ndarray]()
    for each in chain(first, coming):
        if each.source_ids:
            points.append(axes.project(each.vectors))
            read.append(PassagePortion(each.source_ids, each.documents, each.vectors[:0]))
    return read, scale_points(np.concatenate(points)), axes.explained


def _collect_first(coming: Iterator[PassagePortion]) -> Pieces:
    """Collect the passages that are used to compute the axes."""
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
        effect = f"{read:,} of {total:,} passages, sampled at random. Raise limit to include more"
        told.append(Degradation(part="query", effect=effect))
    if shown < read:
        effect = f"{read - shown:,} of {read:,} passages have no vector yet and are missing"
        told.append(Degradation(part="vectors", effect=effect))
    return told

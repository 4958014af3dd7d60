"""The concept graph of an ontology: which passages and relationships carry which concepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from kg_api.communities.association import Matrix
from kg_api.graph.communities.concept_graph import (
    TiedConcept,
    fewest_ties,
    read_carried,
    read_tied,
)
from kg_api.graph.database import Graph


@dataclass(frozen=True, slots=True)
class ConceptGraph:
    """Concepts, and what carries them."""

    concept_ids: list[str]
    """In their order."""
    incidence: Matrix
    """Rows by concepts: a row is a source, or a relationship or link, which counts as a source of two."""


class _Rows:
    """Rows of a matrix of ones, as they come: four bytes for each."""

    def __init__(self, places: dict[str, int]) -> None:
        self._places = places
        self._columns = list[np.ndarray[tuple[int], np.dtype[np.int32]]]()
        self._ends = list[np.ndarray[tuple[int], np.dtype[np.int64]]]()

    def add(self, rows: Iterable[Iterable[str]]) -> None:
        """Add rows; concepts that are not among the chosen are left out, and rows without any."""
        known = ([self._places[each] for each in row if each in self._places] for row in rows)
        kept = [row for row in known if row]
        self._columns.append(np.array([place for row in kept for place in row], dtype=np.int32))
        self._ends.append(np.array([len(row) for row in kept], dtype=np.int64))

    def matrix(self) -> Matrix:
        """All rows by all concepts, CSR."""
        from scipy import sparse  # noqa: PLC0415 - only the job needs it

        columns = np.concatenate([np.zeros(0, np.int32), *self._columns])
        ends = np.concatenate([np.zeros(1, np.int64), *self._ends]).cumsum()
        shape = (len(ends) - 1, len(self._places))
        return sparse.csr_array((np.ones(len(columns), np.float32), columns, ends), shape=shape)


def read_concept_graph(
    graph: Graph, ontology: str, *, most: int, between: Callable[[], None]
) -> ConceptGraph:
    """Read the concepts of an ontology that several sources or relationships tie, and what ties them.

    Args:
        graph: where it is.
        ontology: its name.
        most: so many concepts at most, those of most ties.
        between: called between portions; what it raises goes through.
    """
    ids, related = list[str](), list[TiedConcept]()
    for portion in read_tied(graph, ontology, fewest_ties(graph, ontology, most)):
        between()
        ids += (each.concept_id for each in portion)
        related += (each for each in portion if each.related)
    rows = _Rows({each: place for place, each in enumerate(ids)})
    for carried in read_carried(graph, ontology):
        between()
        rows.add(carried)
    for each in related:
        rows.add([(each.concept_id, other) for other, times in each.related for _ in range(times)])
    return ConceptGraph(ids, rows.matrix())

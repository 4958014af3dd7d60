"""Filters and limits: what of the nodes and edges there are is kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kg_api.constructive.progress import QueryProgress
from kg_api.constructive.proving import appearing_in, stated_by
from kg_api.constructive.working_set import WorkingNode
from kg_api.graph.database import Graph
from kg_api.graph.filters.remembered import RememberedFilters
from kg_api.models.constructive.query import FilterStep, LimitStep
from kg_api.models.constructive.subgraph import Cut
from kg_api.models.queries.filters import Clause
from kg_api.search.plan.chosen import choose
from kg_api.wording.plural import pluralize


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Which documents are meant; see `kg_api.search.plan.chosen.Narrowing`."""

    ontologies: Sequence[str] | None
    documents: Sequence[str] | None
    where: Sequence[Clause] | None


class NodeFilter:
    """Filters nodes by their kind and by their documents."""

    def __init__(self, graph: Graph, remembered: RememberedFilters) -> None:
        self._graph = graph
        self._remembered = remembered

    def filter(self, step: FilterStep, number: int, progress: QueryProgress) -> int:
        """Keep what fits; how many nodes went.

        Raises:
            InvalidInput: a condition is of a field that no document has, and another one is called nearly so.
            Conflict: several documents' ids begin with digits that are named.
        """
        ids = self._chosen(step, number, progress)
        removed = 0
        if step.kinds is not None:
            removed += progress.built.keep(lambda node: node.kind in (step.kinds or ()))
        if ids is not None:
            removed += self._keep_of(ids, progress)
        if removed:
            effect = f"{pluralize(removed, 'node')} left out that the filter does not fit"
            progress.cut.append(Cut(by="filter", left_out=removed, effect=effect))
        return removed

    def _chosen(self, step: FilterStep, number: int, progress: QueryProgress) -> Sequence[str] | None:
        if not step.where and step.documents is None:
            return None
        asked = Narrowed(progress.query.ontologies, step.documents, step.where)
        chosen = choose(
            self._graph, self._remembered, asked, sorted(progress.ontologies), whole_documents=True
        )
        progress.note_degraded(chosen.notes)
        if not chosen.filters.document_ids:
            progress.unfitting[number] = [each.effect for each in chosen.notes]
        return _both(progress.document_ids, chosen.filters.document_ids or [])

    def _keep_of(self, ids: Sequence[str], progress: QueryProgress) -> int:
        """Keep the documents of some ids, their sources, the concepts in them, and what they state."""
        built = progress.built
        concepts = [node.id for node in built.of("concept")]
        within = appearing_in(self._graph, concepts, ids, progress)
        wanted = frozenset(ids)
        removed = built.keep(lambda node: _is_of(node, wanted, within))
        stated = [edge for edge in built.edges.values() if edge.kind == "related_to"]
        kept = {edge.key: edge for edge in stated_by(self._graph, stated, ids, progress)}
        built.edges = {
            key: kept.get(key, edge)
            for key, edge in built.edges.items()
            if edge.kind != "related_to" or key in kept
        }
        return removed


def keep_best(step: LimitStep, progress: QueryProgress) -> int:
    """Keep the best nodes; how many went."""
    built = progress.built
    counted = built.of(*step.kinds) if step.kinds else built.ranked()
    removed = built.remove({node.id for node in counted[step.nodes :]})
    if removed:
        effect = f"{pluralize(removed, 'node')} left out behind the best {step.nodes}"
        progress.cut.append(Cut(by="limit", left_out=removed, effect=effect))
    return removed


def _both(own: Collection[str] | None, ids: Sequence[str]) -> Sequence[str]:
    """Documents that a step means, of those that the query means."""
    return ids if own is None else [each for each in ids if each in own]


def _is_of(node: WorkingNode, documents: Collection[str], concepts: Collection[str]) -> bool:
    return node.id in concepts if node.kind == "concept" else node.document_id in documents

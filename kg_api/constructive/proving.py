"""What of concepts and relationships some documents prove; what could not be looked up is told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from kg_api.constructive.progress import QueryProgress
from kg_api.constructive.working_set import WorkingEdge
from kg_api.graph.database import Graph
from kg_api.graph.traversal.evidence import Triple, concepts_within, stated_within
from kg_api.models.constructive.subgraph import Cut
from kg_api.wording.plural import pluralize

UNPROVEN: Final = (
    "{} left out that may fit: they have so much evidence, and the documents so many sources, that not all "
    "of it was looked at; name fewer documents"
)


def appearing_in(
    graph: Graph, concept_ids: Sequence[str], ids: Sequence[str], progress: QueryProgress
) -> Collection[str]:
    """Those of some concepts that appear in some documents."""
    if not concept_ids or not ids:
        return ()
    within = concepts_within(graph, concept_ids, ids)
    _note_unproven("concept", len(within.unknown), progress)
    return within.found


def stated_by(
    graph: Graph, edges: Sequence[WorkingEdge], ids: Sequence[str], progress: QueryProgress
) -> list[WorkingEdge]:
    """Those of some relationships that sources of some documents state, with what these say of them."""
    if not edges or not ids:
        return []
    triples = [Triple(edge.subject, edge.type_key, edge.object) for edge in edges]
    within = stated_within(graph, triples, ids)
    _note_unproven("relationship", len(within.unknown), progress)
    return [
        replace(edge, support=stated.support, relation_ids=stated.relation_ids)
        for edge, each in zip(edges, triples, strict=True)
        if (stated := within.found.get(each))
    ]


def _note_unproven(what: str, number: int, progress: QueryProgress) -> None:
    if number:
        effect = UNPROVEN.format(pluralize(number, what))
        progress.cut.append(Cut(by="hub", left_out=number, effect=effect))

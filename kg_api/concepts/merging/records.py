"""What was merged, and taking it back."""

from __future__ import annotations

from kg_api.errors import NotFound
from kg_api.graph.concepts.parting import read_concept_merges, unmerge_concepts
from kg_api.graph.concepts.reads import find_concept
from kg_api.graph.database import Graph
from kg_api.models.concepts.merges import ConceptMerge, ConceptMerges
from kg_api.spaces.plans import read_embedding_state


class ConceptMergeRecords:
    """Shows merges of concepts, and undoes them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def page(self, ontology: str, concept_id: str | None, offset: int, limit: int) -> ConceptMerges:
        """What became one, the last first; or only what became part of one concept.

        Raises:
            NotFound: there is no such ontology, or no such concept in it.
            Conflict: several ids begin as the concept's.
        """
        read_embedding_state(self._graph, ontology)
        merges, total = read_concept_merges(self._graph, ontology, offset, limit, concept_id=concept_id)
        if concept_id is not None and not total:
            known = self._known(ontology, concept_id)
            merges, total = read_concept_merges(self._graph, ontology, offset, limit, concept_id=known)
        return ConceptMerges(ontology=ontology, merges=merges, total=total, offset=offset, limit=limit)

    def _known(self, ontology: str, concept_id: str) -> str:
        """The whole id of a concept of the ontology."""
        found = find_concept(self._graph, concept_id)
        if found.ontology != ontology:
            raise NotFound(f"the concept {concept_id!r} is of {found.ontology}, not of {ontology}")
        return found.concept_id

    def undo(self, ontology: str, merge_id: str, by: str | None) -> ConceptMerge:
        """Part two concepts for good.

        Raises:
            NotFound: there is no such ontology, or merge.
            Conflict: a later merge must be undone before; the message names it.
        """
        read_embedding_state(self._graph, ontology)
        return unmerge_concepts(self._graph, ontology, merge_id, by)

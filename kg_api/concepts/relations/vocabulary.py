"""The vocabulary of relationships, consolidated by people: shown, proposed, merged, parted again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kg_api.concepts.relations.proposals import alike
from kg_api.graph.database import Graph
from kg_api.graph.relations.vocabulary import (
    EXAMPLES,
    StoredType,
    TypeExamples,
    merge_types,
    read_examples,
    read_merges,
    read_type_vectors,
    read_types,
    set_stance,
    unknown_type,
    unmerge_types,
)
from kg_api.models.concepts.vocabulary import (
    LikeType,
    RelationshipType,
    RelationshipTypes,
    StanceChange,
    TypeMerge,
    TypeMerges,
    TypeMerging,
    TypeProposal,
    TypeProposals,
)
from kg_api.models.identity import relation_type_id
from kg_api.spaces.plans import read_embedding_state

MAX_COMPARED = 2000
NOTHING = TypeExamples([], frozenset())

Group = tuple[int, list[tuple[int, float]]]


class RelationshipVocabulary:
    """The types of relationships of each ontology."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def page(self, ontology: str, offset: int, limit: int) -> RelationshipTypes:
        """Some of an ontology's types, the most frequent first.

        Raises:
            NotFound: there is no such ontology.
        """
        types = self._types(ontology)
        shown = [each.described for each in types[offset : offset + limit]]
        return RelationshipTypes(ontology=ontology, types=shown, total=len(types), offset=offset, limit=limit)

    def propose(self, ontology: str, min_similarity: float, limit: int) -> TypeProposals:
        """Which types may be one, by their names' vectors; nothing is changed.

        Raises:
            NotFound: there is no such ontology.
        """
        space = read_embedding_state(self._graph, ontology).answering.space
        every = self._types(ontology)
        types = every[:MAX_COMPARED]
        vectors = read_type_vectors(self._graph, space, [each.type_id for each in types])
        groups = alike(types, vectors, min_similarity)[:limit]
        chosen = [types[at] for first, near in groups for at in (first, *(each for each, _ in near))]
        examples = read_examples(self._graph, chosen)
        return TypeProposals(
            ontology=ontology,
            min_similarity=min_similarity,
            compared=len(vectors),
            proposals=[_proposal(types, group, examples) for group in groups],
            notes=_notes(len(every), len(types), len(vectors)),
        )

    def merge(self, ontology: str, asked: TypeMerging) -> TypeMerge:
        """Make types part of another, and keep a record of it.

        Raises:
            NotFound: there is no such ontology, or type.
            Conflict: one is merged already.
        """
        read_embedding_state(self._graph, ontology)
        return merge_types(self._graph, ontology, asked)

    def undo(self, ontology: str, merge_id: str, by: str | None) -> TypeMerge:
        """Take a merge back.

        Raises:
            NotFound: there is no such ontology, or merge.
        """
        read_embedding_state(self._graph, ontology)
        return unmerge_types(self._graph, ontology, merge_id, by)

    def merges(self, ontology: str, offset: int, limit: int) -> TypeMerges:
        """What was merged, the last first.

        Raises:
            NotFound: there is no such ontology.
        """
        read_embedding_state(self._graph, ontology)
        merges, total = read_merges(self._graph, ontology, offset, limit)
        return TypeMerges(ontology=ontology, merges=merges, total=total, offset=offset, limit=limit)

    def set_stance(self, ontology: str, change: StanceChange) -> RelationshipType:
        """Say what a type, with all that was merged into it, speaks for.

        Raises:
            NotFound: there is no such ontology, or type.
        """
        meant = self._find(ontology, change.type)
        if not set_stance(self._graph, meant.type_id, change.stance):
            raise unknown_type(ontology, [change.type])
        return self._find(ontology, change.type).described

    def _find(self, ontology: str, name: str) -> StoredType:
        identity = relation_type_id(ontology, name)
        for each in self._types(ontology):
            if identity in each.ids:
                return each
        raise unknown_type(ontology, [name])

    def _types(self, ontology: str) -> list[StoredType]:
        space = read_embedding_state(self._graph, ontology).answering.space
        return read_types(self._graph, ontology, space)


def _proposal(
    types: Sequence[StoredType], group: Group, examples: Mapping[str, TypeExamples]
) -> TypeProposal:
    first = types[group[0]]
    own = examples.get(first.type_id, NOTHING)
    merged = [_like(types[at], cosine, own, examples) for at, cosine in group[1]]
    return TypeProposal(
        into=first.name, relations=first.relations, examples=own.statements[:EXAMPLES], merged=merged
    )


def _like(
    each: StoredType, cosine: float, first: TypeExamples, examples: Mapping[str, TypeExamples]
) -> LikeType:
    own = examples.get(each.type_id, NOTHING)
    return LikeType(
        name=each.name,
        relations=each.relations,
        similarity=cosine,
        shared=len(own.pairs & first.pairs),
        examples=own.statements[:EXAMPLES],
    )


def _notes(every: int, taken: int, embedded: int) -> list[str]:
    notes = ["nothing was merged: these are proposals; look at the examples, opposites may be alike"]
    if every > taken:
        notes.append(f"the {taken} most frequent of {every} types were compared")
    if embedded < taken:
        notes.append(f"{taken - embedded} of them are not embedded yet, and were not compared")
    return notes

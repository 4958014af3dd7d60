"""Search for relationships, and their vocabulary of types: the list, proposals, and stances."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kg_api.concepts.search import ConceptQuery, describe_running_jobs, embed_concept_query
from kg_api.graph.client import Graph
from kg_api.graph.concepts import SCANNED
from kg_api.graph.relation_search import (
    StatedRelationship,
    find_near_relations,
    find_near_relations_in_documents,
    read_relations,
    resolve_types,
)
from kg_api.graph.relations import (
    EXAMPLES,
    StoredType,
    TypeExamples,
    read_examples,
    read_type_vectors,
    read_types,
    report_unknown_type,
)
from kg_api.graph.search import Meaning
from kg_api.schemas.base import build_relation_type_id, normalize_concept_name
from kg_api.schemas.concepts import (
    LikeType,
    RelationshipHit,
    RelationshipHits,
    RelationshipSearch,
    RelationshipType,
    RelationshipTypes,
    StanceChange,
    TypeProposal,
    TypeProposals,
)
from kg_api.schemas.search import Degradation
from kg_api.schemas.vocabulary import MAX_STATEMENTS
from kg_api.spaces.plans import read_embedding_state
from kg_api.spaces.registry import SpaceRegistry
from kg_api.spaces.snapshot import get_snapshots

# Similar types of relationships
#
# kg compares the vectors of names. Names separate types better than sentences do. Vectors do not show a
# negation or the direction of a relationship, so rules check both (ADR 70).

NEGATIONS: Final = frozenset({"not", "no", "never", "without", "cannot", "non", "n't", "neither", "nor"})
BLOCK: Final = 500


def group_similar_types(
    types: Sequence[StoredType], vectors: Mapping[str, NDArray[np.float32]], least: float
) -> list[tuple[int, list[tuple[int, float]]]]:
    """Group types with similar names. Each type is in at most one group, near to the first type of its group.

    Returns:
        Indexes in `types`: the first of each group, with the other members and their cosines, nearest first.
    """
    there = [at for at, each in enumerate(types) if each.type_id in vectors]
    taken, groups = set[int](), list[tuple[int, list[tuple[int, float]]]]()
    for at, cosines in _find_near(there, [vectors[types[at].type_id] for at in there], least):
        if at in taken:
            continue
        near = [
            (other, cosine)
            for other, cosine in cosines
            if other > at and other not in taken and may_mean(types[at], types[other])
        ]
        if near:
            taken |= {at, *(other for other, _ in near)}
            groups.append((at, sorted(near, key=lambda each: (-each[1], each[0]))))
    return groups


def may_mean(one: StoredType, other: StoredType) -> bool:
    """Check by rules whether two types can have one meaning: stances, negations and passives must agree."""
    if one.stance != other.stance:
        return False
    words, more = (normalize_concept_name(each.name).split() for each in (one, other))
    return _has_negation(words) == _has_negation(more) and _is_passive(words) == _is_passive(more)


def _find_near(
    places: Sequence[int], vectors: Sequence[NDArray[np.float32]], least: float
) -> Iterator[tuple[int, list[tuple[int, float]]]]:
    """Yield each index with the indexes of near enough vectors and their cosines."""
    if not places:
        return
    matrix = np.stack(vectors)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    for begin in range(0, len(places), BLOCK):
        block = matrix[begin : begin + BLOCK] @ matrix.T
        for row, at in zip(block, places[begin : begin + BLOCK], strict=True):
            yield at, [(places[other], float(row[other])) for other in map(int, np.flatnonzero(row >= least))]


def _has_negation(words: Sequence[str]) -> bool:
    return len(NEGATIONS.intersection(words)) % 2 == 1


def _is_passive(words: Sequence[str]) -> bool:
    return len(words) > 1 and words[-1] == "by"


# Search for relationships

STATEMENTS_A_HIT = 4  # statements per requested hit, because several sources may state the same
MAX_STATEMENTS_READ = 2000  # approximate maximum of statements read for one search
EMBEDDING = "relationships are still to be embedded{}. Searches do not find them yet"
NONE = (
    "these ontologies state no relationships. Only extraction by a language model or an import "
    "creates them, not key phrases"
)

PARTLY = (
    f"kg searched the first {SCANNED:,} sources and relationships of the documents, and the nearest "
    "relationships of all documents, so there may be more. Name fewer documents"
)

Ranked = tuple[StatedRelationship, float, str]  # statement, similarity, and slug of the space


@dataclass(slots=True)
class _SearchScope:
    request: RelationshipSearch
    query: ConceptQuery
    missing: Mapping[str, str]  # states of indexes that are not online, by name
    types: Sequence[str] | None
    document_ids: Collection[str] | None
    whole: bool = True  # no relationship of the documents was skipped
    unsearched: dict[str, str] = field(default_factory=dict[str, str])  # skipped indexes and their states

    def includes(self, stated: StatedRelationship) -> bool:
        return self.document_ids is None or stated.evidence.source.document_id in self.document_ids


class RelationshipSearcher:
    """Search for relationships. Thread-safe, one per process."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces
        self._snapshots = get_snapshots(graph)
        self._embedding = self._snapshots.get_progress("edge_embedding")

    def search(
        self, request: RelationshipSearch, document_ids: Collection[str] | None = None
    ) -> RelationshipHits:
        """Find similar relationships. `degraded` lists parts of the search that failed."""
        known = self._snapshots.get(request.ontologies or (), new_too=request.ontologies is None)
        query = embed_concept_query(request.query_text, request.ontologies, known, self._spaces)
        missing = self._snapshots.read_populating(
            *(each.space.relation_index_name for each in query.meanings)
        )
        types, unknown = resolve_types(self._graph, query.ontologies, request.types)
        scope = _SearchScope(request, query, missing, types, document_ids)
        hits = self._collect_hits(scope)[: request.limit]
        words = "concepts were searched by words only", "kg did not search its relationships"
        degraded = [
            each.model_copy(update={"effect": each.effect.replace(*words)}) for each in query.degraded
        ]
        for name, state in scope.unsearched.items():
            effect = f"the vector index {name} is {state}: its relationships were not searched"
            degraded.append(Degradation(part="vector_index", effect=effect))
        degraded += describe_running_jobs(self._embedding.read(), query.ontologies, EMBEDDING)
        notes = [unknown, None if scope.whole else PARTLY]
        degraded += [Degradation(part="concepts", effect=each) for each in notes if each]
        if (
            not hits
            and query.ontologies
            and not bool(self._graph.search("relations/any_of", ontologies=list(query.ontologies)))
        ):
            degraded.append(Degradation(part="concepts", effect=NONE))
        return RelationshipHits(query_text=request.query_text, relationships=hits, degraded=degraded)

    def _collect_hits(self, scope: _SearchScope) -> list[RelationshipHit]:
        """Return up to the limit of hits, also if many sources state the first ones."""
        limit = scope.request.limit
        depth = limit * STATEMENTS_A_HIT
        while True:
            statements = self._read_statements(scope, depth)
            # Statements of several sources form one hit, nearest first
            groups = dict[tuple[str, str, str], list[Ranked]]()
            for each in statements:
                groups.setdefault(each[0].key, []).append(each)
            hits = list[RelationshipHit]()
            for group in groups.values():
                best, similarity, space = group[0]
                hits.append(
                    RelationshipHit(
                        subject=best.subject,
                        type=best.type,
                        object=best.object,
                        ontology=best.ontology,
                        similarity=similarity,
                        space=space,
                        confidence=max(stated.evidence.confidence for stated, _, _ in group),
                        sources=best.stating,
                        evidence=[stated.evidence for stated, _, _ in group[:MAX_STATEMENTS]],
                    )
                )
            if len(hits) >= limit or len(statements) < depth or depth >= MAX_STATEMENTS_READ:
                return hits
            depth *= STATEMENTS_A_HIT

    def _read_statements(self, scope: _SearchScope, depth: int) -> list[Ranked]:
        least, found = scope.request.min_similarity, dict[str, tuple[float, str]]()
        for meaning in scope.query.meanings:
            near = self._search_by_vector(scope, meaning, depth)
            found |= {each: (cosine, meaning.space.slug) for each, cosine in near.items()}
        kept = {each: at for each, at in found.items() if least is None or at[0] >= least}
        read = read_relations(self._graph, kept)
        ranked = [(stated, *kept[each]) for each, stated in read.items() if scope.includes(stated)]
        return sorted(ranked, key=lambda each: (-each[1], each[0].evidence.relation_id))

    def _search_by_vector(self, scope: _SearchScope, meaning: Meaning, depth: int) -> Mapping[str, float]:
        """Search the given documents first, and the index if the documents have too many relationships."""
        if scope.document_ids is None:
            return self._search_index(scope, meaning, depth)
        ids = sorted(scope.document_ids)
        own, whole = find_near_relations_in_documents(self._graph, meaning, scope.types, ids, depth)
        if whole:
            return own
        scope.whole = False
        return {**own, **self._search_index(scope, meaning, depth)}

    def _search_index(self, scope: _SearchScope, meaning: Meaning, depth: int) -> Mapping[str, float]:
        name = meaning.space.relation_index_name
        if name in scope.missing:
            scope.unsearched[name] = scope.missing[name]
            return {}
        return find_near_relations(self._graph, meaning, scope.types, depth)


# Vocabulary of relationships, which users consolidate

MAX_COMPARED = 2000
NOTHING = TypeExamples([], frozenset())


def list_types(graph: Graph, ontology: str, offset: int, limit: int) -> RelationshipTypes:
    types = _read_types(graph, ontology)
    described = [each.described for each in types[offset : offset + limit]]
    return RelationshipTypes(ontology=ontology, types=described, total=len(types), offset=offset, limit=limit)


def propose_type_merges(graph: Graph, ontology: str, min_similarity: float, limit: int) -> TypeProposals:
    """Propose merges by the vectors of names. Nothing is changed."""
    space = read_embedding_state(graph, ontology).answering.space
    every = _read_types(graph, ontology)
    types = every[:MAX_COMPARED]
    vectors = read_type_vectors(graph, space, [each.type_id for each in types])
    groups = group_similar_types(types, vectors, min_similarity)[:limit]
    chosen = [types[at] for first, near in groups for at in (first, *(each for each, _ in near))]
    examples = read_examples(graph, chosen)
    proposals = list[TypeProposal]()
    for at, near in groups:
        first = types[at]
        own = examples.get(first.type_id, NOTHING)
        merged = list[LikeType]()
        for place, cosine in near:
            each = types[place]
            found = examples.get(each.type_id, NOTHING)
            merged.append(
                LikeType(
                    name=each.name,
                    relations=each.described.relations,
                    similarity=cosine,
                    shared=len(found.pairs & own.pairs),
                    examples=found.statements[:EXAMPLES],
                )
            )
        proposals.append(
            TypeProposal(
                into=first.name,
                relations=first.described.relations,
                examples=own.statements[:EXAMPLES],
                merged=merged,
            )
        )
    notes = ["nothing was merged: these are proposals. Check the examples, because opposites can be similar"]
    if len(every) > len(types):
        notes.append(f"the {len(types)} most frequent of {len(every)} types were compared")
    if len(vectors) < len(types):
        notes.append(f"{len(types) - len(vectors)} of them are not embedded yet, and were not compared")
    return TypeProposals(
        ontology=ontology,
        min_similarity=min_similarity,
        compared=len(vectors),
        proposals=proposals,
        notes=notes,
    )


def set_stance(graph: Graph, ontology: str, change: StanceChange) -> RelationshipType:
    relationship_type = _find(graph, ontology, change.type)
    type_id = relationship_type.type_id
    if not graph.write("relations/set_stance", type_id=type_id, stance=change.stance):
        raise report_unknown_type(ontology, [change.type])
    return _find(graph, ontology, change.type).described


def _find(graph: Graph, ontology: str, name: str) -> StoredType:
    identity = build_relation_type_id(ontology, name)
    for each in _read_types(graph, ontology):
        if identity in each.ids:
            return each
    raise report_unknown_type(ontology, [name])


def _read_types(graph: Graph, ontology: str) -> list[StoredType]:
    space = read_embedding_state(graph, ontology).answering.space
    return read_types(graph, ontology, space)

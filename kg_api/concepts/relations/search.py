"""Finding relationships by what they say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.concepts.asking import ConceptQuery, question, under_way
from kg_api.graph.concepts.reads import SCANNED
from kg_api.graph.database import Graph
from kg_api.graph.readiness import EmbeddingWatch, IndexWatch
from kg_api.graph.relations.search import (
    StatedRelationship,
    has_relations,
    near_relations,
    near_relations_in,
    read_relations,
    resolve_types,
)
from kg_api.graph.search.concepts import Meaning
from kg_api.models.concepts.relations import RelationshipHit, RelationshipHits, RelationshipSearch
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import MAX_STATEMENTS
from kg_api.spaces.plans import PlanWatch
from kg_api.spaces.registry import SpaceRegistry

STATEMENTS_A_HIT = 4
"""Several sources may state the same: so many times more statements are asked for than hits."""
MAX_STATEMENTS_READ = 2000
"""At most so many statements are read for one search, and a little more."""
EMBEDDING = "relationships are still to be embedded{}; until then they are not found"
NONE = (
    "no relationships are stated where it was searched: key phrases give none, a language model's extraction "
    "or an import does"
)

PARTLY = (
    f"of the documents the first {SCANNED:,} sources and relationships were searched, and what of them is "
    "near to the question among those of all documents: there may be more; name fewer documents"
)

Ranked = tuple[StatedRelationship, float, str]
"""A statement, its similarity, and the space it is measured in."""


@dataclass(slots=True)
class _Looking:
    asked: RelationshipSearch
    query: ConceptQuery
    missing: Mapping[str, str]
    """States of the indexes that do not answer yet."""
    types: Sequence[str] | None
    document_ids: Collection[str] | None
    whole: bool = True
    """Nothing of the documents was left out."""
    unsearched: dict[str, str] = field(default_factory=dict[str, str])
    """Of the indexes those that were wanted."""

    def sees(self, stated: StatedRelationship) -> bool:
        return self.document_ids is None or stated.evidence.source.document_id in self.document_ids


class RelationshipSearcher:
    """Searches relationships. Thread-safe; one a process."""

    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces
        self._plans = PlanWatch(graph)
        self._indexes = IndexWatch(graph)
        self._embedding = EmbeddingWatch(graph, "edge_embedding")

    def search(
        self, asked: RelationshipSearch, document_ids: Collection[str] | None = None
    ) -> RelationshipHits:
        """Find relationships by their meaning. What could not be done is told in `degraded`.

        Args:
            asked: what is looked for.
            document_ids: only what sources of these documents state; None: of all.
        """
        known = self._plans.known(asked.ontologies or (), new_too=asked.ontologies is None)
        query = question(asked.query_text, asked.ontologies, known, self._spaces)
        missing = self._indexes.populating(*(each.space.relation_index_name for each in query.meanings))
        types = resolve_types(self._graph, query.ontologies, asked.types)
        looking = _Looking(asked, query, missing, types.keys, document_ids)
        hits = self._hits(looking)[: asked.limit]
        degraded = [*map(_describe, query.degraded), *self._describe_degradation(query, looking.unsearched)]
        told = [types.unknown, None if looking.whole else PARTLY]
        degraded += [Degradation(part="concepts", effect=each) for each in told if each]
        if not hits and query.ontologies and not has_relations(self._graph, query.ontologies):
            degraded.append(Degradation(part="concepts", effect=NONE))
        return RelationshipHits(query_text=asked.query_text, relationships=hits, degraded=degraded)

    def _hits(self, looking: _Looking) -> list[RelationshipHit]:
        """As many as are asked for, where there are so many, though very many sources state the first."""
        limit = looking.asked.limit
        depth = limit * STATEMENTS_A_HIT
        while True:
            statements = self._statements(looking, depth)
            hits = _join(statements)
            if len(hits) >= limit or len(statements) < depth or depth >= MAX_STATEMENTS_READ:
                return hits
            depth *= STATEMENTS_A_HIT

    def _statements(self, looking: _Looking, depth: int) -> list[Ranked]:
        """The nearest statements, the best first."""
        least, found = looking.asked.min_similarity, dict[str, tuple[float, str]]()
        for meaning in looking.query.meanings:
            near = self._near(looking, meaning, depth)
            found |= {each: (cosine, meaning.space.slug) for each, cosine in near.items()}
        kept = {each: at for each, at in found.items() if least is None or at[0] >= least}
        read = read_relations(self._graph, kept)
        ranked = [(stated, *kept[each]) for each, stated in read.items() if looking.sees(stated)]
        return sorted(ranked, key=lambda each: (-each[1], each[0].evidence.relation_id))

    def _near(self, looking: _Looking, meaning: Meaning, depth: int) -> Mapping[str, float]:
        """Of documents by their own sources, and by the index as well where these are too many."""
        if looking.document_ids is None:
            return self._by_index(looking, meaning, depth)
        ids = sorted(looking.document_ids)
        own = near_relations_in(self._graph, meaning, looking.types, ids, depth)
        if own.whole:
            return own.cosines
        looking.whole = False
        return {**own.cosines, **self._by_index(looking, meaning, depth)}

    def _by_index(self, looking: _Looking, meaning: Meaning, depth: int) -> Mapping[str, float]:
        name = meaning.space.relation_index_name
        if name in looking.missing:
            looking.unsearched[name] = looking.missing[name]
            return {}
        return near_relations(self._graph, meaning, looking.types, depth)

    def _describe_degradation(self, query: ConceptQuery, missing: Mapping[str, str]) -> Iterator[Degradation]:
        for name, state in missing.items():
            effect = f"the vector index {name} is {state}: relationships in it were not searched"
            yield Degradation(part="vector_index", effect=effect)
        yield from under_way(self._embedding.read(), query.ontologies, EMBEDDING)


def _join(statements: Sequence[Ranked]) -> list[RelationshipHit]:
    """What several sources state is one hit, with the nearest statement first."""
    groups = dict[tuple[str, str, str], list[Ranked]]()
    for each in statements:
        groups.setdefault(each[0].key, []).append(each)
    return [_hit(group) for group in groups.values()]


def _hit(group: Sequence[Ranked]) -> RelationshipHit:
    best, similarity, space = group[0]
    return RelationshipHit(
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


def _describe(degradation: Degradation) -> Degradation:
    """Relationships are not searched by words."""
    effect = degradation.effect.replace(
        "concepts were searched by words only", "its relationships were not searched"
    )
    return degradation.model_copy(update={"effect": effect})

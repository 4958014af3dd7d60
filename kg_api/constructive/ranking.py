"""Orders of the nodes there are: by likeness to a text, by PageRank, by connections."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kg_api.concepts.asking import ConceptQuery, question
from kg_api.concepts.ranks import reciprocal_rank_fusion
from kg_api.concepts.wanted import start_embedding
from kg_api.constructive.progress import QueryProgress
from kg_api.constructive.working_set import WorkingNode, WorkingSet
from kg_api.graph.database import Graph
from kg_api.graph.search.concepts import nearness_of_concepts
from kg_api.graph.search.similar import vectors_of
from kg_api.models.constructive.query import RankStep
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import SubgraphOrder
from kg_api.spaces.registry import SpaceRegistry
from kg_api.wording.plural import pluralize

DAMPING: Final = 0.85
"""Page, Brin, Motwani, Winograd: The PageRank Citation Ranking, Stanford 1999; here the walk goes back to the
seeds (Haveliwala: Topic-Sensitive PageRank, WWW 2002)."""
ROUNDS: Final = 100
ENOUGH: Final = 1e-9


class NodeRanker:
    def __init__(self, graph: Graph, spaces: SpaceRegistry) -> None:
        self._graph = graph
        self._spaces = spaces
        self._ways: dict[SubgraphOrder, Callable[[RankStep, QueryProgress], Mapping[str, float]]] = {
            "text": self._by_text,
            "pagerank": lambda _, progress: pagerank(progress.built),
            "connections": lambda _, progress: connections(progress.built),
        }

    def rank(self, step: RankStep, progress: QueryProgress) -> None:
        """Put the nodes in another order."""
        progress.built.rank(self._ways[step.by](step, progress) if progress.built.nodes else {})

    def _by_text(self, step: RankStep, progress: QueryProgress) -> Mapping[str, float]:
        text = step.text or progress.query.text or ""
        asked = question(text, sorted(progress.ontologies), progress.known, self._spaces)
        progress.note_degraded(_describe(asked.degraded))
        near = self._near(asked, progress)
        for node in progress.built.nodes.values():
            node.similarity = near.get(node.id)
        without = {node.ontology for node in progress.built.of("concept") if node.id not in near}
        if asked.meanings and without:
            progress.note_degraded(start_embedding(self._graph, progress.known, sorted(without)))
        scores = _by_groups(progress.built, near, asked)
        _note_unranked(scores, progress)
        return scores

    def _near(self, asked: ConceptQuery, progress: QueryProgress) -> dict[str, float]:
        """By id the cosine of text and node, of those that have a vector."""
        built = progress.built
        concepts = [node.id for node in built.of("concept")]
        near = dict(nearness_of_concepts(self._graph, concepts, asked.meanings)) if concepts else {}
        sources = {node.id: node for node in built.of("passage", "image")}
        by_ontology = {name: each.vector for each in asked.meanings for name in each.ontologies}
        found = vectors_of(self._graph, list(sources), progress.known.answering, progress.known.new)
        for identity, parts in found.items():
            vector = by_ontology.get(sources[identity].ontology)
            if vector is not None and parts:
                near[identity] = max(float(part.vector @ vector) for part in parts)
        return near


def _describe(degraded: Sequence[Degradation]) -> list[Degradation]:
    """Nothing is searched by words here."""
    told = "concepts were searched by words only", "what is like it could not be told"
    return [each.model_copy(update={"effect": each.effect.replace(*told)}) for each in degraded]


def pagerank(built: WorkingSet) -> dict[str, float]:
    """By id the share of a random walk over the edges, in either direction, that begins anew at the seeds."""
    ids = list(built.nodes)
    at = {identity: number for number, identity in enumerate(ids)}
    ends = {(at[one], at[other]) for edge in built.edges.values() for one, other in permutations(edge.ends)}
    links = np.array(sorted(ends), dtype=np.intp).reshape(-1, 2)
    seeds = np.array([float(built.nodes[each].best.hops == 0) for each in ids])
    share = _walk(links, seeds if seeds.any() else np.ones(len(ids)))
    return dict(zip(ids, share.tolist(), strict=True))


def _walk(links: NDArray[np.intp], seeds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where a walk is that begins at seeds.

    Args:
        links: shape (edges, 2), from and to, numbers of nodes.
        seeds: shape (nodes,), how often it begins at each.
    """
    start, end = links.T
    restart, number = seeds / seeds.sum(), len(seeds)
    degrees = np.bincount(start, minlength=number)
    share = restart
    for _ in range(ROUNDS):
        handed_on = np.bincount(end, share[start] / degrees[start], number)
        stuck = share[degrees == 0].sum()
        after = DAMPING * (handed_on + stuck * restart) + (1 - DAMPING) * restart
        moved, share = np.abs(after - share).sum(), after
        if moved < ENOUGH:
            break
    return share


def connections(built: WorkingSet) -> dict[str, float]:
    """By id the number of edges."""
    counted = Counter(end for edge in built.edges.values() for end in edge.ends)
    return {identity: float(counted[identity]) for identity in built.nodes}


def _by_groups(built: WorkingSet, near: Mapping[str, float], asked: ConceptQuery) -> dict[str, float]:
    """By ranks within each kind and space, for cosines of two cannot be compared."""
    spaces = {name: each.space.slug for each in asked.meanings for name in each.ontologies}
    groups: defaultdict[tuple[str, bool], list[WorkingNode]] = defaultdict(list)
    for node in built.nodes.values():
        if node.id in near:
            groups[spaces[node.ontology], node.kind == "concept"].append(node)
    scores = dict[str, float]()
    for group in groups.values():
        group.sort(key=lambda node: (-near[node.id], node.id))
        scores |= reciprocal_rank_fusion([[node.id for node in group]])
    return scores | _of_documents(built, scores)


def _of_documents(built: WorkingSet, scores: Mapping[str, float]) -> dict[str, float]:
    best = dict[str, float]()
    for node in built.of("passage", "image"):
        if node.document_id is not None and node.id in scores:
            best[node.document_id] = max(scores[node.id], best.get(node.document_id, 0.0))
    return {node.id: best[node.id] for node in built.of("document") if node.id in best}


def _note_unranked(scores: Mapping[str, float], progress: QueryProgress) -> None:
    behind = len(progress.built.nodes.keys() - scores.keys())
    if behind:
        what = pluralize(behind, "node")
        effect = f"{what} without a vector, or a document without a source here, come behind all others"
        progress.note_degraded([Degradation(part="vectors", effect=effect)])

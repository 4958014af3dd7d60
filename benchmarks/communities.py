"""How good the communities of a running kg's concepts are, against counting and against chance.

    python -m benchmarks.communities python_peps claude_docs
    python -m benchmarks.communities python_peps --read 20    # some of them, to be read

Half of the documents tells which concepts belong together, the other half whether they do: how often two of
one community are in the same passage there, by how often chance has it (lift), and how near the first five of
a community are (normalised pointwise mutual information, as Lau, Newman and Baldwin measure topics, EACL
2014).
Beside kg's weights, passages in common are counted, divided by the same algorithm into as many communities;
and members are dealt out by chance to communities of the same sizes. The communities of a half are compared
with those of 98 % of its passages, too (adjusted Rand index). First a job is run on all documents; no worker
may run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import threading
import time
from collections.abc import Sequence
from typing import Any, cast

import graspologic_native
import numpy as np
from scipy import sparse

from benchmarks.stack import machine
from kg_api.container import open_graph
from kg_api.discovery.communities import (
    ITERATIONS,
    NEIGHBOURS,
    SEED,
    TRIALS,
    CommunityDetection,
    CommunityService,
    Matrix,
    Places,
    compute_centrality,
    find_clusters,
    read_concept_graph,
    weigh_associations,
)
from kg_api.graph.client import Graph
from kg_api.graph.communities import PORTION
from kg_api.graph.jobs import ensure_job
from kg_api.graph.schema import migrate
from kg_api.jobs.runner import Runner
from kg_api.settings import CommunitySettings, WorkerSettings, load_settings

SETTINGS = CommunitySettings()
MIN_SIZE = SETTINGS.min_size
LEFT_OUT = 0.02
FIRST = 5
"""Concepts of a community whose nearness is measured."""


def modularity(weights: Matrix, labels: Places) -> float:
    """Of the weight of all edges the share within clusters, less what chance would have there.

    Newman: Modularity and community structure in networks, PNAS 2006.

    Args:
        weights: nodes by nodes, CSR, symmetric.
        labels: of each node its cluster, from 0.
    """
    edges = weights.tocoo()
    total = float(edges.data.sum())
    if not total:
        return 0.0
    degrees = np.bincount(labels, weights=np.asarray(weights.sum(axis=1)).ravel())
    inside = float(edges.data[labels[edges.row] == labels[edges.col]].sum())
    return inside / total - float(((degrees / total) ** 2).sum())


def main() -> None:
    """Measure, or print what is to be read."""
    parser = argparse.ArgumentParser()
    parser.add_argument("ontologies", nargs="+")
    parser.add_argument("--read", type=int, default=0)
    chosen = parser.parse_args()
    with open_graph(load_settings()) as graph:
        migrate(graph)
        for ontology in chosen.ontologies:
            if chosen.read:
                show(graph, ontology, chosen.read)
            else:
                told = {"ontology": ontology, "job": job(graph, ontology), **halves(graph, ontology)}
                print(json.dumps({**machine(), **told}, indent=1))


def halves(graph: Graph, ontology: str) -> dict[str, Any]:
    """By way, what one half's communities are worth in the other."""
    first, second = incidences(graph, ontology)
    weights, dice = weigh_associations(first), np.random.default_rng(SEED)
    told: dict[str, Any] = {"concepts": first.shape[1], "passages": [first.shape[0], second.shape[0]]}
    labels = labelled(find_clusters(weights, min_size=MIN_SIZE), first.shape[1])
    counts = counted(first)
    others = as_many(counts, sizes(labels).size)
    told["kg"] = judged(weights, labels, second)
    told["counts"] = judged(counts, others, second)
    told["chance"] = judged(weights, dealt(labels, dice), second)
    fewer = weigh_associations(first[np.flatnonzero(dice.random(first.shape[0]) > LEFT_OUT)])
    told["agreement"] = agreement(labels, labelled(find_clusters(fewer, min_size=MIN_SIZE), first.shape[1]))
    return told


def incidences(graph: Graph, ontology: str) -> tuple[Matrix, Matrix]:
    """Passages by concepts of every other document, and of the others; only concepts of several passages."""
    read = read_concept_graph(graph, ontology, most=SETTINGS.max_concepts, between=lambda: None)
    places = {each: at for at, each in enumerate(read.concept_ids)}
    rows: dict[str, list[list[int]]] = {}
    after: dict[str, Any] = {"after": "", "after_paragraph": -1}
    while found := graph.read("communities/sources", ontology=ontology, **after, limit=PORTION):
        after = {"after": found[-1]["document_id"], "after_paragraph": found[-1]["paragraph"]}
        for row in found:
            carried = [places[each] for each in row["concept_ids"] if each in places]
            rows.setdefault(row["document_id"], []).append(carried)
    documents = list(rows.values())
    one, other = (matrix([row for each in documents[at::2] for row in each], len(places)) for at in (0, 1))
    return one, other


def matrix(rows: Sequence[Sequence[int]], columns: int) -> Matrix:
    """Ones where a row has a column."""
    ends = np.cumsum([0, *map(len, rows)])
    flat = np.array([each for row in rows for each in row], dtype=np.int32)
    return sparse.csr_array((np.ones(len(flat)), flat, ends), shape=(len(rows), columns))


def counted(incidence: Matrix) -> Matrix:
    """Weights that only count passages in common, of each concept the most."""
    pairs: Matrix = (incidence.T @ incidence).tocoo()
    apart = pairs.row != pairs.col
    row, column, both = (each[apart] for each in (pairs.row, pairs.col, pairs.data))
    order = np.lexsort((column, -both, row))
    row, column, both = row[order], column[order], both[order]
    kept = np.arange(len(row)) - np.searchsorted(row, row) < NEIGHBOURS
    weights: Matrix = sparse.csr_array((both[kept], (row[kept], column[kept])), shape=pairs.shape)
    weights = weights.maximum(weights.T).tocsr()
    weights.sort_indices()
    return weights


def as_many(weights: Matrix, wanted: int) -> Places:
    """Labels by Leiden at the resolution that gives about so many communities; -1: too small."""
    low, high, labels = 0.05, 400.0, np.zeros(0, np.int64)
    for _ in range(12):
        resolution = (low * high) ** 0.5
        parts: dict[int, int] = cast("Any", graspologic_native).leiden_csr(
            weights.indptr.astype(np.int64),
            weights.indices.astype(np.int32),
            weights.data.astype(np.float64),
            weights.shape[0],
            resolution=resolution,
            seed=SEED,
            trials=TRIALS,
            iterations=ITERATIONS,
        )[1]
        labels = without_small(np.array([parts[each] for each in range(weights.shape[0])]))
        if abs(sizes(labels).size - wanted) <= wanted // 50:
            break
        low, high = (resolution, high) if sizes(labels).size < wanted else (low, resolution)
    return labels


def labelled(clusters: Sequence[Places], nodes: int) -> Places:
    """Return the community of each node, or -1 for none."""
    labels = np.full(nodes, -1, np.int64)
    for at, each in enumerate(clusters):
        labels[each] = at
    return without_small(labels)


def without_small(labels: Places) -> Places:
    """Labels from 0, and -1 for what is in a community of less than three."""
    found, own, number = np.unique(labels, return_inverse=True, return_counts=True)
    kept = (number >= SETTINGS.min_size) & (found >= 0)
    return np.where(kept, np.cumsum(kept) - 1, -1)[own]


def sizes(labels: Places) -> Places:
    """Of each community how many are in it."""
    return np.bincount(labels[labels >= 0])


def dealt(labels: Places, dice: np.random.Generator) -> Places:
    """The same sizes, dealt out by chance."""
    found, inside = labels.copy(), labels >= 0
    found[inside] = dice.permutation(labels[inside])
    return found


def judged(weights: Matrix, labels: Places, other: Matrix) -> dict[str, Any]:
    """What communities are worth."""
    number = sizes(labels)
    lift, share = together(other, labels)
    alone = np.where(labels >= 0, labels, number.size + np.arange(labels.size))
    return {
        "communities": int(number.size),
        "median": float(np.median(number)),
        "largest": int(number.max()),
        "modularity": round(modularity(weights, alone), 3),
        "lift": round(lift, 2),
        "share": round(share, 3),
        "first_five": round(nearness(weights, labels, other), 3),
    }


def together(other: Matrix, labels: Places) -> tuple[float, float]:
    """How often two of a community are in one passage, by how often chance has it; the share of all pairs."""
    carried = np.asarray(other.sum(axis=0)).ravel()
    pairs: Matrix = (other.T @ other).tocoo()
    apart = pairs.row != pairs.col
    same = apart & (labels[pairs.row] == labels[pairs.col]) & (labels[pairs.row] >= 0)
    inside = labels >= 0
    whole = np.bincount(labels[inside], weights=carried[inside])
    squares = np.bincount(labels[inside], weights=carried[inside] ** 2)
    chance = float((whole**2 - squares).sum()) / other.shape[0]
    return float(pairs.data[same].sum()) / chance, float(pairs.data[same].sum() / pairs.data[apart].sum())


def agreement(one: Places, other: Places) -> float:
    """The adjusted Rand index of two divisions, over what is in both (Hubert and Arabie, 1985)."""
    both = (one >= 0) & (other >= 0)
    table: Matrix = sparse.coo_array((np.ones(both.sum()), (one[both], other[both]))).tocsr()
    same, first, second = (
        float((each * (each - 1) / 2).sum()) for each in (table.data, table.sum(axis=1), table.sum(axis=0))
    )
    chance = first * second / (both.sum() * (both.sum() - 1) / 2)
    return round((same - chance) / ((first + second) / 2 - chance), 3)


def first_of(weights: Matrix, labels: Places, community: int) -> Places:
    """The first five of a community."""
    members = np.flatnonzero(labels == community)
    return members[np.argsort(-compute_centrality(weights, members), kind="stable")[:FIRST]]


def nearness(weights: Matrix, labels: Places, other: Matrix) -> float:
    """Mean normalised pointwise mutual information of a community's first five, where both are known."""
    by_concept, passages = other.tocsc(), other.shape[0]
    carried = np.asarray(other.sum(axis=0)).ravel()
    found = list[float]()
    for community in range(sizes(labels).size):
        first = first_of(weights, labels, community)
        first = first[carried[first] > 0]
        both = (by_concept[:, first].T @ by_concept[:, first]).toarray()
        for one, two in zip(*np.triu_indices(len(first), 1), strict=True):
            n = both[one, two]
            chance = carried[first[one]] * carried[first[two]] / passages
            found.append(np.log(n / chance) / -np.log(n / passages) if n else -1.0)
    return float(np.mean(found))


def job(graph: Graph, ontology: str) -> dict[str, Any]:
    """Run the job on all; its time, the process's peak before and after, and what is shown then."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    ensure_job(graph, CommunityDetection.kind, ontology, total=1)
    begun = time.monotonic()
    handlers = [CommunityDetection(graph, SETTINGS)]
    runner = Runner(graph, handlers, WorkerSettings(), worker="benchmark", stopping=threading.Event())
    assert runner.run_one()
    seconds = time.monotonic() - begun
    page = CommunityService(graph, SETTINGS).list_communities(ontology, offset=0, limit=1000)
    told = page.model_dump(include={"grouped", "left_out", "concepts"})
    return {
        **told,
        "sizes": [each.size for each in page.communities],
        "seconds": round(seconds, 1),
        "peak_mb": [before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024],
    }


def show(graph: Graph, ontology: str, number: int) -> None:
    """Print some communities, chosen by chance, to be read."""
    every = CommunityService(graph, SETTINGS).list_communities(ontology, offset=0, limit=1000).communities
    for each in random.Random(SEED).sample(every, min(number, len(every))):
        print(f"{each.size:4}  {', '.join(each.labels)}")


if __name__ == "__main__":
    main()

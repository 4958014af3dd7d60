"""Communities of concepts: weights, the Leiden algorithm, names, the job and its requests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast

import numpy as np
import structlog
from numpy.typing import NDArray
from pydantic import BaseModel

from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.communities import (
    OntologySize,
    find_community,
    get_min_ties,
    read_carried,
    read_communities_page,
    read_details,
    read_size,
    read_states,
    read_tied,
    replace_communities,
    require_state,
)
from kg_api.graph.jobs import (
    COMMUNITY_DETECTION,
    CONCEPT_EMBEDDING,
    EXTRACTION,
    ensure_job,
    is_any_requested,
    must_wait_to_restart,
    request_job,
)
from kg_api.jobs.runner import JobRun
from kg_api.providers.extras import describe_missing, is_installed
from kg_api.schemas.base import build_community_id, compute_digest, normalize_concept_name
from kg_api.schemas.communities import Communities, Community, CommunityDetails
from kg_api.schemas.operations import JobStarted
from kg_api.settings import CommunitySettings

# Weights of pairs of concepts, from the passages that contain both

Matrix = Any  # Sparse matrix of scipy, which has no types. Docstrings give rows by columns.
Floats = NDArray[np.float64]
Places = NDArray[np.int64]  # row numbers of nodes in a graph

NEIGHBOURS: Final = 20  # strongest neighbours of each concept: limits memory and separates hubs
BLOCK: Final = 500  # concepts whose pairs are counted together


def weigh_associations(incidence: Matrix) -> Matrix:
    """Weigh the pairs of concepts by the log-likelihood ratio of their co-occurrence.

    `incidence` is passages by concepts. The result is concepts by concepts, CSR, symmetric, without a
    diagonal. Pairs at or below chance have no weight.
    """
    from scipy import sparse  # noqa: PLC0415 - 25 MB that only the job needs

    passages, concepts = incidence.shape
    if not concepts:
        return sparse.csr_array((0, 0))
    carried: Floats = np.asarray(incidence.sum(axis=0), dtype=np.float64).ravel()
    by_concept = incidence.T.tocsr()
    blocks = [
        _select_strongest(by_concept[start : start + BLOCK] @ incidence, start, carried, passages)
        for start in range(0, concepts, BLOCK)
    ]
    kept = cast("Matrix", sparse.vstack(blocks, format="csr"))
    weights: Matrix = kept.maximum(kept.T).tocsr()
    weights.sort_indices()
    return weights


def log_likelihood_ratio(both: Floats, one: Floats, other: Floats, passages: float) -> Floats:
    """Return twice the log of how much likelier the counts are if two concepts depend on each other.

    Pairs at or below chance get zero. All arrays have the same shape.
    Dunning: Accurate Methods for the Statistics of Surprise and Coincidence, Computational Linguistics 1993.
    """
    neither = passages - one - other + both
    cells = (both, one - both, other - both, neither)
    margins = (one, other, passages - one, passages - other)
    whole = passages * np.log(passages) if passages else 0.0
    ratio = 2 * (sum(map(_compute_entropy, cells)) - sum(map(_compute_entropy, margins)) + whole)
    return np.where(both * passages > one * other, np.maximum(ratio, 0.0), 0.0)


def _compute_entropy(counts: Floats) -> Floats:
    return counts * np.log(np.where(counts > 0, counts, 1.0))


def _select_strongest(counts: Matrix, start: int, carried: Floats, passages: int) -> Matrix:
    """Select the strongest weights of each row. Equal weights keep the order of columns."""
    from scipy import sparse  # noqa: PLC0415

    found = counts.tocoo()
    apart = found.row + start != found.col
    row, column, both = (cast("Places", each[apart]) for each in (found.row, found.col, found.data))
    weight = log_likelihood_ratio(
        both.astype(np.float64), carried[row + start], carried[column], float(passages)
    )
    order = np.lexsort((column, -weight, row))
    row, column, weight = row[order], column[order], weight[order]
    kept = (np.arange(len(row)) - np.searchsorted(row, row) < NEIGHBOURS) & (weight > 0)
    return sparse.csr_array((weight[kept], (row[kept], column[kept])), shape=counts.shape)


# Typical concepts and name of a community

NAMED: Final = 3  # concepts in a name


def compute_centrality(weights: Matrix, members: Places) -> Floats:
    """Return for each member the weight of its edges inside, times their share of all its edges.

    A hub has heavy edges, but few of them inside. The highest value is 1, unless there are no edges inside.
    """
    rows = weights[members]
    within, every = (
        np.asarray(each.sum(axis=1), dtype=np.float64).ravel() for each in (rows[:, members], rows)
    )
    found = np.divide(within**2, every, out=np.zeros_like(within), where=every > 0)
    return found / max(float(found.max(initial=0.0)), 1e-12)


def join_labels(labels: Iterable[str]) -> str:
    """Join the first labels, without labels that repeat another one: "wheel", "variant wheels"."""
    chosen, word_sets = list[str](), list[set[str]]()
    for label in labels:
        words = {word.removesuffix("s") for word in normalize_concept_name(label).split()}
        if not any(words <= each or each <= words for each in word_sets):
            chosen.append(label)
            word_sets.append(words)
        if len(chosen) == NAMED:
            break
    return ", ".join(chosen)


# Concept graph of an ontology


@dataclass(frozen=True, slots=True)
class ConceptGraph:
    concept_ids: list[str]
    incidence: Matrix
    """Rows by concepts. A row is a source, or a relationship or link as a source of two concepts."""


def read_concept_graph(
    graph: Graph, ontology: str, *, most: int, between: Callable[[], None]
) -> ConceptGraph:
    """Read the concepts that several sources or relationships connect, and these connections."""
    from scipy import sparse  # noqa: PLC0415 - only the job needs it

    ids, related = list[str](), list[Row]()
    for portion in read_tied(graph, ontology, get_min_ties(graph, ontology, most)):
        between()
        ids += (row["concept_id"] for row in portion)
        related += (row for row in portion if row["related"])
    places = {each: place for place, each in enumerate(ids)}
    columns, ends = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)]  # 4 bytes per entry of the matrix

    def add(rows: Iterable[Iterable[str]]) -> None:
        known = ([places[each] for each in row if each in places] for row in rows)
        kept = [row for row in known if row]
        columns.append(np.array([place for row in kept for place in row], dtype=np.int32))
        ends.append(np.array([len(row) for row in kept], dtype=np.int64))

    for carried in read_carried(graph, ontology):
        between()
        add(carried)
    for row in related:
        add([(row["concept_id"], other) for other, times in row["related"] for _ in range(times)])
    where, sums = np.concatenate(columns), np.concatenate(ends).cumsum()
    ones = np.ones(len(where), np.float32)
    return ConceptGraph(ids, sparse.csr_array((ones, where, sums), shape=(len(sums) - 1, len(ids))))


# Clusters by the Leiden algorithm, deterministic
# Traag, Waltman, van Eck: From Louvain to Leiden: guaranteeing well-connected communities, Scientific
# Reports 2019.

SEED: Final = 19
TRIALS: Final = 3  # runs, of which the best counts: results of two seeds are more alike
ITERATIONS: Final = 2


def find_clusters(weights: Matrix, *, min_size: int) -> list[Places]:
    """Cluster the nodes of a graph, larger clusters first. Each cluster has its nodes in ascending order."""
    import graspologic_native  # noqa: PLC0415 - only the job needs it

    edges = weights.tocsr()
    if not edges.nnz:
        return []
    edges.sort_indices()
    found: dict[int, int] = cast("Any", graspologic_native).leiden_csr(
        edges.indptr.astype(np.int64),
        edges.indices.astype(np.int32),
        edges.data.astype(np.float64),
        edges.shape[0],
        seed=SEED,
        trials=TRIALS,
        iterations=ITERATIONS,
    )[1]
    parts: dict[int, list[int]] = {}
    for node, cluster in sorted(found.items()):
        parts.setdefault(cluster, []).append(node)
    clusters = sorted(parts.values(), key=lambda nodes: (-len(nodes), nodes[0]))
    return [np.array(nodes, np.int64) for nodes in clusters if len(nodes) >= min_size]


# From the concept graph to communities


def detect_communities(read: ConceptGraph, ontology: str, *, min_size: int) -> list[Row]:
    """Detect the communities of a concept graph, as rows for the database."""
    weights = weigh_associations(read.incidence)
    communities = list[Row]()
    for number, members in enumerate(find_clusters(weights, min_size=min_size)):
        found = compute_centrality(weights, members)
        order = np.argsort(-found, kind="stable")
        ids = [read.concept_ids[int(members[at])] for at in order]
        row = {"community_id": build_community_id(ontology, ids), "place": number, "concept_ids": ids}
        communities.append({**row, "weights": found[order].tolist()})
    return communities


# Summary of communities

VERSION: Final = 3  # version of the algorithm: a change detects communities again


class CommunitySummary(BaseModel):
    """Stored with the ontology as JSON."""

    mark: str  # fingerprint of the algorithm and its settings
    grouped: int  # concepts in a community
    left_out: int  # concepts of the graph in no community
    concepts: int  # all concepts of the ontology
    relationships: int
    sources: int

    def compute_change(self, size: OntologySize) -> float:
        """Return the highest share of changed sources, concepts or relationships, from 0 to 1."""
        shares = (
            max(size.written, abs(size.sources - self.sources)) / max(self.sources, 1),
            abs(size.concepts - self.concepts) / max(self.concepts, 1),
            abs(size.relationships - self.relationships) / max(self.relationships, 1),
        )
        return min(1.0, max(shares))


def compute_community_fingerprint(settings: CommunitySettings) -> str:
    """Return a fingerprint that changes if the same concepts would form other communities."""
    used = (settings.min_size, settings.max_concepts)
    return compute_digest("communities", str(VERSION), *map(str, used))


# The job: read the concepts, cluster them, and replace the communities

log = structlog.get_logger()


class CommunityDetection:
    """Handler of `community_detection` jobs.

    A job needs one consistent read, so it has no cursor and does not yield. After an interruption it starts
    again.
    """

    kind = COMMUNITY_DETECTION

    def __init__(self, graph: Graph, settings: CommunitySettings) -> None:
        self._graph = graph
        self._settings = settings

    def run(self, run: JobRun) -> None:
        while True:
            if (ontology := run.job.ontology) is not None:
                self._make(run, ontology)
            if run.finish():
                return

    def _make(self, run: JobRun, ontology: str) -> None:
        size = read_size(self._graph, ontology)
        most = self._settings.max_concepts
        read = read_concept_graph(self._graph, ontology, most=most, between=run.require_running)
        found = detect_communities(read, ontology, min_size=self._settings.min_size)
        grouped = sum(len(each["concept_ids"]) for each in found)
        run.expect(grouped)
        summary = CommunitySummary(
            mark=compute_community_fingerprint(self._settings),
            grouped=grouped,
            left_out=len(read.concept_ids) - grouped,
            concepts=size.concepts,
            relationships=size.relationships,
            sources=size.sources,
        ).model_dump_json()
        write = partial(
            replace_communities, ontology=ontology, communities=found, summary=summary, at=size.at
        )
        run.require_running()
        if run.commit(write, after=run.cursor, done=grouped):
            log.info("communities detected", ontology=ontology, communities=len(found))


# Communities for users, and requests for detection by the backfill or by a user

BEFORE = (EXTRACTION, CONCEPT_EMBEDDING)
"""Jobs that must finish first, because they create and merge concepts."""
NONE_YET = "communities have not been detected yet. A worker detects them after concepts are extracted"
OTHER_SETTINGS = "communities are being detected again: KG_COMMUNITIES__* settings have changed"


class CommunityService:
    def __init__(self, graph: Graph, settings: CommunitySettings) -> None:
        self._graph = graph
        self._settings = settings
        self._begun = time.monotonic()

    def start_pending_detections(self) -> None:
        """Create the jobs of ontologies that are extracted and changed enough."""
        if not (self._settings.enabled and is_installed("communities")):
            return
        for state in read_states(self._graph):
            if is_any_requested(self._graph, BEFORE, state.ontology):
                continue
            size = read_size(self._graph, state.ontology, state.at)
            due = size.concepts
            if state.summary is not None:
                summary = CommunitySummary.model_validate_json(state.summary)
                enough = summary.compute_change(size) >= self._settings.changed_share
                due = max(due, 1) if enough or self._is_outdated(summary) else 0
            uptime = time.monotonic() - self._begun
            if due and not must_wait_to_restart(
                self._graph, COMMUNITY_DETECTION, state.ontology, at_most=uptime
            ):
                ensure_job(self._graph, COMMUNITY_DETECTION, state.ontology, total=due)

    def list_communities(self, ontology: str, *, offset: int, limit: int) -> Communities:
        """Return the communities of an ontology, largest first."""
        state, found, total = read_communities_page(self._graph, ontology, offset, limit)
        summary = CommunitySummary.model_validate_json(state.summary) if state.summary else None
        known = summary.model_dump(include={"grouped", "left_out", "concepts"}) if summary else {}
        return Communities(
            ontology=ontology,
            communities=[_build_community(each) for each in found if each["labels"]],
            computed_at=state.at,
            changed=summary.compute_change(read_size(self._graph, ontology, state.at)) if summary else 0.0,
            total=total,
            offset=offset,
            limit=limit,
            notes=self._build_notes(summary),
            **known,
        )

    def find(self, ontology: str, community: str, *, concepts: int, passages: int) -> CommunityDetails:
        """Find a community with its main concepts and passages."""
        found = find_community(self._graph, ontology, community)
        details = read_details(self._graph, found["community_id"], concepts, passages)
        name = join_labels(found["labels"])
        return CommunityDetails.model_validate({**found, "name": name, "ontology": ontology, **details})

    def detect(self, ontology: str) -> JobStarted:
        """Request a detection now."""
        if not is_installed("communities"):
            raise describe_missing("communities")
        require_state(self._graph, ontology)
        size = read_size(self._graph, ontology)

        def request(tx: Transaction) -> str:
            return request_job(tx, COMMUNITY_DETECTION, ontology, added=size.concepts)

        return JobStarted(ontology=ontology, job_id=self._graph.transaction(request))

    def _is_outdated(self, summary: CommunitySummary) -> bool:
        """Check if the current settings would give other communities."""
        return summary.mark != compute_community_fingerprint(self._settings)

    def _build_notes(self, summary: CommunitySummary | None) -> list[str]:
        if summary is None:
            if not is_installed("communities"):
                return [f"{NONE_YET}: {describe_missing('communities')}"]
            return [NONE_YET if self._settings.enabled else f"{NONE_YET}, after a request for detection"]
        return [OTHER_SETTINGS] if self._is_outdated(summary) else []


def _build_community(row: Row) -> Community:
    return Community.model_validate({**row, "name": join_labels(row["labels"])})

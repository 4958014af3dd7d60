"""Kinds of embedded items: their texts, pending items, and writing vectors.

Another kind needs an entry in `KINDS` and `TARGETS` and a branch in the statements of
`cypher/embedding.cypher`. Only sources need more, because kg splits them into chunks
(`kg_api.graph.vectors`).
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

import numpy as np
from neo4j.vector import Vector
from numpy.typing import NDArray

from kg_api.graph.client import Graph, Reader, Row, Transaction, drop_deleted_rows
from kg_api.graph.jobs import CONCEPT_EMBEDDING, EDGE_EMBEDDING, IMAGE_EMBEDDING, SOURCE_EMBEDDING
from kg_api.graph.relations import build_edge_text
from kg_api.graph.search import Filters, NearestPassages, find_by_vector
from kg_api.graph.spaces import MARK_DIGITS, EmbeddedLabel, Fingerprint, Space, compute_space_fingerprint
from kg_api.graph.vectors import PendingQuery, require_fitting
from kg_api.schemas.base import build_concept_text, compute_digest
from kg_api.schemas.embedding import EmbeddingConfig
from kg_api.schemas.vocabulary import EmbeddedKind, Modality, Selection
from kg_api.text.chunking import CHUNKER_VERSION
from kg_api.text.windows import WINDOW_VERSION


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind to use for embedding jobs and counts. If it has several labels, the first is counted."""

    job: str
    modality: Modality
    labels: tuple[EmbeddedLabel, ...]
    noun: str
    plural: str


KINDS: Final[dict[EmbeddedKind, Kind]] = {
    "source": Kind(SOURCE_EMBEDDING, "text", ("Source",), "source", "sources"),
    "concept": Kind(CONCEPT_EMBEDDING, "text", ("Concept",), "concept", "concepts"),
    "image": Kind(IMAGE_EMBEDDING, "image", ("Image",), "image", "pictures"),
    "edge": Kind(
        EDGE_EMBEDDING,
        "text",
        ("RELATED_TO", "RelationType"),
        "relationship",
        "relationships and types of them",
    ),
}
MAIN_KINDS: Final[dict[Modality, EmbeddedKind]] = {"text": "source", "image": "image"}
"""Main kind for each modality. Rejected texts are only counted for these."""


@dataclass(frozen=True, slots=True)
class Target:
    """Properties for an item that has one vector: its id, the text or file to embed, and the hash."""

    identity: str
    text: Callable[[Row], str]
    text_hash: str = "text_hash"


TARGETS: Final[dict[EmbeddedLabel, Target]] = {
    "Concept": Target(
        "concept_id", lambda row: build_concept_text(row["label"], row["description"], row["search_terms"])
    ),
    "Image": Target("source_id", itemgetter("storage_key"), "storage_key"),
    "RELATED_TO": Target("relation_id", lambda row: build_edge_text(row["statement"], row["quote"])),
    "RelationType": Target("type_id", itemgetter("name")),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Way to embed the items that have a label in an ontology, in one slot of a space."""

    ontology: str
    config: EmbeddingConfig
    space: Space
    mark: Fingerprint
    answering_property: str
    """Mark property for the vectors that are used in searches.

    During a build, this can be in another space.
    """
    wants_all: bool  # whether concepts of a single source are embedded for the first time

    @property
    def noun(self) -> str:
        return next(kind.noun for kind in KINDS.values() if self.mark.label in kind.labels)

    @property
    def answers(self) -> bool:
        return self.mark.key == self.answering_property

    def build_query(
        self, selection: Selection = "due", forced_at: object = None, within: tuple[str, str] = ("", "")
    ) -> PendingQuery:
        """Select the items to embed, from a range of documents if these are sources."""
        return PendingQuery(
            self.ontology, self.mark, self.answering_property, selection, forced_at, within, self.wants_all
        )

    def parameters(self) -> dict[str, Any]:
        return {**self.mark.parameters(), "property": self.space.vector_property}


def build_plan(
    ontology: str,
    config: EmbeddingConfig,
    space: Space,
    label: EmbeddedLabel = "Source",
    *,
    answering: Space | None = None,
    wants_all: bool = True,
) -> Plan:
    """Build a plan. Its mark changes with every input of a vector."""
    if label == "Source":
        chunking = json.dumps(config.chunking.model_dump(), sort_keys=True)
        windows = (WINDOW_VERSION,) if config.is_late else ()
        value = compute_digest("mark", space.fingerprint, CHUNKER_VERSION, chunking, *windows)
    else:
        kind = next(name for name, each in KINDS.items() if label in each.labels)
        value = compute_digest(f"{kind} mark", space.fingerprint)
    mark = compute_space_fingerprint(label, space, value[:MARK_DIGITS])
    return Plan(ontology, config, space, mark, (answering or space).mark_property, wants_all)


@dataclass(frozen=True, slots=True)
class PendingItem:
    """An item to embed by one text, or by one file with the text as its key."""

    identity: str
    text: str
    text_hash: str

    @property
    def place(self) -> str:
        return self.identity


def list_pending(graph: Graph, wanted: PendingQuery, *, after: str, limit: int) -> list[PendingItem]:
    """List the next items to embed, sorted by id. `after` is the id of the previous item."""
    place = {"after": after, "after_paragraph": -1}
    rows = graph.read("embedding/due", **wanted.parameters(), **place, limit=limit)
    label = wanted.mark.label
    always = (TARGETS[label].identity, TARGETS[label].text_hash)
    return [_build_item(label, row) for row in drop_deleted_rows(rows, always)]


def sample_texts(graph: Graph, kind: EmbeddedKind, ontology: str, limit: int) -> list[str]:
    if kind == "concept":
        rows = graph.read("concepts/sample", ontology=ontology, limit=limit)
    else:
        rows = graph.read("relations/sample", ontology=ontology, limit=limit)
    return [_build_item(KINDS[kind].labels[0], row).text for row in rows]


def _build_item(label: EmbeddedLabel, row: Row) -> PendingItem:
    target = TARGETS[label]
    return PendingItem(row[target.identity], target.text(row), row[target.text_hash])


def count_embedded(reader: Reader, kind: EmbeddedKind, plans: Sequence[Plan]) -> dict[str, int]:
    """Count the items of ontologies by the state of their vectors. Only concepts have `deferred`."""
    label = KINDS[kind].labels[0]
    own = [plan.build_query().parameters() for plan in plans if plan.mark.label == label]
    row = reader.read("embedding/count_embedded", plans=own)[0]
    stale = row["total"] - row["embedded"] - row["refused"] - row["missing"] - row["deferred"]
    if kind != "concept":
        del row["deferred"]
    return {**row, "stale": stale}


def write_vectors(
    tx: Transaction, plan: Plan, vectors: Sequence[tuple[PendingItem, NDArray[np.float32]]]
) -> list[str]:
    """Write the vectors of items whose text is unchanged. Other items stay pending."""
    require_fitting(tx, plan.space, (vector for _, vector in vectors))
    rows = [
        {"id": each.identity, "text_hash": each.text_hash, "vector": Vector.from_numpy(vector)}
        for each, vector in vectors
    ]
    parameters = plan.parameters()
    del parameters["refused"]
    written = tx.run("embedding/write_vectors", rows=rows, ontology=plan.ontology, **parameters)
    return [row["id"] for row in written]


def list_embedded_up_to(graph: Graph, plan: Plan, last: str, limit: int) -> list[str]:
    """List the ids of the last embedded concepts up to one concept."""
    mark = plan.mark.parameters()
    rows = graph.read("concepts/before", ontology=plan.ontology, **mark, last=last, limit=limit)
    return [row["concept_id"] for row in rows]


def check_image_vectors(graph: Graph, plan: Plan) -> tuple[int, int]:
    """Count the vectors of an ontology's images in a space, and the vectors that an index would ignore."""
    parameters = {"ontology": plan.ontology, "dimensions": plan.space.dimensions}
    row = graph.read("images/check_vectors", **plan.parameters(), **parameters)[0]
    return row["built"], row["wrong"]


# Checks of vectors: complete, valid, and found by the index

PORTION = 2000
SAMPLED = 16
NEAREST = 10
SAME = 0.9999  # cosine of equal vectors, of which the index may return either


def count_vectors(graph: Graph, ontology: str, space: Space, mark: Fingerprint) -> Counter[str]:
    """Check every vector that an ontology has in a slot, in batches."""
    # `built` sources have a mark. Sources `without` have neither a vector nor a chunk with a vector. An index
    # ignores `wrong` vectors: another size, zero, or not finite. `orphans` are `chunks` without a source.
    counts = Counter[str]()
    names = {"ontology": ontology, **_get_names(space)}
    marks = mark.parameters()
    place = ["", -1]
    while place is not None:
        at = {"after_document": place[0], "after_paragraph": place[1]}
        row = graph.read("spaces/check_sources", **names, **marks, **at, limit=PORTION)[0]
        place = row.pop("last")
        counts.update(row)
    after = ""
    while after is not None:
        row = graph.read("spaces/check_chunks", **names, after=after, limit=PORTION)[0]
        after = row.pop("last")
        counts.update(row)
    return counts


def find_lost_in_index(graph: Graph, ontology: str, space: Space, mark: Fingerprint) -> tuple[int, int]:
    """Query the index for some vectors, to count those that are not found."""
    places = [f"{random.getrandbits(32):08x}" for _ in range(SAMPLED - 1)]
    names = {**_get_names(space), **mark.parameters()}
    del names["dimensions"]
    rows = graph.read("spaces/sample", ontology=ontology, places=["", *places], **names)
    vectors = [row for row in rows if row["vector"] is not None]
    return sum(not _is_found(graph, ontology, space, row) for row in vectors), len(vectors)


def _is_found(graph: Graph, ontology: str, space: Space, sampled: Row) -> bool:
    vector = np.asarray(sampled["vector"], dtype=np.float32)
    nearest = NearestPassages(vector, space, Filters([ontology]), NEAREST, each_chunk=True)
    hits = find_by_vector(graph, nearest).found
    if sampled["chunk_id"] is None:
        found = any(hit.source.source_id == sampled["source_id"] and hit.chunk is None for hit in hits)
    else:
        found = any(hit.chunk is not None and hit.chunk.chunk_id == sampled["chunk_id"] for hit in hits)
    return found or (len(hits) == NEAREST and hits[-1].score >= SAME)


def _get_names(space: Space) -> dict[str, str | int]:
    return {"property": space.vector_property, "key": space.key, "dimensions": space.dimensions}

"""What of an ontology goes into a bundle, as it is stored: whole documents, in the order of their names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kg_api.errors import InvalidInput, Unavailable
from kg_api.graph.client import Graph, Row, Transaction, portions
from kg_api.graph.concept_writes import present_evidence
from kg_api.graph.concepts import IMPORTED, EvidenceRows
from kg_api.graph.spaces import Mark, Space
from kg_api.graph.vectors import EmbeddedBatch, SourceText, source_text, versions_of
from kg_api.schemas.bundles import MAX_PART

ALL = 2**31
"""Behind every paragraph."""
LOOKS = 5
"""So often is read again what was embedded, or merged, meanwhile."""
CHUNKED_SOURCES = 20
"""Of one statement: the driver gives a vector as a list of numbers, which is large."""


@dataclass(frozen=True, slots=True)
class StoredPart:
    """Some sources of documents, in reading order, with what is made of them."""

    sources: Sequence[Row]
    chunks: Sequence[Row]
    evidence: EvidenceRows
    labels: dict[str, str]
    """By concept, what it is called."""


def count_documents(graph: Graph) -> dict[str, int]:
    """By ontology, in the order of their names."""
    return {row["ontology"]: row["documents"] for row in graph.read("bundle/counts")}


def documents_behind(graph: Graph, ontology: str, after: str, limit: int) -> list[Row]:
    """The next documents of an ontology, by their names."""
    return graph.read("bundle/documents", ontology=ontology, after=after, limit=limit)


def have_changed(graph: Graph, documents: Sequence[Row]) -> bool:
    """Whether any of these was written since it was read."""
    now = versions_of(graph, [row["document_id"] for row in documents])
    return any(now.get(row["document_id"], "") != row["version"] for row in documents)


def read_part(
    graph: Graph, documents: Sequence[Row], embedded: tuple[Space, Mark], *, first: int = 0, until: int = ALL
) -> StoredPart:
    """Sources of documents from one paragraph to before another, with what is made of them.

    Args:
        graph: where they are.
        documents: which, as they were read.
        embedded: where their vectors are, and how they shall be embedded.
        first: paragraph.
        until: behind the last one.
    """
    sources, chunks = _read_embedded(graph, documents, embedded, (first, until))
    source_ids = [row["source_id"] for row in sources]
    for _ in range(LOOKS):
        evidence = _evidence(graph, source_ids)
        ids = sorted(_concept_ids(evidence))
        rows = graph.read("bundle/labels", concept_ids=ids) if ids else []
        labels = {row["concept_id"]: row["label"] for row in rows}
        if labels.keys() >= _concept_ids(evidence) and _evidence(graph, source_ids) == evidence:
            return StoredPart(sources, chunks, evidence, labels)
    raise Unavailable("concepts are being merged faster than they can be read: try again")


def read_texts(graph: Graph, documents: Sequence[Row]) -> StoredPart:
    """All sources of documents, without what is made of them."""
    return StoredPart(_sources(graph, documents, None, (0, ALL)), (), EvidenceRows([], [], []), {})


def _read_embedded(
    graph: Graph, documents: Sequence[Row], embedded: tuple[Space, Mark], places: tuple[int, int]
) -> tuple[list[Row], list[Row]]:
    """Sources and their chunks; what is embedded between both is read again, or counts as not embedded."""
    sources, chunks, bare = list[Row](), list[Row](), set[str]()
    for _ in range(LOOKS):
        sources = _sources(graph, documents, embedded, places)
        # Those of sources that have no vector of their own, each once, but for what a bundle cannot hold
        space = embedded[0]
        chunked = [row["source_id"] for row in sources if _is_chunked(row)]
        found: dict[str, Row] = {}
        for ids in portions(chunked, CHUNKED_SOURCES):
            asked = {"source_ids": ids, "space": space.key, "property": space.vector_property}
            rows = graph.read("bundle/chunks", **asked)
            found.update((row["chunk_id"], _small(row)) for row in rows if _is_whole(row))
        chunks = [found[each] for each in sorted(found)]
        if not (bare := _bare(sources, chunks)):
            break
    return [{**row, "embedded": False} if row["source_id"] in bare else row for row in sources], chunks


def _sources(
    graph: Graph, documents: Sequence[Row], embedded: tuple[Space, Mark] | None, places: tuple[int, int]
) -> list[Row]:
    space, mark = embedded or (None, None)
    return graph.read(
        "bundle/sources",
        document_ids=[row["document_id"] for row in documents],
        first=places[0],
        until=places[1],
        mark_property=mark.key if mark else "",
        mark=mark.value if mark else None,
        property=space.vector_property if space else "",
    )


def _is_chunked(source: Row) -> bool:
    return bool(source["embedded"]) and source["vector"] is None


def _is_whole(chunk: Row) -> bool:
    """Not of another moment than what it is read for, and of no more sources than an import takes."""
    told = (chunk["vector"] is None) == bool(chunk["children"])
    return told and 0 < len(chunk["paragraphs"]) <= MAX_PART


def _small(chunk: Row) -> Row:
    """Its vector as an array, which has a tenth of the bytes of a list."""
    vector = chunk["vector"]
    return {**chunk, "vector": None if vector is None else np.asarray(vector, dtype=np.float32)}


def _bare(sources: Sequence[Row], chunks: Sequence[Row]) -> set[str]:
    """Ids of sources that are said to be embedded, and have neither a vector nor a chunk."""
    covered = {(row["document_id"], each) for row in chunks for each in row["paragraphs"]}
    chunked = (row for row in sources if _is_chunked(row))
    return {row["source_id"] for row in chunked if (row["document_id"], row["paragraph"]) not in covered}


def _evidence(graph: Graph, source_ids: Sequence[str]) -> EvidenceRows:
    """What some sources say of concepts; merging may move some of it between two statements of this."""
    found = graph.transaction(lambda tx: present_evidence(tx, source_ids, source_ids))
    return EvidenceRows(
        sorted(found.appearances, key=lambda row: row.key),
        sorted(found.quotes, key=lambda row: row.key),
        sorted(found.relations, key=lambda row: row.key),
    )


def _concept_ids(evidence: EvidenceRows) -> set[str]:
    ends = (each for row in evidence.relations for each in (row.subject, row.object))
    return {row.concept_id for row in (*evidence.appearances, *evidence.quotes)}.union(ends)


def by_document(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the document that they are of."""
    found = defaultdict[str, list[Row]](list)
    for row in rows:
        found[row["document_id"]].append(row)
    return found


# What is written of a bundle beside what documents, vectors and concepts are written by.


@dataclass(frozen=True, slots=True)
class StoredSources:
    """Sources of a document as they are stored."""

    by_paragraph: dict[int, SourceText]
    not_embedded: frozenset[str]
    """Ids of those that are not embedded as they shall be."""
    extracted_with: dict[str, str]
    """By id, the extractor that has read it."""
    brought: frozenset[str]
    """Ids of those of which somebody has brought concepts."""

    @property
    def lengths(self) -> dict[int, int]:
        """Of their texts, in code points, by paragraph."""
        return {at: len(source.full_text) for at, source in self.by_paragraph.items()}


def hold_documents(tx: Transaction, document_ids: Collection[str]) -> dict[str, str | None]:
    """Hold those of some documents that are there; by id, the hash of all that each was made of."""
    rows = tx.run("bundle/hold", document_ids=sorted(document_ids))
    return {row["document_id"]: row["content_hash"] for row in rows}


def waiting_among(tx: Transaction, document_ids: Collection[str]) -> set[str]:
    """Those of some documents of which a text waits for approval."""
    return {row["document_id"] for row in tx.run("bundle/waiting", document_ids=sorted(document_ids))}


def keep_changes(tx: Transaction, changes: Mapping[str, str]) -> None:
    """Keep, by document, what somebody changed of it."""
    if changes:
        rows = [{"document_id": identity, "changes": said} for identity, said in sorted(changes.items())]
        tx.run("bundle/keep_changes", rows=rows)


def stored_sources(
    tx: Transaction, document_ids: Collection[str], mark: Mark, places: range
) -> dict[str, StoredSources]:
    """By document, its sources at some paragraphs, and how each is embedded and read."""
    rows = tx.run(
        "bundle/sources_of",
        document_ids=sorted(document_ids),
        first=places.start,
        until=places.stop,
        mark_property=mark.key,
        mark=mark.value,
        imported=IMPORTED,
    )
    brought = frozenset(row["source_id"] for row in rows if row["brought"])
    found = {each: StoredSources({}, frozenset(), {}, brought) for each in document_ids}
    missing: dict[str, set[str]] = {each: set() for each in document_ids}
    for row in rows:
        source = source_text(row)
        found[row["document_id"]].by_paragraph[source.paragraph] = source
        found[row["document_id"]].extracted_with[source.source_id] = row["extracted_with"] or ""
        if not row["embedded"]:
            missing[row["document_id"]].add(source.source_id)
    return {
        each: StoredSources(known.by_paragraph, frozenset(missing[each]), known.extracted_with, brought)
        for each, known in found.items()
    }


def require_own_chunks(tx: Transaction, batch: EmbeddedBatch, space: Space) -> None:
    """Refuse chunks that would take the place of another document's.

    Raises:
        InvalidInput: there is one.
    """
    places = [each.place for each in (*batch.chunks, *batch.parents)]
    rows = [{"chunk_id": each.chunk_id, "document_id": each.document_id} for each in places]
    if rows and tx.run("bundle/foreign_chunks", rows=rows, space=space.key):
        raise InvalidInput("a chunk has the id of another document's chunk: this bundle was not made by kg")

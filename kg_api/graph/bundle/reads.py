"""What of an ontology goes into a bundle, as it is stored: whole documents, in the order of their names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kg_api.errors import Unavailable
from kg_api.graph.concepts.evidence import present_evidence
from kg_api.graph.concepts.rows import EvidenceRows
from kg_api.graph.database import Graph, Row
from kg_api.graph.spaces.due import versions_of
from kg_api.graph.spaces.marks import Mark
from kg_api.graph.spaces.registry import Space

ALL = 2**31
"""Behind every paragraph."""
LOOKS = 5
"""So often evidence is read again that concepts were merged in meanwhile."""


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
    """Sources of documents from one paragraph to before another.

    Args:
        graph: where they are.
        documents: which, as they were read.
        embedded: where their vectors are, and how they shall be embedded.
        first: paragraph.
        until: behind the last one.
    """
    space, mark = embedded
    ids = [row["document_id"] for row in documents]
    places = {"document_ids": ids, "first": first, "until": until}
    marked = {"mark_property": mark.key, "mark": mark.value, "property": space.vector_property}
    sources = graph.read("bundle/sources", **places, **marked)
    chunked = [row["source_id"] for row in sources if row["embedded"] and row["vector"] is None]
    asked = {"source_ids": chunked, "space": space.key, "property": space.vector_property}
    chunks = graph.read("bundle/chunks", **asked) if chunked else []
    source_ids = [row["source_id"] for row in sources]
    for _ in range(LOOKS):
        evidence = _evidence(graph, source_ids)
        labels = _labels(graph, evidence)
        if labels.keys() >= _concept_ids(evidence) and _evidence(graph, source_ids) == evidence:
            return StoredPart(sources, chunks, evidence, labels)
    raise Unavailable("concepts are being merged faster than they can be read: try again")


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


def _labels(graph: Graph, evidence: EvidenceRows) -> dict[str, str]:
    ids = sorted(_concept_ids(evidence))
    rows = graph.read("bundle/labels", concept_ids=ids) if ids else []
    return {row["concept_id"]: row["label"] for row in rows}


def by_document(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the document that they are of."""
    found = defaultdict[str, list[Row]](list)
    for row in rows:
        found[row["document_id"]].append(row)
    return found

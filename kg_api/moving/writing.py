"""From what is stored of documents to the lines of a bundle. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from kg_api.bundle.lines import pack
from kg_api.graph.bundle.reads import StoredPart, by_document
from kg_api.graph.concepts.rows import IMPORTED, AppearanceRow, EvidenceRows, QuoteRow
from kg_api.graph.database import Row, portions
from kg_api.graph.relations.rows import RelationRow
from kg_api.models.base import Body
from kg_api.models.bundle.lines import (
    BundledChunk,
    BundledConcept,
    BundledConcepts,
    BundledDocument,
    BundledImage,
    BundledQuote,
    BundledRelation,
    BundledSource,
    BundledVectors,
)
from kg_api.models.library.documents import DocumentChange

R = TypeVar("R", AppearanceRow, QuoteRow, RelationRow)
SOURCES_A_LINE = 100
"""With their vectors."""
Origin = tuple[str, bool]
"""A source, and whether somebody brought what is said of it; else an extractor has found it."""
Grouped = dict[Origin, list[R]]


def document_line(row: Row) -> BundledDocument:
    """A document without its sources."""
    changes = None if row["changes"] is None else DocumentChange.model_validate_json(row["changes"])
    known: dict[str, Any] = {name: row[name] for name in BundledDocument.model_fields if name in row}
    known |= {"kind": "document", "metadata": json.loads(row["metadata"] or "{}"), "changes": changes}
    return BundledDocument(**known)


def source_line(row: Row) -> BundledSource:
    """A source."""
    boxes = row["word_boxes"]
    return BundledSource(
        kind="source",
        text=row["full_text"],
        heading=row["heading"],
        start=row["start"],
        end=row["end"],
        blocks=list(zip(row["block_kinds"] or (), row["block_starts"] or (), strict=True)),
        page=row["page"],
        last_page=row["last_page"],
        ocr_confidence=row["ocr_confidence"],
        word_boxes=None if boxes is None else base64.b64encode(bytes(boxes)).decode(),
        image=None if row["image"] is None else BundledImage(**row["image"]),
    )


def vector_lines(
    documents: Sequence[Row], part: StoredPart, mark: str
) -> Iterator[tuple[str, BundledVectors]]:
    """How sources are embedded that are so as they shall be; by document."""
    chunks = by_document(part.chunks)
    sources = by_document([row for row in part.sources if row["embedded"]])
    for document in documents:
        identity = document["document_id"]
        for rows in portions(sources.get(identity, []), SOURCES_A_LINE):
            places = {row["paragraph"] for row in rows}
            line = BundledVectors(
                kind="vectors",
                document=document["document"],
                content_hash=document["content_hash"],
                mark=mark,
                paragraphs=[row["paragraph"] for row in rows],
                vectors=[None if row["vector"] is None else pack(row["vector"]) for row in rows],
                chunks=[
                    _chunk(row)
                    for row in chunks.get(identity, ())
                    if not places.isdisjoint(row["paragraphs"])
                ],
            )
            yield identity, line


def _chunk(row: Row) -> BundledChunk:
    return BundledChunk(
        chunk_id=row["chunk_id"],
        first=row["paragraphs"][0],
        last=row["paragraphs"][-1],
        offset=row["offset"],
        end_offset=row["end_offset"],
        vector=None if row["vector"] is None else pack(row["vector"]),
        children=sorted(row["children"]),
    )


def concept_lines(documents: Sequence[Row], part: StoredPart) -> Iterator[tuple[str, BundledConcepts]]:
    """What was found in sources, a line for each extractor or import of each; by document."""
    known = {row["document_id"]: row for row in documents}
    of_source = _Evidence(part.evidence)
    for row in part.sources:
        document = known[row["document_id"]]
        for imported, mark in of_source.origins(row):
            key = (row["source_id"], imported)
            yield (
                row["document_id"],
                BundledConcepts(
                    kind="concepts",
                    document=document["document"],
                    content_hash=document["content_hash"],
                    paragraph=row["paragraph"],
                    extracted_with=mark.removeprefix(IMPORTED),
                    imported=imported,
                    unverified=0 if imported else row["unverified"] or 0,
                    concepts=list(of_source.concepts(key, part.labels)),
                    relations=list(of_source.relations(key, part.labels)),
                ),
            )


class _Evidence:
    """What is stored of sources, by origin."""

    def __init__(self, evidence: EvidenceRows) -> None:
        self._appearances: Grouped[AppearanceRow] = _grouped(evidence.appearances)
        self._quotes: Grouped[QuoteRow] = _grouped(evidence.quotes)
        self._relations: Grouped[RelationRow] = _grouped(evidence.relations)
        self._marks: dict[tuple[str, bool], str] = {}
        for row in (*evidence.appearances, *evidence.quotes, *evidence.relations):
            self._marks.setdefault(_origin(row), row.extracted_with)

    def origins(self, source: Row) -> Iterator[tuple[bool, str]]:
        """Whether it was imported, and by what mark; also that of an extractor which found nothing."""
        own = None if source["refused"] else source["extracted_with"]
        if mark := own or self._marks.get((source["source_id"], False)):
            yield False, mark
        if mark := self._marks.get((source["source_id"], True)):
            yield True, mark

    def concepts(self, key: Origin, labels: dict[str, str]) -> Iterator[BundledConcept]:
        """The concepts of one origin."""
        quotes: dict[str, list[QuoteRow]] = {}
        for quote in self._quotes.get(key, ()):
            quotes.setdefault(quote.concept_id, []).append(quote)
        for row in self._appearances.get(key, ()):
            yield BundledConcept(
                label=labels[row.concept_id],
                description=row.description,
                search_terms=list(row.terms),
                confidence=row.confidence,
                quotes=[_quote(each) for each in quotes.get(row.concept_id, ())],
                unverified=list(row.unverified),
            )

    def relations(self, key: Origin, labels: dict[str, str]) -> Iterator[BundledRelation]:
        """What is stated by one origin."""
        for row in self._relations.get(key, ()):
            quoted = row.start is not None and row.end is not None
            yield BundledRelation(
                subject=labels[row.subject],
                type=row.type,
                object=labels[row.object],
                confidence=row.confidence,
                quote=BundledQuote(start=row.start or 0, end=row.end or 0) if quoted else None,
            )


def _quote(row: QuoteRow) -> BundledQuote:
    return BundledQuote(start=row.start, end=row.end, score=row.score, said=row.said)


def _grouped(rows: Sequence[R]) -> Grouped[R]:
    found: Grouped[R] = {}
    for row in rows:
        found.setdefault(_origin(row), []).append(row)
    return found


def _origin(row: AppearanceRow | QuoteRow | RelationRow) -> Origin:
    return row.source_id, row.extracted_with.startswith(IMPORTED)


def packed(lines: Iterable[Body]) -> bytes:
    """Lines as they stand in a file."""
    return b"".join(each.model_dump_json(exclude_defaults=True).encode() + b"\n" for each in lines)

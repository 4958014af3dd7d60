"""From what is stored of documents to the lines of a bundle. Pure."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from kg_api.bundle.lines import pack
from kg_api.graph.bundle.reads import StoredPart, by_document
from kg_api.graph.concepts.rows import IMPORTED, AppearanceRow, EvidenceRows, QuoteRow
from kg_api.graph.database import Row, portions
from kg_api.graph.relations.rows import RelationRow
from kg_api.models.base import Body
from kg_api.models.bundle.lines import (
    BundledChanges,
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

T = TypeVar("T")
R = TypeVar("R", AppearanceRow, QuoteRow, RelationRow)
VECTORS_A_LINE = 1000
VALUES_A_LINE = 20_000
"""Of concepts, about: a service takes no line of many more."""
RELATIONS_A_LINE = 1000
Origin = tuple[str, bool]
"""A source, and whether somebody brought what is said of it; else an extractor has found it."""
Grouped = dict[Origin, list[R]]


def document_line(row: Row) -> BundledDocument:
    changes = None if row["changes"] is None else BundledChanges.model_validate_json(row["changes"])
    known: dict[str, Any] = {name: row[name] for name in BundledDocument.model_fields if name in row}
    known |= {"kind": "document", "metadata": json.loads(row["metadata"] or "{}"), "changes": changes}
    return BundledDocument(**known)


def source_line(row: Row) -> BundledSource:
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
        own = _by_paragraph(chunks.get(identity, ()))
        rows = sources.get(identity, [])
        for some in _heaps(rows, lambda row, own=own: 1 + len(own[row["paragraph"]]), VECTORS_A_LINE):
            yield identity, _vector_line(document, some, own, mark)


def _vector_line(
    document: Row, sources: Sequence[Row], chunks: Mapping[int, Sequence[Row]], mark: str
) -> BundledVectors:
    own = {chunk["chunk_id"]: chunk for row in sources for chunk in chunks[row["paragraph"]]}
    return BundledVectors(
        kind="vectors",
        document=document["document"],
        content_hash=document["content_hash"],
        mark=mark,
        paragraphs=[row["paragraph"] for row in sources],
        vectors=[None if row["vector"] is None else pack(row["vector"]) for row in sources],
        chunks=[_chunk(own[each]) for each in sorted(own)],
    )


def _by_paragraph(chunks: Sequence[Row]) -> Mapping[int, Sequence[Row]]:
    found = defaultdict[int, list[Row]](list)
    for row in chunks:
        for paragraph in row["paragraphs"]:
            found[paragraph].append(row)
    return found


def _heaps(items: Iterable[T], weigh: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Items in parts that weigh no more than that, unless one alone does."""
    heap, weight = list[T](), 0
    for each in items:
        own = weigh(each)
        if heap and weight + own > most:
            yield heap
            heap, weight = [], 0
        heap.append(each)
        weight += own
    if heap:
        yield heap


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
    """What was found in sources, lines for each extractor or import of each; by document."""
    known = {row["document_id"]: row for row in documents}
    of_source = _Evidence(part.evidence)
    for row in part.sources:
        for imported, mark in of_source.origins(row):
            found = _found_by(of_source, (row["source_id"], imported), part.labels)
            for concepts, relations in found:
                line = BundledConcepts(
                    kind="concepts",
                    document=known[row["document_id"]]["document"],
                    content_hash=known[row["document_id"]]["content_hash"],
                    paragraph=row["paragraph"],
                    extracted_with=mark.removeprefix(IMPORTED),
                    imported=imported,
                    unverified=0 if imported else row["unverified"] or 0,
                    concepts=list(concepts),
                    relations=list(relations),
                )
                yield row["document_id"], line


def _found_by(
    of_source: _Evidence, key: Origin, labels: dict[str, str]
) -> Iterator[tuple[Sequence[BundledConcept], Sequence[BundledRelation]]]:
    """What was found in a source, in parts that a line holds; one part where nothing was."""
    concepts = [*_heaps(of_source.concepts(key, labels), _values, VALUES_A_LINE)] or [[]]
    relations = portions([*of_source.relations(key, labels)], RELATIONS_A_LINE)
    yield from zip_longest(concepts, relations, fillvalue=())


def _values(concept: BundledConcept) -> int:
    """About how many values it has in a line; at least so many that no line has more than 1,000."""
    return 20 + 4 * len(concept.quotes) + len(concept.search_terms) + len(concept.unverified)


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

"""Exporting an ontology in pages of complete documents, each consistent in itself."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeVar, cast

from kg_api import __version__
from kg_api.blobs.images import StoredFiles
from kg_api.errors import Unavailable
from kg_api.graph.bundle import (
    StoredPart,
    by_document,
    count_documents,
    have_changed,
    list_documents_after,
    read_part,
)
from kg_api.graph.client import Graph, Row, portions
from kg_api.graph.concept_writes import read_extraction
from kg_api.graph.concepts import IMPORTED, AppearanceRow, QuoteRow
from kg_api.graph.fulltext import read_language, read_synonyms
from kg_api.graph.proposals import read_proposals
from kg_api.graph.relations import RelationRow
from kg_api.graph.review import count_waiting
from kg_api.graph.schema import list_known
from kg_api.graph.spaces import format_model_name
from kg_api.schemas import bundles
from kg_api.schemas.base import Body
from kg_api.schemas.spaces import NewSpace
from kg_api.schemas.vocabulary import Provider
from kg_api.spaces.plans import EmbeddingState, read_embedding_state, select_embedding_states
from kg_api.transfer.bundles import pack

T = TypeVar("T")
VECTORS_A_LINE = 1000
VALUES_A_LINE = 20_000  # approximate limit, because a service rejects lines with many more
RELATIONS_A_LINE = 1000


def document_line(row: Row) -> bundles.BundledDocument:
    changes = None if row["changes"] is None else bundles.BundledChanges.model_validate_json(row["changes"])
    known: dict[str, Any] = {name: row[name] for name in bundles.BundledDocument.model_fields if name in row}
    known |= {"kind": "document", "metadata": json.loads(row["metadata"] or "{}"), "changes": changes}
    return bundles.BundledDocument(**known)


def source_line(row: Row) -> bundles.BundledSource:
    boxes = row["word_boxes"]
    return bundles.BundledSource(
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
        image=None if row["image"] is None else bundles.BundledImage(**row["image"]),
    )


def vector_lines(
    documents: Sequence[Row], part: StoredPart, mark: str
) -> Iterator[tuple[str, bundles.BundledVectors]]:
    """Yield the vectors of correctly embedded sources, by document."""
    chunks = by_document(part.chunks)
    sources = by_document([row for row in part.sources if row["embedded"]])
    for document in documents:
        identity = document["document_id"]
        own = defaultdict[int, list[Row]](list)
        for row in chunks.get(identity, ()):
            for paragraph in row["paragraphs"]:
                own[paragraph].append(row)
        rows = sources.get(identity, [])
        for some in _heaps(rows, lambda row, own=own: 1 + len(own[row["paragraph"]]), VECTORS_A_LINE):
            covering = {chunk["chunk_id"]: chunk for row in some for chunk in own[row["paragraph"]]}
            line = bundles.BundledVectors(
                kind="vectors",
                document=document["document"],
                content_hash=document["content_hash"],
                mark=mark,
                paragraphs=[row["paragraph"] for row in some],
                vectors=[None if row["vector"] is None else pack(row["vector"]) for row in some],
                chunks=[_chunk(covering[each]) for each in sorted(covering)],
            )
            yield identity, line


def _heaps(items: Iterable[T], weigh: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Yield items in parts up to a maximum weight, unless a single item exceeds it."""
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


def _chunk(row: Row) -> bundles.BundledChunk:
    return bundles.BundledChunk(
        chunk_id=row["chunk_id"],
        first=row["paragraphs"][0],
        last=row["paragraphs"][-1],
        offset=row["offset"],
        end_offset=row["end_offset"],
        vector=None if row["vector"] is None else pack(row["vector"]),
        children=sorted(row["children"]),
    )


@dataclass(slots=True)
class _Evidence:
    mark: str
    appearances: list[AppearanceRow] = field(default_factory=list[AppearanceRow])
    quotes: list[QuoteRow] = field(default_factory=list[QuoteRow])
    relations: list[RelationRow] = field(default_factory=list[RelationRow])


def concept_lines(
    documents: Sequence[Row], part: StoredPart
) -> Iterator[tuple[str, bundles.BundledConcepts]]:
    """Yield the evidence of sources by document, in separate lines for each extractor or import."""
    known = {row["document_id"]: row for row in documents}
    found: dict[tuple[str, bool], _Evidence] = {}

    def of(row: AppearanceRow | QuoteRow | RelationRow) -> _Evidence:
        origin = row.source_id, row.extracted_with.startswith(IMPORTED)
        return found.setdefault(origin, _Evidence(row.extracted_with))

    for appearance in part.evidence.appearances:
        of(appearance).appearances.append(appearance)
    for quote in part.evidence.quotes:
        of(quote).quotes.append(quote)
    for relation in part.evidence.relations:
        of(relation).relations.append(relation)
    for row in part.sources:
        identity, source_id = row["document_id"], row["source_id"]
        own, brought = found.get((source_id, False)), found.get((source_id, True))
        # An extractor may have read the source without a result
        mark = (not row["refused"] and row["extracted_with"]) or (own and own.mark)
        for evidence in (mark and (own or _Evidence(mark)), brought):
            if not evidence:
                continue
            is_brought = evidence is brought
            concepts = [*_heaps(_concepts(evidence, part.labels), _values, VALUES_A_LINE)] or [[]]
            relations = portions([*_relations(evidence, part.labels)], RELATIONS_A_LINE)
            for some_concepts, some_relations in zip_longest(concepts, relations, fillvalue=()):
                yield (
                    identity,
                    bundles.BundledConcepts(
                        kind="concepts",
                        document=known[identity]["document"],
                        content_hash=known[identity]["content_hash"],
                        paragraph=row["paragraph"],
                        extracted_with=(evidence.mark if is_brought else str(mark)).removeprefix(IMPORTED),
                        imported=is_brought,
                        unverified=0 if is_brought else row["unverified"] or 0,
                        concepts=list(some_concepts),
                        relations=list(some_relations),
                    ),
                )


def _values(concept: bundles.BundledConcept) -> int:
    """Return the approximate number of values in a line, at least 20 to limit lines to 1,000 concepts."""
    return 20 + 4 * len(concept.quotes) + len(concept.search_terms) + len(concept.unverified)


def _concepts(evidence: _Evidence, labels: Mapping[str, str]) -> Iterator[bundles.BundledConcept]:
    quotes = defaultdict[str, list[bundles.BundledQuote]](list)
    for each in evidence.quotes:
        quote = bundles.BundledQuote(start=each.start, end=each.end, score=each.score, said=each.said)
        quotes[each.concept_id].append(quote)
    for row in evidence.appearances:
        yield bundles.BundledConcept(
            label=labels[row.concept_id],
            description=row.description,
            search_terms=list(row.terms),
            confidence=row.confidence,
            quotes=quotes[row.concept_id],
            unverified=list(row.unverified),
        )


def _relations(evidence: _Evidence, labels: Mapping[str, str]) -> Iterator[bundles.BundledRelation]:
    for row in evidence.relations:
        quoted = row.start is not None and row.end is not None
        yield bundles.BundledRelation(
            subject=labels[row.subject],
            type=row.type,
            object=labels[row.object],
            confidence=row.confidence,
            quote=bundles.BundledQuote(start=row.start or 0, end=row.end or 0) if quoted else None,
        )


DOCUMENTS_A_PAGE = 100
LOOKS = 5  # attempts to read a page whose documents or embedding change during the read


def schema_version() -> int:
    """Return the number of the last schema change in this version."""
    return int(list_known()[-1][:3])


class ExportService:
    def __init__(self, graph: Graph, files: StoredFiles) -> None:
        self._graph = graph
        self._files = files

    def offer(self, ontologies: Sequence[str] | None) -> bundles.BundleOffer:
        """Return the contents available for export, of some ontologies or of all."""
        states = select_embedding_states(self._graph, ontologies)
        counts, waiting = count_documents(self._graph), count_waiting(self._graph)
        names = [each.ontology for each in states]
        return bundles.BundleOffer(
            format=bundles.FORMAT,
            kg_version=__version__,
            schema_version=schema_version(),
            ontologies=[self._configuration(each) for each in states],
            documents={name: counts.get(name, 0) for name in names},
            waiting={
                name: count for name, count in waiting.items() if ontologies is None or name in ontologies
            },
            left_out=list(bundles.LEFT_OUT),
        )

    def page(self, ontology: str, after: str) -> bytes:
        """Return the lines of the next documents after a name, or none at the end."""
        for _ in range(LOOKS):
            plan = read_embedding_state(self._graph, ontology).answering
            documents, sources = list[Row](), 0
            for row in list_documents_after(self._graph, ontology, after, DOCUMENTS_A_PAGE):
                sources += row["sources"]
                if documents and sources > bundles.SOURCES_A_PART:
                    break
                documents.append(row)
            largest = max((row["sources"] for row in documents), default=0)
            parts = [
                read_part(
                    self._graph, documents, plan.space, plan.mark, range(at, at + bundles.SOURCES_A_PART)
                )
                for at in range(0, largest, bundles.SOURCES_A_PART)
            ]
            now = read_embedding_state(self._graph, ontology).answering
            if now.mark == plan.mark and not have_changed(self._graph, documents):
                return _pack(documents, parts, plan.mark.value)
        raise Unavailable(f"documents of {ontology!r} change faster than they can be read: try again")

    def blob(self, key: str) -> bytes:
        return self._files.read(key)

    def _configuration(self, state: EmbeddingState) -> bundles.BundledOntology:
        name, plan = state.ontology, state.answering
        identity = plan.space.identity
        return bundles.BundledOntology(
            ontology=name,
            embedding=plan.config,
            space_fingerprint=plan.space.fingerprint,
            model=format_model_name(identity),
            space=NewSpace(
                slug=plan.space.slug,
                provider=cast("Provider", identity.provider),
                model=identity.model,
                dimensions=identity.dimensions,
            ),
            mark=plan.mark.value,
            language=read_language(self._graph, name).language,
            synonyms=[list(group) for group in read_synonyms(self._graph, name)],
            extraction=read_extraction(self._graph, name).config,
            proposals=read_proposals(self._graph, name).config,
        )


def _pack(documents: Sequence[Row], parts: Sequence[StoredPart], mark: str) -> bytes:
    """Return the lines of documents: each document, its sources, and their vectors and evidence."""
    sources: dict[str, list[bytes]] = {row["document_id"]: [] for row in documents}
    made: dict[str, list[bytes]] = {row["document_id"]: [] for row in documents}
    for part in parts:
        for row in part.sources:
            sources[row["document_id"]].append(_pack_line(source_line(row)))
        for identity, line in vector_lines(documents, part, mark):
            made[identity].append(_pack_line(line))
        for identity, line in concept_lines(documents, part):
            made[identity].append(_pack_line(line))
    lines = list[bytes]()
    for row in documents:
        own = sources[row["document_id"]]
        lines += [_pack_line(document_line({**row, "sources": len(own)})), *own, *made[row["document_id"]]]
    return b"".join(lines)


def _pack_line(line: Body) -> bytes:
    return line.model_dump_json(exclude_defaults=True).encode() + b"\n"

"""Export of an ontology in pages. Each page contains complete documents in a consistent state."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from kg_api import __version__
from kg_api.blobs.images import StoredFiles
from kg_api.errors import Unavailable
from kg_api.graph.bundle import StoredPart, has_changed, read_part
from kg_api.graph.client import Graph, Row
from kg_api.graph.concept_writes import read_extraction
from kg_api.graph.concepts import AppearanceRow, QuoteRow
from kg_api.graph.fulltext import read_language, read_synonyms
from kg_api.graph.relations import RelationRow
from kg_api.graph.review import count_waiting
from kg_api.graph.schema import list_known
from kg_api.graph.spaces import format_model_name
from kg_api.schemas import bundles
from kg_api.schemas.spaces import NewSpace
from kg_api.schemas.vocabulary import Provider
from kg_api.spaces.plans import EmbeddingState, read_embedding_state, select_embedding_states
from kg_api.transfer.bundles import pack

DOCUMENTS_A_PAGE = 100
SOURCES_A_PART = 100
READ_ATTEMPTS = 5  # kg reads a page again if its documents or the embedding change during the read


def get_schema_version() -> int:
    """Return the number of the last schema change in this version."""
    return int(list_known()[-1][:3])


class ExportService:
    def __init__(self, graph: Graph, files: StoredFiles) -> None:
        self._graph = graph
        self._files = files

    def offer(self, ontologies: Sequence[str] | None) -> bundles.BundleOffer:
        """Return the content to export of some ontologies, or of all."""
        states = select_embedding_states(self._graph, ontologies)
        counts, waiting = (
            {row["ontology"]: row["documents"] for row in self._graph.read("bundle/counts")},
            count_waiting(self._graph),
        )
        names = [each.ontology for each in states]
        return bundles.BundleOffer(
            format=bundles.FORMAT,
            kg_version=__version__,
            schema_version=get_schema_version(),
            ontologies=[self._build_configuration(each) for each in states],
            documents={name: counts.get(name, 0) for name in names},
            waiting={
                name: count for name, count in waiting.items() if ontologies is None or name in ontologies
            },
            left_out=list(bundles.LEFT_OUT),
        )

    def export_documents(self, ontology: str, after: str) -> bytes:
        """Return the lines of the documents after a name, or no bytes at the end."""
        for _ in range(READ_ATTEMPTS):
            plan = read_embedding_state(self._graph, ontology).answering
            documents, sources = list[Row](), 0
            for row in self._graph.read(
                "bundle/documents", ontology=ontology, after=after, limit=DOCUMENTS_A_PAGE
            ):
                sources += row["sources"]
                if documents and sources > SOURCES_A_PART:
                    break
                documents.append(row)
            largest = max((row["sources"] for row in documents), default=0)
            parts = [
                read_part(self._graph, documents, plan.space, plan.mark, range(at, at + SOURCES_A_PART))
                for at in range(0, largest, SOURCES_A_PART)
            ]
            current = read_embedding_state(self._graph, ontology).answering
            if current.mark == plan.mark and not has_changed(self._graph, documents):
                return _pack_lines(documents, parts, plan.mark.value)
        raise Unavailable(
            f"documents of {ontology!r} changed during every attempt to read them. Retry the export later"
        )

    def read_blob(self, key: str) -> bytes:
        return self._files.read(key)

    def _build_configuration(self, state: EmbeddingState) -> bundles.BundledOntology:
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
        )


# Lines


def _pack_lines(documents: Sequence[Row], parts: Sequence[StoredPart], mark: str) -> bytes:
    """Return for each document a line with its sources, then lines with their vectors and evidence."""
    lines = list[bundles.BundledLine]()
    for document in documents:
        document_parts = [_select_document_rows(part, document["document_id"]) for part in parts]
        lines.append(_build_document_line(document, [row for part in document_parts for row in part.sources]))
        for part in document_parts:
            if passages := [*_build_passages(part)]:
                line = bundles.BundledPassages(
                    kind="passages",
                    document=document["document"],
                    content_hash=document["content_hash"],
                    mark=mark,
                    passages=passages,
                    chunks=[_build_chunk(row) for row in part.chunks],
                )
                lines.append(line)
    return b"".join(each.model_dump_json(exclude_defaults=True).encode() + b"\n" for each in lines)


def _select_document_rows(part: StoredPart, document_id: str) -> StoredPart:
    sources, chunks = (
        [row for row in rows if row["document_id"] == document_id] for rows in (part.sources, part.chunks)
    )
    return StoredPart(sources, chunks, part.evidence, part.labels)


def _build_document_line(row: Row, sources: Sequence[Row]) -> bundles.BundledDocument:
    changes = None if row["changes"] is None else bundles.BundledChanges.model_validate_json(row["changes"])
    fields: dict[str, Any] = {name: row[name] for name in bundles.BundledDocument.model_fields if name in row}
    fields |= {"kind": "document", "metadata": json.loads(row["metadata"] or "{}"), "changes": changes}
    fields["sources"] = [_build_source(each) for each in sources]
    return bundles.BundledDocument(**fields)


def _build_source(row: Row) -> bundles.BundledSource:
    boxes = row["word_boxes"]
    return bundles.BundledSource(
        text=row["full_text"],
        heading=row["heading"],
        blocks=list(zip(row["block_kinds"] or (), row["block_starts"] or (), strict=True)),
        page=row["page"],
        last_page=row["last_page"],
        ocr_confidence=row["ocr_confidence"],
        word_boxes=None if boxes is None else base64.b64encode(bytes(boxes)).decode(),
        image=None if row["image"] is None else bundles.BundledImage(**row["image"]),
    )


def _build_chunk(row: Row) -> bundles.BundledChunk:
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


def _build_passages(part: StoredPart) -> Iterator[bundles.BundledPassage]:
    """Yield the sources with a vector or evidence."""
    evidence_by_source: dict[str, _Evidence] = {}

    def get_evidence(row: AppearanceRow | QuoteRow | RelationRow) -> _Evidence:
        return evidence_by_source.setdefault(row.source_id, _Evidence(row.extracted_with))

    for appearance in part.evidence.appearances:
        get_evidence(appearance).appearances.append(appearance)
    for quote in part.evidence.quotes:
        get_evidence(quote).quotes.append(quote)
    for relation in part.evidence.relations:
        get_evidence(relation).relations.append(relation)
    for row in part.sources:
        stored = evidence_by_source.get(row["source_id"])
        evidence = list[bundles.BundledEvidence]()
        # An extractor may have read the source without a result
        if mark := (not row["refused"] and row["extracted_with"]) or (stored and stored.mark):
            fields = {"extracted_with": mark, "unverified": row["unverified"] or 0}
            evidence.append(_build_evidence(stored or _Evidence(mark), part.labels, **fields))
        if row["embedded"] or evidence:
            yield bundles.BundledPassage(
                paragraph=row["paragraph"],
                embedded=row["embedded"],
                vector=None if row["vector"] is None else pack(row["vector"]),
                evidence=evidence,
            )


def _build_evidence(evidence: _Evidence, labels: Mapping[str, str], **fields: Any) -> bundles.BundledEvidence:
    quotes = defaultdict[str, list[bundles.BundledQuote]](list)
    for each in evidence.quotes:
        quote = bundles.BundledQuote(start=each.start, end=each.end, score=each.score, said=each.said)
        quotes[each.concept_id].append(quote)
    concepts = [
        bundles.BundledConcept(
            label=labels[row.concept_id],
            description=row.description,
            search_terms=list(row.terms),
            confidence=row.confidence,
            quotes=quotes[row.concept_id],
            unverified=list(row.unverified),
        )
        for row in evidence.appearances
    ]
    relations = [
        bundles.BundledRelation(
            subject=labels[row.subject],
            type=row.type,
            object=labels[row.object],
            confidence=row.confidence,
            quote=None
            if row.start is None or row.end is None
            else bundles.BundledQuote(start=row.start, end=row.end),
        )
        for row in evidence.relations
    ]
    return bundles.BundledEvidence(concepts=concepts, relations=relations, **fields)

"""From lines of a bundle to what is stored, named and hashed as what is ingested. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.bundle.lines import unpack
from kg_api.bundle.order import LineOrder, check_sizes
from kg_api.errors import InvalidInput
from kg_api.graph.spaces.chunks import ChunkPlace, EmbeddedBatch, NewChunk, NewParent
from kg_api.graph.spaces.due import SourceText
from kg_api.models.bundle.lines import (
    BundledChunk,
    BundledConcepts,
    BundledDocument,
    BundledLine,
    BundledQuote,
    BundledSource,
    BundledVectors,
)
from kg_api.models.concepts.extraction import ExtractedConcept, ExtractedRelation, Extraction, Quote
from kg_api.models.identity import content_hash, document_id, source_ids
from kg_api.models.images import StoredImage
from kg_api.models.library.documents import DocumentRecord, SourceRecord
from kg_api.models.library.parsing import SourceBlock


@dataclass(slots=True)
class GivenLines:
    """Lines, sorted by what they are about."""

    records: list[DocumentRecord] = field(default_factory=list[DocumentRecord])
    changes: dict[str, str] = field(default_factory=dict[str, str])
    """By document id, what somebody changed of it."""
    vectors: list[BundledVectors] = field(default_factory=list[BundledVectors])
    concepts: list[BundledConcepts] = field(default_factory=list[BundledConcepts])


def sort_lines(ontology: str, lines: Iterable[BundledLine]) -> GivenLines:
    """Lines of whole documents; or lines about documents that came before, and nothing else.

    Raises:
        InvalidInput: they do not fit each other.
    """
    given, order = GivenLines(), LineOrder(ontology)
    document: BundledDocument | None = None
    sources: list[BundledSource] = []
    for line in lines:
        if not isinstance(line, BundledDocument) and document is None:
            _add_alone(given, line)
            continue
        order.add(line)
        if isinstance(line, BundledDocument):
            _close(given, ontology, document, sources)
            document, sources = line, []
        elif isinstance(line, BundledSource):
            sources.append(line)
        else:
            _add_alone(given, line)
    order.end()
    _close(given, ontology, document, sources)
    return given


def _add_alone(given: GivenLines, line: BundledLine) -> None:
    if isinstance(line, BundledVectors):
        check_sizes(line)
        given.vectors.append(line)
    elif isinstance(line, BundledConcepts):
        given.concepts.append(line)
    else:
        raise InvalidInput("a source stands before any document")


def _close(
    given: GivenLines, ontology: str, document: BundledDocument | None, sources: Sequence[BundledSource]
) -> None:
    if document is None:
        return
    record = _record(ontology, document, sources)
    given.records.append(record)
    if document.changes is not None:
        told = document.changes.model_dump(exclude_none=True, include={"title", "uri"})
        changes = {**told, "metadata": document.changes.metadata}
        given.changes[record.document_id] = json.dumps(changes, ensure_ascii=False, sort_keys=True)


def _record(ontology: str, line: BundledDocument, sources: Sequence[BundledSource]) -> DocumentRecord:
    identity = document_id(ontology, line.document)
    hashes = [content_hash(each.text) for each in sources]
    ids = source_ids(identity, hashes)
    return DocumentRecord(
        document_id=identity,
        ontology=ontology,
        document=line.document,
        title=line.title,
        uri=line.uri,
        format=line.format,
        content_hash=line.content_hash,
        characters=line.characters,
        preface=line.preface,
        metadata=json.dumps(line.metadata, ensure_ascii=False, sort_keys=True),
        sources=tuple(
            _source(source_id, paragraph, each, own)
            for paragraph, (source_id, each, own) in enumerate(zip(ids, sources, hashes, strict=True))
        ),
        original=line.original,
    )


def _source(identity: str, paragraph: int, line: BundledSource, own_hash: str) -> SourceRecord:
    return SourceRecord(
        identity,
        paragraph,
        tuple(line.heading),
        line.text,
        own_hash,
        line.start,
        line.end,
        tuple(SourceBlock(kind, start) for kind, start in line.blocks),
        page=line.page,
        last_page=line.last_page,
        ocr_confidence=line.ocr_confidence,
        word_boxes=None if line.word_boxes is None else base64.b64decode(line.word_boxes),
        image=None if line.image is None else StoredImage(**line.image.model_dump()),
    )


def places_of(lines: Iterable[BundledVectors | BundledConcepts]) -> range:
    """From the first source to the last one that lines are about, with all that chunks of it cover."""
    places = [place for line in lines for place in _ends(line)]
    return range(min(places, default=0), max(places, default=-1) + 1)


def _ends(line: BundledVectors | BundledConcepts) -> Iterator[int]:
    if isinstance(line, BundledConcepts):
        yield line.paragraph
        return
    yield from line.paragraphs
    yield from (end for each in line.chunks for end in (each.first, each.last))


def embedded_batch(
    ontology: str, line: BundledVectors, sources: Mapping[int, SourceText], due: frozenset[str]
) -> EmbeddedBatch:
    """Vectors as they are written of what is due, with all chunks of it.

    Args:
        ontology: of the document.
        line: its vectors, which fit its sources.
        sources: of the document, by paragraph.
        due: ids of those that have not these vectors yet.
    """
    wanted = [at for at in line.paragraphs if sources[at].source_id in due]
    chunks = [each for each in line.chunks if any(each.first <= at <= each.last for at in wanted)]
    covered = {*wanted, *(at for each in chunks for at in range(each.first, each.last + 1))}
    own = dict(zip(line.paragraphs, line.vectors, strict=True))
    return EmbeddedBatch(
        ontology=ontology,
        sources=[sources[at] for at in sorted(covered)],
        due=frozenset(sources[at].source_id for at in wanted),
        vectors={sources[at].source_id: unpack(vector) for at in wanted if (vector := own[at])},
        chunks=[NewChunk(_place(each, sources), unpack(each.vector)) for each in chunks if each.vector],
        parents=[NewParent(_place(each, sources), tuple(each.children)) for each in chunks if each.children],
        keep=frozenset(each.chunk_id for each in chunks),
    )


def _place(chunk: BundledChunk, sources: Mapping[int, SourceText]) -> ChunkPlace:
    covered = [sources[at] for at in range(chunk.first, chunk.last + 1)]
    ids = tuple(each.source_id for each in covered)
    return ChunkPlace(chunk.chunk_id, covered[0].document_id, ids, chunk.offset, chunk.end_offset)


def joined(lines: Iterable[BundledConcepts]) -> list[BundledConcepts]:
    """One line for a source, where several say what one extractor or import found in it."""
    found: dict[tuple[str, int], BundledConcepts] = {}
    for line in lines:
        place = (line.document, line.paragraph)
        found[place] = _together(found[place], line) if place in found else line
    return [*found.values()]


def _together(one: BundledConcepts, other: BundledConcepts) -> BundledConcepts:
    said = {
        "concepts": one.concepts + other.concepts,
        "relations": one.relations + other.relations,
        "unverified": max(one.unverified, other.unverified),
    }
    return one.model_copy(update=said)


def extraction(line: BundledConcepts, source: SourceText) -> Extraction:
    """What was found in a source, as an extractor gives it."""
    text = source.full_text
    return Extraction(
        source.source_id,
        source.content_hash,
        tuple(
            ExtractedConcept(
                each.label,
                tuple(_quote(quote, text) for quote in each.quotes),
                each.description,
                tuple(each.search_terms),
                each.confidence,
                tuple(each.unverified),
            )
            for each in line.concepts
        ),
        tuple(
            ExtractedRelation(
                each.subject, each.type, each.object, each.confidence, each.quote and _quote(each.quote, text)
            )
            for each in line.relations
        ),
        line.unverified,
    )


def _quote(quote: BundledQuote, text: str) -> Quote:
    return Quote(text[quote.start : quote.end], quote.start, quote.end, quote.score, quote.said)

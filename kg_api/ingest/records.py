"""Conversion of a document's text to a stored record: parse, split, and identify."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from kg_api.errors import UnreadableDocument
from kg_api.schemas.base import build_document_id, build_source_ids, compute_digest, hash_content
from kg_api.schemas.documents import (
    DocumentRecord,
    DocumentRequest,
    ParsedDocument,
    SourceRecord,
    WordBox,
    compute_mean_word_confidence,
    pack,
)
from kg_api.schemas.formats import CONVERTED, Format, OcrMode
from kg_api.schemas.images import PlacedImage
from kg_api.schemas.metadata import MetadataValue, add_file_time, add_named_date
from kg_api.text.documents import parse, with_images
from kg_api.text.sources import SPLITTER_VERSION, assign_blocks, split


@dataclass(frozen=True, slots=True)
class Incoming:
    ontology: str
    document: str
    text: str
    format: Format | None = None
    uri: str | None = None
    title: str | None = None
    metadata: dict[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    modified: str | None = None
    own_title: str = ""  # title from the file properties, possibly missing in the text
    pages: tuple[int, ...] = ()  # Offset of each page in the text. Empty if the format has no pages.
    review: bool = False
    words: tuple[WordBox, ...] = ()
    images: tuple[PlacedImage, ...] = ()
    original: str | None = None  # storage key of the original file, if kept
    ocr: OcrMode = "auto"
    sent_hash: str | None = None
    hold: str | None = None
    """Id of the hold that keeps the stored files until the document is stored or pending."""


def build_incoming(upload: DocumentRequest, text: str) -> Incoming:
    about = upload.model_dump(include={"format", "uri", "title", "metadata", "modified", "review", "ocr"})
    return Incoming(upload.ontology, upload.document, text, **about)


def to_record(incoming: Incoming) -> tuple[DocumentRecord, tuple[str, ...]]:
    """Parse and split a document. Also return notes for the user."""
    parsed = parse(incoming.text, incoming.document, incoming.format)
    notes = parsed.notes
    parsed = with_images(parsed, [(each.start, each.end) for each in incoming.images])
    identity = build_document_id(incoming.ontology, incoming.document)
    sources = _build_sources(identity, parsed, incoming)
    if not sources:
        raise UnreadableDocument("the file contains no text. Nothing was stored")
    given = add_named_date({**parsed.metadata, **incoming.metadata}, incoming.document)
    metadata = json.dumps(given, ensure_ascii=False, sort_keys=True)
    dated = json.dumps(add_file_time(given, incoming.modified), ensure_ascii=False, sort_keys=True)
    record = DocumentRecord(
        document_id=identity,
        ontology=incoming.ontology,
        document=incoming.document,
        title=incoming.title or (incoming.own_title or parsed.title)[:1000],
        uri=incoming.uri,
        format=parsed.format,
        content_hash=_hash_content(incoming, parsed.format, metadata),
        characters=len(parsed.text),
        preface=parsed.text[: parsed.body],
        metadata=dated,
        has_file_time=dated != metadata,
        sources=sources,
        original=incoming.original,
        hold=incoming.hold,
        sent_hash=incoming.sent_hash,
        waits_as=json.dumps(asdict(incoming), ensure_ascii=False) if incoming.review else None,
    )
    return record, notes


def _hash_content(incoming: Incoming, form: Format, metadata: str) -> str:
    """Return a hash of all stored content. A title counts only if the request specifies it."""
    parts = [SPLITTER_VERSION, form, incoming.text, incoming.uri or "", metadata]
    parts += (incoming.own_title, str(incoming.pages)) if form in CONVERTED else ()
    parts += (str(incoming.words),) if incoming.words else ()
    parts += (each.original_hash or each.image.storage_key for each in incoming.images)
    parts += ("original", incoming.original) if incoming.original is not None else ()
    parts += (incoming.title,) if incoming.title is not None else ()
    return compute_digest(*parts)


def _build_sources(identity: str, parsed: ParsedDocument, incoming: Incoming) -> tuple[SourceRecord, ...]:
    pages = DocumentPages(incoming.pages, incoming.words)
    spans = split(parsed)
    texts = [parsed.text[span.start : span.end] for span in spans]
    hashes = [hash_content(text) for text in texts]
    starts = [span.start for span in spans]
    # By source. If a source has several images, the first one counts
    images = {bisect_right(starts, each.start) - 1: each.image for each in reversed(incoming.images)}
    rows = zip(
        build_source_ids(identity, hashes), spans, texts, hashes, assign_blocks(parsed, spans), strict=True
    )
    return tuple(
        SourceRecord(
            source_id,
            paragraph,
            span.heading,
            text,
            content,
            span.start,
            span.end,
            blocks,
            *pages.find_pages(span.start, text),
            image=images.get(paragraph),
        )
        for paragraph, (source_id, span, text, content, blocks) in enumerate(rows)
    )


class PagesOfPassage(NamedTuple):
    page: int | None
    last_page: int | None
    ocr_confidence: float | None
    word_boxes: bytes | None


class DocumentPages:
    def __init__(self, begins: Sequence[int], words: Sequence[WordBox]) -> None:
        """Store the page offsets (empty without pages) and the words in reading order."""
        self._begins, self._words = begins, words
        self._starts = [word.start for word in words]
        self._read = {word.page for word in words}

    def find_pages(self, start: int, text: str) -> PagesOfPassage:
        end = start + len(text.rstrip())
        first, last = bisect_right(self._begins, start), bisect_left(self._begins, end)
        words = self._words[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        if words:
            return PagesOfPassage(
                first or None, last or None, compute_mean_word_confidence(words), pack(words, start)
            )
        confidence = None
        if first == last and first in self._read:  # OCR read the page, but no word of the passage
            confidence = compute_mean_word_confidence([word for word in self._words if word.page == first])
        return PagesOfPassage(first or None, last or None, confidence, None)

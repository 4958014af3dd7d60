"""From a document's text to the record that is stored: parse, split, identify. Pure."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from kg_api.errors import UnreadableDocument
from kg_api.ingest.pages import DocumentPages
from kg_api.models.identity import content_hash, digest, document_id, source_ids
from kg_api.models.images import PlacedImage, StoredImage
from kg_api.models.library.documents import DocumentRecord, DocumentRequest, Duplicates, SourceRecord
from kg_api.models.library.formats import CONVERTED, Format, OcrMode
from kg_api.models.library.metadata import MetadataValue, with_file_time
from kg_api.models.library.parsing import CodeScope, ParsedDocument, SourceSpan
from kg_api.models.library.word_boxes import WordBox
from kg_api.parse.documents import parse
from kg_api.parse.images import with_images
from kg_api.parse.split import SPLITTER_VERSION, blocks_of, split


@dataclass(frozen=True, slots=True)
class Incoming:
    """A document on its way in."""

    ontology: str
    document: str
    text: str
    format: Format | None = None
    uri: str | None = None
    title: str | None = None
    metadata: dict[str, MetadataValue] = field(default_factory=dict[str, MetadataValue])
    modified: str | None = None
    """When its file was last changed."""
    own_title: str = ""
    """What the file says; the text may say nothing of it."""
    pages: tuple[int, ...] = ()
    """Where each page begins in the text; none: it has no pages."""
    duplicates: Duplicates = "keep"
    """Of a new document that says what another says."""
    review: bool = False
    """Whether it waits for approval."""
    words: tuple[WordBox, ...] = ()
    """Of pages that OCR read."""
    scopes: tuple[CodeScope, ...] = ()
    """Of a program: where its functions and classes begin."""
    images: tuple[PlacedImage, ...] = ()
    """Pictures in it, in reading order."""
    original: str | None = None
    """The key of the file itself, where it is kept."""
    ocr: OcrMode = "auto"
    """Which of its pages are read by OCR."""
    hold: str | None = None
    """What keeps its files until the document is stored or waits."""


def incoming_of(upload: DocumentRequest, text: str) -> Incoming:
    """A document as a request brings it."""
    about = upload.model_dump(
        include={"format", "uri", "title", "metadata", "modified", "duplicates", "review", "ocr"}
    )
    return Incoming(upload.ontology, upload.document, text, **about)


def to_record(incoming: Incoming) -> tuple[DocumentRecord, tuple[str, ...]]:
    """Parse and split a document.

    Returns:
        The record, and notes that a person should see.

    Raises:
        UnreadableDocument: it has no text, or a format that this version does not read.
    """
    parsed = parse(incoming.text, incoming.document, incoming.format, incoming.scopes)
    marked = with_images(parsed, [(each.start, each.end) for each in incoming.images])
    return _record(incoming, marked), parsed.notes


def _record(incoming: Incoming, parsed: ParsedDocument) -> DocumentRecord:
    identity = document_id(incoming.ontology, incoming.document)
    sources = _sources(identity, parsed, incoming)
    if not sources:
        raise UnreadableDocument("it holds no text; nothing was stored")
    given = {**parsed.metadata, **incoming.metadata}
    metadata = json.dumps(given, ensure_ascii=False, sort_keys=True)
    dated = json.dumps(with_file_time(given, incoming.modified), ensure_ascii=False, sort_keys=True)
    return DocumentRecord(
        document_id=identity,
        ontology=incoming.ontology,
        document=incoming.document,
        title=incoming.title or (incoming.own_title or parsed.title)[:1000],
        uri=incoming.uri,
        format=parsed.format,
        content_hash=_content_hash(incoming, parsed.format, metadata),
        characters=len(parsed.text),
        preface=parsed.text[: parsed.body],
        metadata=dated,
        has_file_time=dated != metadata,
        sources=sources,
        skip_duplicate=incoming.duplicates == "skip",
        original=incoming.original,
        hold=incoming.hold,
        waits_as=json.dumps(asdict(incoming), ensure_ascii=False) if incoming.review else None,
    )


def _content_hash(incoming: Incoming, form: Format, metadata: str) -> str:
    """Of all that is stored; a title counts where it was given, not where it is read out of the text."""
    given = (SPLITTER_VERSION, form, incoming.text, incoming.uri or "", metadata)
    of_file = (incoming.own_title, str(incoming.pages)) if form in CONVERTED else ()
    of_pictures = (str(incoming.words),) if incoming.words else ()
    of_program = (json.dumps(incoming.scopes),) if incoming.scopes else ()
    of_images = tuple(each.image.storage_key for each in incoming.images)
    of_original = () if incoming.original is None else ("original", incoming.original)
    told = () if incoming.title is None else (incoming.title,)
    return digest(*given, *of_file, *of_pictures, *of_images, *of_original, *of_program, *told)


def _sources(identity: str, parsed: ParsedDocument, incoming: Incoming) -> tuple[SourceRecord, ...]:
    pages = DocumentPages(incoming.pages, incoming.words)
    spans = split(parsed)
    texts = [parsed.text[span.start : span.end] for span in spans]
    hashes = [content_hash(text) for text in texts]
    images = _images_of(spans, incoming.images)
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
            *pages.of(span.start, text),
            image=images.get(paragraph),
        )
        for paragraph, (source_id, span, text, content, blocks) in enumerate(
            zip(source_ids(identity, hashes), spans, texts, hashes, blocks_of(parsed, spans), strict=True)
        )
    )


def _images_of(spans: Sequence[SourceSpan], images: Sequence[PlacedImage]) -> dict[int, StoredImage]:
    """By the number of a source, the picture that it is; the first, should it have the words of several."""
    starts = [span.start for span in spans]
    return {bisect_right(starts, each.start) - 1: each.image for each in reversed(images)}

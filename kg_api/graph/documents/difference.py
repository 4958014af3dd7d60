"""How a document differs from what is stored of it, and the rows that say so. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kg_api.graph.database import Row
from kg_api.graph.documents.metadata import metadata_properties
from kg_api.graph.fulltext.scopes import aliases_at, scope_of_source
from kg_api.models.embedding.context_fields import used_in_context
from kg_api.models.library.documents import DocumentRecord, SourceRecord, StoredChange


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    """What is to be written of a document."""

    record: DocumentRecord
    before: Row
    """The document as it was, by `documents/lock`."""
    new: list[SourceRecord]
    moved: list[SourceRecord]
    other_blocks: list[SourceRecord]
    """Those that stay and whose blocks are others than are stored, or are not stored yet."""
    gone: list[str]
    kept: list[SourceRecord]
    new_headings: bool
    """Whether a source that stays has come under another heading."""
    new_order: bool
    """Whether those that stay follow each other otherwise."""
    new_blanks: bool
    """Whether other blanks are behind one that stays: chunks and windows over several sources hold them."""

    @property
    def language(self) -> str | None:
        """In which its ontology's sources are indexed; None: each in its own."""
        return self.before["language"]

    @property
    def reshapes(self) -> bool:
        """Whether chunks over several sources may be others now."""
        return bool(self.new or self.gone or self.new_headings or self.new_order or self.new_blanks)

    def described_anew(self, context: str, template: str | None) -> bool:
        """Whether what a context is made of is another now, beside the text."""
        rows = (self.before["title"], self.before["metadata"]), (self.record.title, self.record.metadata)
        was, now = (
            used_in_context(context, template, title or "", json.loads(metadata or "{}"))
            for title, metadata in rows
        )
        return was != now or (context != "none" and self.new_headings)

    @property
    def change(self) -> StoredChange:
        uri = self.before["uri"]
        return StoredChange(
            change="created" if self.before["content_hash"] is None else "updated",
            added=len(self.new),
            kept=len(self.kept),
            removed=len(self.gone),
            replaced_uri=uri if uri not in (None, self.record.uri) else None,
        )


def find_difference(record: DocumentRecord, before: Row, rows: Sequence[Row]) -> DocumentDifference:
    """Compare a document with the places of its stored sources; there are none of one that is new."""
    stored = {row["source_id"]: row for row in rows}
    new = [source for source in record.sources if source.source_id not in stored]
    kept = [source for source in record.sources if source.source_id in stored]
    pairs = [(source, source_row(source), stored[source.source_id]) for source in kept]
    moved = [source for source, row, known in pairs if _place(row) != _place(known)]
    order = sorted((source.source_id for source in kept), key=lambda each: stored[each]["paragraph"])
    return DocumentDifference(
        record,
        before,
        new,
        moved,
        other_blocks=[source for source, row, known in pairs if block_row(row) != block_row(known)],
        gone=sorted(stored.keys() - {source.source_id for source in record.sources}),
        kept=kept,
        new_headings=any(list(each.heading) != list(stored[each.source_id]["heading"]) for each in moved),
        new_order=order != [source.source_id for source in kept],
        new_blanks=any(each.full_text != stored[each.source_id]["full_text"] for each in moved),
    )


def unchanged(before: Row) -> StoredChange:
    """Of a document that is stored as it comes."""
    return StoredChange("unchanged", 0, before["sources"], 0, None)


def _place(row: Row) -> tuple[Any, ...]:
    return (
        row["paragraph"],
        row["start"],
        row["end"],
        tuple(row["heading"]),
        row["full_text"],
        row["page"],
        row["last_page"],
        row["ocr_confidence"],
        row["word_boxes"],
    )


def block_row(row: Row) -> Row:
    """What the blocks of a source are."""
    return {name: row[name] for name in ("source_id", "block_kinds", "block_starts")}


def source_row(source: SourceRecord) -> Row:
    """A source as it stands in its document."""
    return {
        "source_id": source.source_id,
        "paragraph": source.paragraph,
        "heading": list(source.heading),
        "full_text": source.full_text,
        "content_hash": source.content_hash,
        "start": source.start,
        "end": source.end,
        "page": source.page,
        "last_page": source.last_page,
        "ocr_confidence": source.ocr_confidence,
        "word_boxes": source.word_boxes,
        "block_kinds": [block.kind for block in source.blocks],
        "block_starts": [block.start for block in source.blocks],
    }


def placed_row(record: DocumentRecord, source: SourceRecord, language: str | None) -> Row:
    """A source with all that full text finds it by."""
    return {**source_row(source), "scope": scope_of(record, source, language)}


def new_row(record: DocumentRecord, source: SourceRecord, language: str | None) -> Row:
    """A source with all that is stored of it."""
    of_document = {
        "document_id": record.document_id,
        "ontology": record.ontology,
        "document": record.document,
        "title": record.title,
    }
    return {**placed_row(record, source, language), **of_document}


def _of_file(record: DocumentRecord, file: Row | None) -> Row:
    """Of a file of a folder that waited: the document follows it from now on."""
    if file is None or file["folder_id"] is None:
        return {}
    return {**file, "file_content": record.content_hash}


def scope_of(record: DocumentRecord, source: SourceRecord, language: str | None) -> list[str]:
    """What full text finds a source by, beside its own words, in its ontology's language if it has one."""
    texts = (source.full_text, *source.heading, record.title, record.document)
    aliases = aliases_at(source.paragraph, record.metadata)
    return scope_of_source(record.ontology, record.document_id, texts, language, aliases=aliases)


def document_row(record: DocumentRecord, before: Row, mark: str) -> Row:
    """What is stored of a document besides its sources."""
    properties = {
        "written_by": mark,
        "title": record.title,
        "uri": record.uri,
        "format": record.format,
        "content_hash": record.content_hash,
        "text_hash": record.text_hash,
        "characters": record.characters,
        "preface": record.preface or None,
        "metadata": record.metadata,
        "sources": len(record.sources),
        **metadata_properties(record.metadata, before["metadata"]),
        **_of_file(record, before["of_file"]),
    }
    return {"document_id": record.document_id, "properties": properties}

"""Differences between a document and its stored version, documents with the same text, and edits."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kg_api.errors import NotFound
from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.filters import build_metadata_properties
from kg_api.graph.fulltext import require_language
from kg_api.graph.jobs import SOURCE_EMBEDDING, request_job
from kg_api.graph.spaces import StoredConfiguration, read_configuration
from kg_api.graph.text_analysis import build_row_scope, build_source_scope, detect_language, get_aliases
from kg_api.schemas.base import Body
from kg_api.schemas.documents import DocumentChange, DocumentRecord, SourceRecord, StoredChange
from kg_api.schemas.embedding import Chunking, select_context_fields
from kg_api.schemas.filters import format_metadata_field
from kg_api.schemas.metadata import Metadata, MetadataValue
from kg_api.schemas.problems import validate
from kg_api.suggestions import format_suggestion


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    record: DocumentRecord
    before: Row  # stored state, from `documents/lock`
    new: list[SourceRecord]
    moved: list[SourceRecord]
    other_blocks: list[SourceRecord]  # kept sources whose stored blocks differ or are missing
    gone: list[str]
    kept: list[SourceRecord]
    new_headings: bool  # whether a kept source has another heading
    new_order: bool  # whether the order of the kept sources changed
    new_blanks: bool
    """Whether whitespace has changed after a source that stays.

    This is used in chunks over several sources.
    """

    @property
    def language(self) -> str | None:
        """Index language of the ontology. None: each source has its own language."""
        return self.before["language"]

    @property
    def reshapes(self) -> bool:
        """Whether chunks over several sources may change."""
        return bool(self.new or self.gone or self.new_headings or self.new_order or self.new_blanks)

    def has_changed_context(self, context: str, template: str | None) -> bool:
        """Check if the context for chunks has changed. The text is not used for this."""
        rows = (self.before["title"], self.before["metadata"]), (self.record.title, self.record.metadata)
        was, now = (
            select_context_fields(context, template, title or "", json.loads(metadata or "{}"))
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
    """Compare a document to its stored sources. If it is new, there are none."""
    stored = {row["source_id"]: row for row in rows}
    new = [source for source in record.sources if source.source_id not in stored]
    kept = [source for source in record.sources if source.source_id in stored]
    pairs = [(source, build_source_row(source), stored[source.source_id]) for source in kept]
    moved = [source for source, row, known in pairs if _get_place(row) != _get_place(known)]
    order = sorted((source.source_id for source in kept), key=lambda each: stored[each]["paragraph"])
    return DocumentDifference(
        record,
        before,
        new,
        moved,
        other_blocks=[
            source for source, row, known in pairs if build_block_row(row) != build_block_row(known)
        ],
        gone=sorted(stored.keys() - {source.source_id for source in record.sources}),
        kept=kept,
        new_headings=any(list(each.heading) != list(stored[each.source_id]["heading"]) for each in moved),
        new_order=order != [source.source_id for source in kept],
        new_blanks=any(each.full_text != stored[each.source_id]["full_text"] for each in moved),
    )


def build_unchanged(before: Row) -> StoredChange:
    return StoredChange("unchanged", 0, before["sources"], 0, None)


def _get_place(row: Row) -> tuple[Any, ...]:
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


def build_block_row(row: Row) -> Row:
    return {name: row[name] for name in ("source_id", "block_kinds", "block_starts")}


def build_source_row(source: SourceRecord) -> Row:
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


def build_placed_row(record: DocumentRecord, source: SourceRecord, language: str | None) -> Row:
    """Build a source with all fields of the full-text index."""
    return {**build_source_row(source), "scope": build_scope_tokens(record, source, language)}


def build_new_row(record: DocumentRecord, source: SourceRecord, language: str | None) -> Row:
    """Build a source with all stored fields."""
    of_document = {
        "document_id": record.document_id,
        "ontology": record.ontology,
        "document": record.document,
        "title": record.title,
    }
    return {**build_placed_row(record, source, language), **of_document}


def build_scope_tokens(record: DocumentRecord, source: SourceRecord, language: str | None) -> list[str]:
    """Build the full-text tokens of a source in addition to its own words."""
    texts = (source.full_text, *source.heading, record.title, record.document)
    aliases = get_aliases(source.paragraph, record.metadata)
    return build_source_scope(record.ontology, record.document_id, texts, language, aliases=aliases)


def build_sent_as(record: DocumentRecord) -> str | None:
    """Build the mark by which `find_sent` recognizes a file. Any other change of the content voids it."""
    return record.sent_hash and record.sent_hash + record.content_hash


def build_document_row(record: DocumentRecord, before: Row, mark: str) -> Row:
    file = before["of_file"]  # pending file of a synced folder, which becomes the document's file
    properties = {
        "written_by": mark,
        "title": record.title,
        "uri": record.uri,
        "format": record.format,
        "content_hash": record.content_hash,
        "sent_as": build_sent_as(record),
        "text_hash": record.text_hash,
        "characters": record.characters,
        "preface": record.preface or None,
        "metadata": record.metadata,
        "changes": before["changes"],
        "sources": len(record.sources),
        "language": detect_language(" ".join(each.full_text for each in record.sources[:20])),
        **build_metadata_properties(record.metadata, before["metadata"]),
        **({**file, "file_content": record.content_hash} if file and file["folder_id"] else {}),
    }
    return {"document_id": record.document_id, "properties": properties}


# Documents with equal texts

MAX_NAMED = 10  # duplicates to report for one document
Names = tuple[str, ...]


def find_same_texts(tx: Transaction, written: Sequence[DocumentRecord]) -> dict[str, Names]:
    """Find other documents that have the same text, in the ontology or earlier in this call."""
    stored = find_stored(tx, written)
    first: dict[str, str] = {}
    return {
        each.document_id: (*stored.get(each.text_hash, ()), *([known] if known != each.document else []))
        for each in written
        for known in [first.setdefault(each.text_hash, each.document)]
    }


def read_same_texts(graph: Graph, record: DocumentRecord) -> Names:
    """Read the stored documents with the same text as a new document."""
    return _group_by_text(graph.read("documents/of_same_text", **_to_parameters([record]))).get(
        record.text_hash, ()
    )


def find_stored(tx: Transaction, records: Sequence[DocumentRecord]) -> dict[str, Names]:
    """Find other documents that have the same text, by text hash."""
    return _group_by_text(tx.run("documents/of_same_text", **_to_parameters(records)))


def find_different_texts(graph: Graph, pairs: Sequence[tuple[str, str]]) -> set[int]:
    """Find the positions of pairs of document ids whose documents have different texts."""
    rows = graph.read("documents/of_different_texts", pairs=[list(pair) for pair in pairs])
    return {row["position"] for row in rows}


def _group_by_text(rows: Sequence[Row]) -> dict[str, Names]:
    return {row["text"]: tuple(row["documents"]) for row in rows if row["documents"]}


def _to_parameters(records: Sequence[DocumentRecord]) -> dict[str, Any]:
    return {
        "ontology": records[0].ontology,
        "texts": sorted({each.text_hash for each in records}),
        "ours": [each.document_id for each in records],
        "limit": MAX_NAMED,
    }


# User edits of a document, which persist when the document is ingested again


def join_changes(before: str | None, change: DocumentChange) -> str:
    """Merge an edit into the stored edits, using the last value for each key."""
    known: dict[str, Any] = json.loads(before or "{}")
    values = change.model_dump(exclude_none=True, include={"title", "uri"})
    metadata = {**known.get("metadata", {}), **change.metadata}
    return json.dumps({**known, **values, "metadata": metadata}, ensure_ascii=False, sort_keys=True)


def change_metadata(
    metadata: Mapping[str, MetadataValue], changed: Mapping[str, MetadataValue]
) -> dict[str, MetadataValue]:
    """Change some keys in the metadata. To delete a key, use null."""
    deleted = {key for key, value in changed.items() if value is None}
    return {key: value for key, value in {**metadata, **changed}.items() if key not in deleted}


def apply_stored_changes(record: DocumentRecord, changes: str | None) -> DocumentRecord:
    """Use the stored edits for a document when it is ingested again."""
    if not changes:
        return record
    known: dict[str, Any] = json.loads(changes)
    metadata = change_metadata(json.loads(record.metadata), known["metadata"])
    return replace(
        record,
        title=known.get("title", record.title),
        uri=known.get("uri", record.uri),
        metadata=json.dumps(metadata, ensure_ascii=False, sort_keys=True),
    )


# Edits without a new text


def change_document(graph: Graph, document_id: str, change: DocumentChange) -> str | None:
    """Change title, URL, or metadata. Chunks are only re-embedded if their context uses this."""
    return graph.transaction(lambda tx: _change(tx, document_id, change))


def read_changes(tx: Transaction, document_id: str) -> str | None:
    """Read the edits that users made to a document."""
    return next((row["changes"] for row in tx.run("documents/stored", document_id=document_id)), None)


def apply_changes(tx: Transaction, document_id: str, changes: str, *, waits: bool) -> None:
    """Apply the edits that users made to one document to another document, which may be pending."""
    if waits:
        tx.run("waiting/set_changes", document_id=document_id, changes=changes)
    else:
        _change(tx, document_id, DocumentChange.model_validate_json(changes))


def note_same_words(form: str, change: DocumentChange) -> list[str]:
    """Add a note that this does not change the text that is used to search for an image."""
    if form != "image" or not (change.title or change.metadata):
        return []
    effect = "this image was found by its caption, description, or file name"
    return [
        (
            f"{effect}: to make the image searchable by other words, ingest it again with that title or "
            "description"
        )
    ]


def note_keys(before: Collection[str], change: DocumentChange) -> list[str]:
    """Add notes on deleted keys that do not exist, and on keys that have the name of a field."""
    notes: list[str] = []
    for key, value in change.metadata.items():
        field = format_metadata_field(key)
        if value is None and key not in before:
            notes.append(f"no metadata {key!r} to delete{format_suggestion(key, before)}")
        elif value is not None and field != key:
            notes.append(f"{key!r} is also a field of kg. To filter by this metadata, write {field!r}")
    return notes


class _Changed(Body):
    """Metadata of a document after a change. A date from its file may not exist."""

    metadata: Metadata


def _change(tx: Transaction, document_id: str, change: DocumentChange) -> str | None:
    rows = tx.run("documents/hold_about", document_id=document_id)
    if not rows:
        raise NotFound(f"the document {document_id!r} was deleted at this moment")
    before = rows[0]
    metadata = change_metadata(_parse_metadata(before), change.metadata)
    validate(_Changed, {"metadata": metadata})
    after = {
        "title": change.title or before["title"],
        "uri": change.uri or before["uri"],
        "metadata": json.dumps(metadata, ensure_ascii=False, sort_keys=True),
    }
    changes = join_changes(before["changes"], change)
    is_recorded = changes == join_changes(before["changes"], DocumentChange())
    if is_recorded and all(before[name] == value for name, value in after.items()):
        return None
    stored = read_configuration(tx, before["ontology"])
    # Whether the contexts of chunks use a changed value
    configs = [layout.config(embed_on_ingest=True) for layout in stored.texts.kept_up]
    touched = any(_get_used_fields(config, before) != _get_used_fields(config, after) for config in configs)
    properties = {
        **after,
        **build_metadata_properties(after["metadata"], before["metadata"]),
        "changes": changes,
        **({"written_by": uuid.uuid4().hex} if touched else {}),
    }
    tx.run("documents/change", document_id=document_id, properties=properties)
    if after["title"] != before["title"] or get_aliases(0, after["metadata"]) != get_aliases(
        0, before["metadata"]
    ):
        # Full text indexes the title at each source, and the aliases at the first source
        about = {**before, **after}
        found = tx.run("documents/source_places", document_ids=[document_id])
        rows = [
            {
                "source_id": row["source_id"],
                "title": about["title"],
                "scope": build_row_scope({**about, **row}, about["language"]),
            }
            for row in found
        ]
        tx.run("sources/set_title", rows=rows)
        held = tx.run("ontologies/hold_language", name=before["ontology"])
        require_language(held, before["language"])
    return _request_reembedding(tx, document_id, before["ontology"], stored) if touched else None


def _get_used_fields(config: Chunking, row: Row) -> tuple[object, ...]:
    return select_context_fields(
        config.context, config.context_template, row["title"] or "", _parse_metadata(row)
    )


def _parse_metadata(row: Row) -> dict[str, MetadataValue]:
    return json.loads(row["metadata"] or "{}")


def _request_reembedding(
    tx: Transaction, document_id: str, ontology: str, stored: StoredConfiguration
) -> str | None:
    mark_property = stored.texts.answering.mark_property
    rows = tx.run("sources/unmark_documents", document_ids=[document_id], mark_property=mark_property)
    due = sum(row["unmarked"] for row in rows)
    if not due or not stored.embed_on_ingest or stored.paused:
        return None
    return request_job(tx, SOURCE_EMBEDDING, ontology, added=due, paused=False)

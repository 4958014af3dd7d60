"""Changing what is said of a document, without its text."""

from __future__ import annotations

import json
import uuid
from typing import Any

from kg_api.errors import NotFound
from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.documents.changes import change_metadata, join_changes
from kg_api.graph.documents.metadata import metadata_properties
from kg_api.graph.fulltext.language import require_language
from kg_api.graph.fulltext.scopes import aliases_at, scope_of_source
from kg_api.graph.jobs import request_job
from kg_api.graph.jobs.records import SOURCE_EMBEDDING
from kg_api.graph.spaces.configuration import StoredConfiguration, read_configuration
from kg_api.models.embedding.chunking import Chunking
from kg_api.models.embedding.context_fields import used_in_context
from kg_api.models.library.documents import DocumentChange, DocumentUpload
from kg_api.models.library.metadata import MetadataValue
from kg_api.models.problems import valid


def change_document(graph: Graph, document_id: str, change: DocumentChange) -> str | None:
    """Change title, address or metadata; what is embedded stays, unless its contexts use what changed.

    Returns:
        The job that embeds it anew; None: nothing is to be embedded.

    Raises:
        NotFound: it is not there.
        InvalidInput: with the change there would be too much metadata.
    """
    return graph.transaction(lambda tx: _change(tx, document_id, change))


def note_same_words(form: str, change: DocumentChange) -> list[str]:
    """The note that a picture's words stay: they were made of what was said when it came."""
    if form != "image" or not (change.title or change.metadata):
        return []
    effect = "it is a picture, found by the words that it came with"
    return [f"{effect}: to be found by others, ingest it again with that title or description"]


def _change(tx: Transaction, document_id: str, change: DocumentChange) -> str | None:
    rows = tx.run("documents/hold_about", document_id=document_id)
    if not rows:
        raise NotFound(f"the document {document_id!r} was deleted at this moment")
    before = rows[0]
    after = _after(before, change)
    if all(before[name] == value for name, value in after.items()):
        return None
    stored = read_configuration(tx, before["ontology"])
    touched = _touches(before, after, stored)
    properties = {
        **after,
        **metadata_properties(after["metadata"], before["metadata"]),
        "changes": join_changes(before["changes"], change),
        **({"written_by": uuid.uuid4().hex} if touched else {}),
    }
    tx.run("documents/change", document_id=document_id, properties=properties)
    if after["title"] != before["title"] or aliases_at(0, after["metadata"]) != aliases_at(
        0, before["metadata"]
    ):
        _write_titles(tx, document_id, {**before, **after})
        held = tx.run("ontologies/hold_language", name=before["ontology"])
        require_language(held, before["language"])
    return _embed_anew(tx, document_id, before["ontology"], stored) if touched else None


def _after(before: Row, change: DocumentChange) -> dict[str, Any]:
    metadata = change_metadata(_metadata(before), change.metadata)
    valid(DocumentUpload, {"ontology": "o", "document": "d", "metadata": metadata})
    return {
        "title": change.title or before["title"],
        "uri": change.uri or before["uri"],
        "metadata": json.dumps(metadata, ensure_ascii=False, sort_keys=True),
    }


def _touches(before: Row, after: Row, stored: StoredConfiguration) -> bool:
    """Whether the contexts of chunks use what changed."""
    configs = [layout.config(embed_on_ingest=True) for layout in stored.layouts]
    return any(_used(config, before) != _used(config, after) for config in configs)


def _used(config: Chunking, row: Row) -> tuple[object, ...]:
    return used_in_context(config.context, config.context_template, row["title"] or "", _metadata(row))


def _metadata(row: Row) -> dict[str, MetadataValue]:
    return json.loads(row["metadata"] or "{}")


def _write_titles(tx: Transaction, document_id: str, about: Row) -> None:
    """The title on each source and the aliases on the first, where full text looks for them."""
    found = tx.run("documents/source_places", document_ids=[document_id])
    rows = [
        {"source_id": row["source_id"], "title": about["title"], "scope": _scope(document_id, about, row)}
        for row in found
    ]
    tx.run("sources/set_title", rows=rows)


def _scope(document_id: str, about: Row, source: Row) -> list[str]:
    texts = (source["full_text"], *source["heading"], about["title"], about["document"])
    aliases = aliases_at(source["paragraph"], about["metadata"])
    return scope_of_source(about["ontology"], document_id, texts, about["language"], aliases=aliases)


def _embed_anew(tx: Transaction, document_id: str, ontology: str, stored: StoredConfiguration) -> str | None:
    mark_property = stored.answering.mark_property
    rows = tx.run("sources/unmark_documents", document_ids=[document_id], mark_property=mark_property)
    due = sum(row["unmarked"] for row in rows)
    if not due or not stored.embed_on_ingest or stored.paused:
        return None
    return request_job(tx, SOURCE_EMBEDDING, ontology, added=due, paused=False)

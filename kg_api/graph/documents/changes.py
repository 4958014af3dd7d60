"""What somebody changed of a document after it came: it stays so when the document comes again. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kg_api.models.library.documents import DocumentChange, DocumentRecord
from kg_api.models.library.metadata import MetadataValue


def join_changes(before: str | None, change: DocumentChange) -> str:
    """All changes of a document as they are stored: the earlier ones and a further one, key by key."""
    known: dict[str, Any] = json.loads(before or "{}")
    told = change.model_dump(exclude_none=True, include={"title", "uri"})
    metadata = {**known.get("metadata", {}), **change.metadata}
    return json.dumps({**known, **told, "metadata": metadata}, ensure_ascii=False, sort_keys=True)


def change_metadata(
    metadata: Mapping[str, MetadataValue], changed: Mapping[str, MetadataValue]
) -> dict[str, MetadataValue]:
    """Metadata with some keys changed; null deletes one."""
    deleted = {key for key, value in changed.items() if value is None}
    return {key: value for key, value in {**metadata, **changed}.items() if key not in deleted}


def with_changes(record: DocumentRecord, changes: str | None) -> DocumentRecord:
    """A document that comes again, with what was changed of it."""
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

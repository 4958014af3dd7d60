"""What storing a document did, as it is told."""

from __future__ import annotations

from collections.abc import Sequence

from kg_api.graph.documents.writes import StoreResult
from kg_api.models.library.documents import DocumentRecord, Ingested, SourceChanges


def present(record: DocumentRecord, stored: StoreResult, notes: Sequence[str]) -> Ingested:
    """Tell what became of a document, with notes that a person should see."""
    change = stored.change
    replaced = f"it took the place of {change.replaced_uri}" if change.replaced_uri else None
    return Ingested(
        document_id=record.document_id,
        ontology=record.ontology,
        document=record.document,
        title=record.title,
        change=change.change,
        sources=SourceChanges(added=change.added, kept=change.kept, removed=change.removed),
        job_id=stored.job_id,
        duplicate_of=next(iter(change.same_text), None),
        notes=[*notes, *([replaced] if replaced else [])],
    )

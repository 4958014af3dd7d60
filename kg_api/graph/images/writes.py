"""Writing which sources of documents are pictures, and which files documents were made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from kg_api.errors import Conflict
from kg_api.graph.database import Row, Transaction, portions
from kg_api.graph.documents.difference import DocumentDifference
from kg_api.models.library.documents import SourceRecord

IMAGES_A_STATEMENT = 500


def write_images(tx: Transaction, differences: Sequence[DocumentDifference]) -> int:
    """Let sources be the pictures that they are, whether they are new or were there.

    Returns:
        How many have another file than before, or are new.

    Raises:
        Conflict: a file has been collected, for its hold ended long ago.
    """
    rows = [_row(each, source) for each in differences for source in each.record.sources if source.image]
    there = [each.record.document_id for each in differences if each.before["content_hash"] is not None]
    if there:
        tx.run("images/forget", document_ids=there, source_ids=[row["source_id"] for row in rows])
    changed = 0
    for part in portions(rows, IMAGES_A_STATEMENT):
        row = tx.run("images/write", rows=part)[0]
        changed += row["changed"]
        if row["written"] < len(part):
            raise Conflict(
                "a picture of it was deleted meanwhile, for it took more than an hour; send it again"
            )
    return changed


def write_originals(tx: Transaction, differences: Sequence[DocumentDifference]) -> None:
    """Let documents have the files that they were made of.

    Raises:
        Conflict: a file has been collected, for its hold ended long ago.
    """
    there = [_original(each) for each in differences if each.before["content_hash"] is not None]
    if there:
        tx.run("originals/forget", rows=there)
    rows = sorted(map(_original, (each for each in differences if each.record.original)), key=_key)
    if rows and tx.run("originals/write", rows=rows)[0]["written"] < len(rows):
        raise Conflict("its file was deleted meanwhile, for it took more than an hour; send it again")


def _original(difference: DocumentDifference) -> Row:
    record = difference.record
    return {"document_id": record.document_id, "key": record.original, "hold": record.hold}


def _key(row: Row) -> str:
    return row["key"]


def _row(difference: DocumentDifference, source: SourceRecord) -> Row:
    image = asdict(source.image) if source.image else None
    return {"source_id": source.source_id, "image": image, "hold": difference.record.hold}

"""Writing which sources of documents are pictures, and which files documents were made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

from kg_api.errors import FilesCollected
from kg_api.graph.database import Row, Transaction, portions
from kg_api.graph.documents.difference import DocumentDifference
from kg_api.graph.spaces.registry import spaces_within
from kg_api.graph.spaces.removal import OF_A_NODE
from kg_api.graph.statements import of_space
from kg_api.models.library.documents import SourceRecord

IMAGES_A_STATEMENT = 500


def write_images(tx: Transaction, differences: Sequence[DocumentDifference]) -> Counter[str]:
    """Let sources be the pictures that they are, whether they are new or were there.

    Returns:
        By document, how many have another file than before, or are new.

    Raises:
        FilesCollected: a file has been collected, for its hold ended long ago.
    """
    rows = [_row(each, source) for each in differences for source in each.record.sources if source.image]
    there = [each.record.document_id for each in differences if each.before["content_hash"] is not None]
    others, changed = list[str](), Counter[str]()
    if there:
        given = {"document_ids": there, "source_ids": [row["source_id"] for row in rows]}
        others += tx.run("images/forget", **given)[0]["forgotten"]
    for part in portions(rows, IMAGES_A_STATEMENT):
        row = tx.run("images/write", rows=part)[0]
        changed.update(row["changed"])
        others += row["replaced"]
        if row["written"] < len(part):
            raise FilesCollected
    _forget_vectors(tx, others)
    return changed


def _forget_vectors(tx: Transaction, source_ids: Sequence[str]) -> None:
    """A picture is never compared by what another file looked like."""
    if not source_ids:
        return
    keys = [slug for slug, space in spaces_within(tx).items() if space.is_of_images]
    properties = [of_space(name, key) for key in keys for name in OF_A_NODE]
    for part in portions(source_ids, IMAGES_A_STATEMENT):
        tx.run("images/forget_vectors", source_ids=list(part), properties=properties)


def write_originals(tx: Transaction, differences: Sequence[DocumentDifference]) -> None:
    """Let documents have the files that they were made of.

    Raises:
        FilesCollected: a file has been collected, for its hold ended long ago.
    """
    there = [_original(each) for each in differences if each.before["content_hash"] is not None]
    if there:
        tx.run("originals/forget", rows=there)
    rows = sorted(map(_original, (each for each in differences if each.record.original)), key=_key)
    if rows and tx.run("originals/write", rows=rows)[0]["written"] < len(rows):
        raise FilesCollected


def _original(difference: DocumentDifference) -> Row:
    record = difference.record
    return {"document_id": record.document_id, "key": record.original, "hold": record.hold}


def _key(row: Row) -> str:
    return row["key"]


def _row(difference: DocumentDifference, source: SourceRecord) -> Row:
    image = asdict(source.image) if source.image else None
    return {"source_id": source.source_id, "image": image, "hold": difference.record.hold}

"""Documents of one ontology that say the same under different names: found, or left out if that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kg_api.graph.database import Graph, Row, Transaction
from kg_api.graph.retrying import SaidMeanwhile
from kg_api.models.library.documents import DocumentRecord, StoredChange

MAX_NAMED = 10
"""So many others are named of one document."""
Names = tuple[str, ...]
"""Of documents, in their order."""


def find_same_texts(tx: Transaction, written: Sequence[tuple[DocumentRecord, Row]]) -> dict[str, Names]:
    """By document id, the others of their ontology that say the same; of these documents, those before it.

    It is asked when all other writers of the ontology wait: of two that come at once, the later one is told.

    Args:
        tx: which has written them.
        written: documents of one ontology, and what they were before.

    Raises:
        SaidMeanwhile: a document is there now that says what one that is not wanted twice says.
    """
    stored = find_stored(tx, [record for record, _ in written])
    if any(may_be_left_out(*each) and each[0].text_hash in stored for each in written):
        raise SaidMeanwhile
    first: dict[str, str] = {}
    return {
        each.document_id: (*stored.get(each.text_hash, ()), *([known] if known != each.document else []))
        for each, _ in written
        for known in [first.setdefault(each.text_hash, each.document)]
    }


def find_left_out(tx: Transaction, changed: Sequence[tuple[DocumentRecord, Row]]) -> dict[str, Names]:
    """By id, the new documents that are not wanted, for others say the same; nothing is kept of them."""
    if not any(may_be_left_out(*each) for each in changed):
        return {}
    stored = find_stored(tx, [record for record, _ in changed])
    first: dict[str, str] = {}
    left_out: dict[str, Names] = {}
    for record, before in changed:
        names = stored.get(record.text_hash) or _one(first.get(record.text_hash))
        if names and may_be_left_out(record, before):
            left_out[record.document_id] = names
        else:
            first.setdefault(record.text_hash, record.document)
    if left_out:
        tx.run("documents/unlock", document_ids=sorted(left_out))
    return left_out


def read_same_texts(graph: Graph, record: DocumentRecord) -> Names:
    """The others that say what a document says which is not stored."""
    return _by_text(graph.read("documents/of_same_text", **_asked([record]))).get(record.text_hash, ())


def may_be_left_out(record: DocumentRecord, before: Row) -> bool:
    """Whether it is new: what is stored under its name is brought up to date, whatever others say."""
    return record.skip_duplicate and before["content_hash"] is None


def skipped(names: Names) -> StoredChange:
    """Of a document that is left out, for these say the same."""
    return StoredChange("skipped", 0, 0, 0, None, names)


def _one(name: str | None) -> Names:
    return () if name is None else (name,)


def find_stored(tx: Transaction, records: Sequence[DocumentRecord]) -> dict[str, Names]:
    """By what some documents of one ontology say, others that are stored and say it."""
    return _by_text(tx.run("documents/of_same_text", **_asked(records)))


def _by_text(rows: Sequence[Row]) -> dict[str, Names]:
    return {row["text"]: tuple(row["documents"]) for row in rows if row["documents"]}


def _asked(records: Sequence[DocumentRecord]) -> dict[str, Any]:
    return {
        "ontology": records[0].ontology,
        "texts": sorted({each.text_hash for each in records}),
        "ours": [each.document_id for each in records],
        "limit": MAX_NAMED,
    }

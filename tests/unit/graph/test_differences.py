from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kg_api.graph import documents
from kg_api.graph.client import Row
from kg_api.graph.documents import build_source_row, find_difference, note_keys
from kg_api.schemas.documents import DocumentChange, DocumentRecord
from tests.support.records import record

OLD = record("a.md", ["one", "two"])


def change(new: DocumentRecord, context: str) -> bool:
    before: Row = {"title": OLD.title, "metadata": OLD.metadata}
    return find_difference(new, before, list(map(build_source_row, OLD.sources))).has_changed_context(
        context, None
    )


@pytest.mark.parametrize("context", ["none", "template", "llm", "late"])
def test_new_heading_or_title_changes_contexts(context: str) -> None:
    assert not change(OLD, context)
    headed = tuple(replace(each, heading=("Other",)) for each in OLD.sources)
    assert change(replace(OLD, sources=headed), context) == (context != "none")
    moved = tuple(replace(each, paragraph=each.paragraph + 1) for each in OLD.sources)
    assert not change(replace(OLD, sources=moved), context)
    assert change(replace(OLD, title="Other"), context) == (context in {"template", "llm"})


@pytest.mark.parametrize(
    ("unmarked", "stored", "requested"),
    [
        ([2, 1], {"embed_on_ingest": True, "paused": False}, [3]),
        ([2, 1], {"embed_on_ingest": True, "paused": True}, []),
        ([2, 1], {"embed_on_ingest": False, "paused": False}, []),
        ([0], {"embed_on_ingest": True, "paused": False}, []),
    ],
)
def test_edit_starts_embedding_unless_off_or_paused(
    monkeypatch: pytest.MonkeyPatch, unmarked: list[int], stored: dict[str, bool], requested: list[int]
) -> None:
    asked = list[int]()
    monkeypatch.setattr(documents, "request_job", lambda *_, added, **__: asked.append(added))
    tx: Any = SimpleNamespace(run=lambda *_, **__: [{"unmarked": each} for each in unmarked])
    texts = SimpleNamespace(answering=SimpleNamespace(mark_property="embedded_with"))
    configuration: Any = SimpleNamespace(texts=texts, **stored)
    documents._request_reembedding(tx, "d", "notes", configuration)
    assert asked == requested


def test_missing_keys_and_keys_like_fields_are_noted() -> None:
    change = DocumentChange(metadata={"auther": None, "tags": None, "page": None, "document": "y", "date": 1})
    assert note_keys({"author", "tags"}, change) == [
        "no metadata 'auther' to delete (did you mean 'author'?)",
        "no metadata 'page' to delete",
        "'document' is also a field of kg. To filter by this metadata, write 'metadata.document'",
    ]

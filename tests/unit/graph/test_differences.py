from __future__ import annotations

from dataclasses import replace

import pytest

from kg_api.graph.client import Row
from kg_api.graph.documents import build_source_row, find_difference
from kg_api.schemas.documents import DocumentRecord
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

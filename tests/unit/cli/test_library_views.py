"""What is said of a document after it was changed."""

from __future__ import annotations

import pytest

from kg_api.models.library.documents import DocumentChanged
from kg_cli.documents.library_views import print_changed

CHANGED = {
    "document_id": "0" * 32,
    "ontology": "notes",
    "document": "a.md",
    "title": "A",
    "uri": None,
    "format": "text",
    "characters": 1,
    "sources": 1,
    "updated_at": "2026-01-01T00:00:00Z",
}


def test_values_are_shown_as_they_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    metadata = {"checked": True, "draft": False, "flags": [True, False], "name": "True", "number": 3}
    print_changed(DocumentChanged.model_validate({**CHANGED, "metadata": metadata}))
    shown = capsys.readouterr()
    lines = [" ".join(line.replace("│", " ").split()) for line in (shown.out + shown.err).splitlines()]
    for expected in ("checked true", "draft false", "flags true, false", "name True", "number 3"):
        assert expected in lines

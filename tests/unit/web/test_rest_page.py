from __future__ import annotations

from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "rest.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("operation", "parts"),
    [
        ("POST /documents", ("file", "images", "ontology", "document", "metadata", "review")),
        ("POST /documents/preview", ("file", "images")),
        ("POST /queries/images/search", ("file", "ontology", "where", "limit", "min_similarity")),
    ],
)
def test_file_operation_documents_its_form_parts(operation: str, parts: tuple[str, ...]) -> None:
    section = PAGE.split(f"**`{operation}`**")[1].split("\n\n")[0]
    form = section.split("Form: ")[1]
    for part in parts:
        assert f"`{part}`" in form or f"`{part}*`" in form

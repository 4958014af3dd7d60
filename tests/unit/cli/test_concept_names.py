from __future__ import annotations

from typing import Any

import pytest

from kg_api.client import KgClient
from kg_api.errors import NotFound
from kg_api.schemas.concepts import ConceptHits
from kg_cli.concepts.commands import take_concept

HIT = {"ontology": "notes", "description": "", "search_terms": [], "sources": 2, "score": 0.1}


class Searching(KgClient):
    def __init__(self, label: str, fits: str | None) -> None:
        hit = {**HIT, "concept_id": "c" * 32, "label": label, "similarity": 0.5, "fits": fits}
        self.found = ConceptHits.model_validate({"query_text": "q", "concepts": [hit], "degraded": []})

    def search_concepts(self, *_: Any, **__: Any) -> ConceptHits:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.found


def test_id_prefix_is_resolved_by_the_service() -> None:
    assert take_concept(Searching("retry", None), "477dc963", "notes") == "477dc963"
    assert take_concept(Searching("retry", "meaning"), "477dc9638b", "notes") == "477dc9638b"


def test_a_name_goes_before_digits() -> None:
    assert take_concept(Searching("deadbeef", "name"), "deadbeef", "notes") == "c" * 32


@pytest.mark.parametrize("text", ["477dc96", "477dc963 x", "backoff"])
def test_text_without_id_form_is_a_name(text: str) -> None:
    with pytest.raises(NotFound, match="no concept matches"):
        take_concept(Searching("retry", None), text, "notes")

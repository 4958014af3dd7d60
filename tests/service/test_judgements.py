from __future__ import annotations

import httpx
import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput, NotFound
from tests.service.asking import ingest

QUESTION = "how are herons ringed?"
TEXT = "# Rings\n\nHerons are ringed in June.\n\n# Boats\n\nBoats are painted in May.\n"


def test_invalid_judgement_is_rejected(http: httpx.Client, kg: KgClient) -> None:
    ingest(http, TEXT, "birds.md")
    ingest(http, "elsewhere", "b.md", "other")
    with pytest.raises(NotFound, match=r"has no passage .b\.md#0."):
        kg.judge("notes", question=QUESTION, source_id="b.md#0", relevance=1)
    with pytest.raises(NotFound, match="no paragraph 9"):
        kg.judge("notes", question=QUESTION, source_id="birds.md#9", relevance=1)
    with pytest.raises(InvalidInput, match="question"):
        kg.judge("notes", question=" ", source_id="birds.md#0", relevance=1)
    for relevance in (-1, 3):
        with pytest.raises(InvalidInput, match="relevance"):
            kg.judge("notes", question=QUESTION, source_id="birds.md#0", relevance=relevance)
    assert http.get("/ontologies/notes/judgements", params={"question": " "}).status_code == 422
    with pytest.raises(NotFound, match="ontology 'note' not found"):
        kg.judgements("note")

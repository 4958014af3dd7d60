from __future__ import annotations

import httpx
import pytest

from kg_api.client import KgClient
from kg_api.errors import InvalidInput, NotFound
from tests.service.asking import ingest

QUESTION = "how are herons ringed?"
TEXT = "# Rings\n\nHerons are ringed in June.\n\n# Boats\n\nBoats are painted in May.\n"


def test_a_passage_is_judged_listed_and_taken_back(http: httpx.Client, kg: KgClient) -> None:
    ingest(http, TEXT, "birds.md")
    judged = kg.judge("notes", question=f"  {QUESTION}\n", source_id="birds.md#0", relevance=2, by="Ann")
    assert (judged.question, judged.relevance, judged.judged_by) == (QUESTION, 2, "Ann")
    assert judged.source is not None
    assert "ringed" in judged.source.full_text
    other = kg.judge("notes", question=QUESTION, source_id="birds.md#1", relevance=0)
    again = kg.judge("notes", question=QUESTION, source_id="birds.md#0", relevance=1)
    assert again.judgement_id == judged.judgement_id
    listed = kg.judgements("notes", QUESTION)
    assert [(each.judgement_id, each.relevance) for each in listed.judgements] == [
        (judged.judgement_id, 1),
        (other.judgement_id, 0),
    ]
    assert listed.judgements[0].judged_by is None
    assert kg.judgements("notes", "another").total == 0
    assert other.source is not None
    assert kg.delete_judgements("notes", QUESTION, other.source.source_id).judgements == 1
    assert kg.delete_judgements("notes", QUESTION).judgements == 1
    assert kg.delete_judgements("notes", QUESTION).judgements == 0
    assert kg.judgements("notes").total == 0


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

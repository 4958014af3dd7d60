"""Documents that wait for approval, over REST and by the clients."""

from __future__ import annotations

import httpx
import pytest

from kg_api.client import KgClient
from kg_api.errors import NotFound
from tests.service.asking import found, problem


def test_what_waits_is_found_when_it_is_approved(http: httpx.Client, kg: KgClient) -> None:
    sent = {"ontology": "birds", "document": "a/b.md", "text": "Pelicans wait.", "review": True}
    answer = http.post("/documents", json=sent)
    assert (answer.status_code, answer.json()["change"], answer.json()["job_id"]) == (200, "waiting", None)
    upload = kg.ingest_bytes(b"Herons wait.", ontology="birds", document="c.md", review=True)
    assert upload.change == "waiting"
    batch = kg.ingest_batch([{**sent, "document": "d.md", "text": "Storks wait."}])
    assert batch.outcomes[0].ingested is not None
    assert batch.outcomes[0].ingested.change == "waiting"
    assert not found(http, "wait")
    assert [each.document for each in kg.waiting("birds").documents] == ["a/b.md", "c.md", "d.md"]
    assert kg.ontologies().waiting == {"birds": 3}
    with pytest.raises(NotFound, match=r"^there is no ontology 'birds'"):
        kg.documents("birds")
    approved = kg.approve(ontology="birds", documents=["a/b.md"])
    assert approved.outcomes[0].ingested is not None
    assert approved.outcomes[0].ingested.job_id is not None
    assert len(found(http, "pelicans")) == 1
    rejected = kg.reject(ontology="birds", all=True)
    assert (rejected.rejected, rejected.waiting) == (2, 0)
    assert not found(http, "herons")


def test_names_or_all_are_asked_for(http: httpx.Client) -> None:
    for road in ("approve", "reject"):
        for body in ({}, {"all": True, "documents": ["a.md"]}, {"all": False}):
            told = problem(http.post(f"/waiting/{road}", json={"ontology": "notes", **body}), 422)
            assert "one of the two" in told
    assert problem(http.get("/waiting", params={"ontologie": "notes"}), 422)

from __future__ import annotations

import json
from typing import Any

import httpx
import neo4j
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kg_api.client import KgClient
from kg_api.errors import NotFound
from tests.service.asking import found, ingest, nodes, problem

MARKDOWN = "# Leases\n\n" + "\n\n".join(f"Paragraph {n} says {'word ' * 120}end." for n in range(4)) + "\n"


def upload(http: httpx.Client, content: bytes, name: str = "a.md", **fields: str) -> httpx.Response:
    return http.post("/documents", files={"file": (name, content)}, data={"ontology": "notes", **fields})


def test_new_document_is_accepted_and_searchable_at_once(http: httpx.Client) -> None:
    response = http.post("/documents", json={"ontology": "notes", "document": "leases.md", "text": MARKDOWN})
    answer = response.json()
    assert response.status_code == 202
    assert (answer["change"], answer["title"], answer["document"]) == ("created", "Leases", "leases.md")
    assert answer["sources"] == {"added": 4, "kept": 0, "removed": 0}
    assert http.get(f"/jobs/{answer['job_id']}").json()["state"] == "queued"
    assert len(found(http, "paragraph")) == 4


def test_same_document_is_unchanged(http: httpx.Client, driver: neo4j.Driver) -> None:
    ingest(http, MARKDOWN, document="a.md")
    before = nodes(driver)
    response = http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": MARKDOWN})
    assert response.status_code == 200
    assert (response.json()["change"], response.json()["job_id"]) == ("unchanged", None)
    assert response.json()["sources"] == {"added": 0, "kept": 4, "removed": 0}
    assert nodes(driver) == before


def test_a_paragraph_that_goes_leaves_nothing_to_embed(http: httpx.Client) -> None:
    ingest(http, MARKDOWN, document="a.md")
    shorter = MARKDOWN[: MARKDOWN.index("Paragraph 3")]
    response = http.post("/documents", json={"ontology": "notes", "document": "a.md", "text": shorter})
    assert response.status_code == 200
    assert response.json()["sources"] == {"added": 0, "kept": 3, "removed": 1}


@pytest.mark.parametrize("changed", [{"metadata": {"author": "new"}}, {"uri": "file:///new/a.md"}])
def test_changed_metadata_is_stored(http: httpx.Client, changed: dict[str, Any]) -> None:
    about: dict[str, Any] = {"metadata": {"author": "old"}, "uri": "file:///old/a.md"}
    ingest(http, "text", **about)
    answer = ingest(http, "text", **{**about, **changed})
    assert (answer["change"], answer["sources"]["kept"], answer["job_id"]) == ("updated", 1, None)
    read = http.get(f"/documents/{answer['document_id']}").json()
    assert {name: read[name] for name in about} == {**about, **changed}


def test_another_file_of_same_name_is_reported(http: httpx.Client) -> None:
    ingest(http, "one", uri="file:///x/a.txt")
    assert ingest(http, "two", uri="file:///y/a.txt")["notes"] == ["replaces file:///x/a.txt"]


def test_names_are_of_their_ontology(http: httpx.Client) -> None:
    ids = {ingest(http, "text", ontology=name)["document_id"] for name in ("one", "two", "Büro 2", "本")}
    assert len(ids) == 4


def test_metadata_round_trips(http: httpx.Client) -> None:
    metadata = {"text": "é", "yes": True, "number": 7, "part": 0.5, "nothing": None, "long": 2**62}
    stored = ingest(http, "text", metadata=metadata)
    assert http.get(f"/documents/{stored['document_id']}").json()["metadata"] == metadata


def test_format_can_be_specified(http: httpx.Client) -> None:
    assert ingest(http, "Title\n=====\n\ntext", document="a", format="rst")["title"] == "Title"
    assert ingest(http, "# Title\n\ntext", document="b")["title"] == "b"


def test_an_upload_is_a_document(http: httpx.Client) -> None:
    response = upload(http, MARKDOWN.encode(), "leases.md", metadata=json.dumps({"n": 1}), uri="file:///l.md")
    assert response.status_code == 202, response.text
    read = http.get(f"/documents/{response.json()['document_id']}").json()
    assert (read["document"], read["format"], read["text"]) == ("leases.md", "markdown", MARKDOWN)
    assert (read["metadata"], read["uri"]) == ({"n": 1}, "file:///l.md")


def test_upload_and_equal_text_are_the_same(http: httpx.Client) -> None:
    ingest(http, MARKDOWN, document="a.md")
    assert upload(http, MARKDOWN.encode(), document="a.md").json()["change"] == "unchanged"


@pytest.mark.parametrize(
    ("content", "text", "told"),
    [
        pytest.param("Grüße".encode("utf-16"), "Grüße", "", id="utf-16"),
        pytest.param("Viele Grüße aus Köln, schöne Straße".encode("cp1252"), None, "cp1252", id="guessed"),
        pytest.param("a\u200bb\u202ec".encode(), None, "2 hidden characters", id="hidden"),
    ],
)
def test_encoding_is_detected_and_guesses_are_reported(
    http: httpx.Client, content: bytes, text: str | None, told: str
) -> None:
    answer = upload(http, content, "a.txt").json()
    assert told in " ".join(answer["notes"])
    assert bool(answer["notes"]) == bool(told)
    if text is not None:
        assert http.get(f"/documents/{answer['document_id']}").json()["text"] == text


def test_hidden_characters_of_json_text_are_reported(http: httpx.Client) -> None:
    assert "hidden" in ingest(http, "say \u202enothing")["notes"][0]


@pytest.mark.parametrize(
    ("content", "name", "told"),
    [
        (b"", "a.md", "no text"),
        (b"\n \xe2\x80\x8b\n", "a.md", "no text"),
        (b"%PDF-1.7 ...", "a.pdf", "PDF"),
        (b"just text", "a.docx", "Word document"),
        (b"just text", "a.odt", ".odt"),
        (b"PK\x03\x04...", "a.md", "ZIP"),
        (b"one\x00two", "a.txt", "NUL byte"),
    ],
)
def test_unreadable_file_is_rejected_and_not_stored(
    http: httpx.Client, driver: neo4j.Driver, content: bytes, name: str, told: str
) -> None:
    before = nodes(driver)
    response = upload(http, content, name)
    assert told in problem(response, 422)
    assert response.json()["type"] == "urn:kg:unreadable-document"
    assert nodes(driver) == before


@pytest.mark.parametrize(
    ("files", "status", "told"),
    [
        ({"file": (None, "text"), "ontology": (None, "notes")}, 422, "file"),
        ({"ontology": (None, "notes")}, 422, "file"),
        ({"file": ("a.md", b"x")}, 422, "ontology"),
        ({"file": ("a.md", b"x"), "ontology": ("b.md", b"x")}, 422, "ontology"),
        ({"file": ("a.md", b"x"), "ontology": (None, "n"), "color": (None, "red")}, 422, "color"),
        ({"file": ("a.md", b"x"), "ontology": (None, "n"), "metadata": (None, "{")}, 400, "JSON"),
        ({"file": ("a.md", b"x"), "ontology": (None, "n"), "metadata": (None, "[]")}, 422, "metadata"),
        ({"file": ("a.md", b"x"), "ontology": (None, "n" * 70_000)}, 400, "Part"),
        ({"file": ("a.md", b"x"), **{f"f{n}": (None, "x") for n in range(20)}}, 400, "fields"),
    ],
)
def test_invalid_form_is_rejected(http: httpx.Client, files: dict[str, Any], status: int, told: str) -> None:
    assert told in problem(http.post("/documents", files=files), status)


@pytest.mark.parametrize("content", [b"", b"no boundary here", b"--x\r\n\r\n"])
def test_malformed_form_is_rejected(http: httpx.Client, content: bytes) -> None:
    kind = {"content-type": "multipart/form-data; boundary=x"}
    problem(http.post("/documents", content=content, headers=kind), 400, 422)
    problem(http.post("/documents", content=content, headers={"content-type": "multipart/form-data"}), 400)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_text_round_trips_exactly(http: httpx.Client, text: str) -> None:
    stored = ingest(http, f"begin {text}", document="any.md")
    assert http.get(f"/documents/{stored['document_id']}").json()["text"] == f"begin {text}"


def test_duplicate_text_is_reported(http: httpx.Client) -> None:
    ingest(http, MARKDOWN, document="a.md")
    told = upload(http, MARKDOWN.encode(), "b.md").json()
    assert (told["change"], told["duplicate_of"]) == ("created", "a.md")


def test_pending_document_is_searchable_after_approval(http: httpx.Client, kg: KgClient) -> None:
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
    with pytest.raises(NotFound, match=r"^ontology 'birds' not found"):
        kg.documents("birds")
    approved = kg.approve(ontology="birds", documents=["a/b.md"])
    assert approved.outcomes[0].ingested is not None
    assert approved.outcomes[0].ingested.job_id is not None
    assert len(found(http, "pelicans")) == 1
    rejected = kg.reject(ontology="birds", all=True)
    assert (rejected.rejected, rejected.waiting) == (2, 0)
    assert not found(http, "herons")


def test_review_needs_names_or_all(http: httpx.Client) -> None:
    for road in ("approve", "reject"):
        for body in ({}, {"all": True, "documents": ["a.md"]}, {"all": False}):
            told = problem(http.post(f"/waiting/{road}", json={"ontology": "notes", **body}), 422)
            assert "one of the two" in told
    assert problem(http.get("/waiting", params={"ontologie": "notes"}), 422)

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import neo4j
import pytest

from kg_api.schemas.documents import MAX_DOCUMENTS_A_BATCH
from tests.service.asking import found, ingest, nodes, problem
from tests.support.cypher import rows

Json = dict[str, Any]
BAD: dict[str, Any] = {
    "a blank name": {"ontology": "notes", "document": "", "text": "text"},
    "no text": {"ontology": "notes", "document": "bad", "text": " \n "},
    "no text at all": {"ontology": "notes", "document": "bad"},
    "U+0000": {"ontology": "notes", "document": "bad", "text": "one\x00two"},
    "half a surrogate pair": {"ontology": "notes", "document": "bad", "text": "\ud800"},
    "an unknown format": {"ontology": "notes", "document": "bad", "text": "text", "format": "pdf"},
    "a format that is not read": {"ontology": "notes", "document": "bad.docx", "text": "text"},
    "an unknown field": {"ontology": "notes", "document": "bad", "text": "text", "color": "red"},
    "a wrong ontology": {"ontology": "a/b", "document": "bad", "text": "text"},
    "metadata": {"ontology": "notes", "document": "bad", "text": "text", "metadata": {"a": {"b": 1}}},
    "no object": {},
}


def document(name: str, text: str = "", ontology: str = "notes") -> Json:
    return {"ontology": ontology, "document": name, "text": text or f"The words of {name}."}


def send(http: httpx.Client, documents: list[Any], **headers: str) -> httpx.Response:
    kind = {"content-type": "application/json", **headers}
    return http.post("/documents/batch", content=json.dumps({"documents": documents}), headers=kind)


def outcomes(response: httpx.Response) -> list[Json]:
    assert response.is_success, response.text
    return response.json()["outcomes"]


def test_documents_have_ordered_outcomes_and_are_searchable(http: httpx.Client) -> None:
    response = send(http, [document(f"{n}.md", f"# Title {n}\n\nPelicans, number{n}.\n") for n in range(5)])
    told = [each["ingested"] for each in outcomes(response)]
    assert response.status_code == 202
    assert [each["title"] for each in told] == [f"Title {n}" for n in range(5)]
    assert [each["document"] for each in told] == [f"{n}.md" for n in range(5)]
    assert len({each["job_id"] for each in told}) == 1
    assert http.get(f"/jobs/{told[0]['job_id']}").json()["total"] == 5
    assert len(found(http, "pelicans")) == 5


def test_each_document_reports_created_updated_or_unchanged(http: httpx.Client) -> None:
    ingest(http, "one\n", document="same.txt")
    ingest(http, "one\n", document="changed.txt", uri="file:///x")
    given = [
        {**document("changed.txt", "two\n"), "uri": "file:///y"},
        document("new.txt", "a\u200bb\n"),
        document("same.txt", "one\n"),
        document("changed.txt", "elsewhere\n", "other"),
    ]
    told = [each["ingested"] for each in outcomes(send(http, given))]
    assert [each["change"] for each in told] == ["updated", "created", "unchanged", "created"]
    assert told[0]["notes"] == ["replaces file:///x"]
    assert "hidden" in told[1]["notes"][0]
    assert told[3]["job_id"] not in {None, told[0]["job_id"]}


@pytest.mark.parametrize("name", BAD)
def test_invalid_document_of_a_hundred_fails_individually(
    http: httpx.Client, driver: neo4j.Driver, name: str
) -> None:
    batch = [document(f"{n}.md") for n in range(100)]
    batch[41] = BAD[name]
    told = outcomes(send(http, batch))
    assert [at for at, each in enumerate(told) if each["ingested"] is None] == [41]
    kind = {"content-type": "application/json"}
    alone = http.post("/documents", content=json.dumps(BAD[name]), headers=kind)
    assert {**alone.json(), "errors": alone.json().get("errors", [])} == told[41]["problem"]
    assert alone.status_code == told[41]["problem"]["status"] == 422
    assert rows(driver, "MATCH (d:Document) RETURN count(d) AS n") == [{"n": 99}]


def test_later_document_of_equal_name_is_rejected(http: httpx.Client) -> None:
    given = [document("a", "first"), document("a", "second"), document("a", "third", "other")]
    told = outcomes(send(http, given))
    assert [bool(each["ingested"]) for each in told] == [True, False, True]
    assert "an earlier document of this batch has the same name 'a'" in told[1]["problem"]["detail"]
    assert http.get(f"/documents/{told[0]['ingested']['document_id']}").json()["text"] == "first"


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (b"{", 400, "JSON"),
        (b'{"documents": []}', 422, "documents"),
        (b"{}", 422, "documents"),
        (b'{"documents": [{"a": 1, "a": 2}]}', 400, "duplicate"),
        (json.dumps({"documents": [{}] * (MAX_DOCUMENTS_A_BATCH + 1)}).encode(), 422, "1,000"),
    ],
)
def test_invalid_batch_is_rejected_as_a_whole(
    http: httpx.Client, driver: neo4j.Driver, body: bytes, status: int, told: str
) -> None:
    before = nodes(driver)
    kind = {"content-type": "application/json"}
    assert told in problem(http.post("/documents/batch", content=body, headers=kind), status)
    assert nodes(driver) == before


def test_a_batch_is_json(http: httpx.Client) -> None:
    problem(http.post("/documents/batch", content=b"{}", headers={"content-type": "text/plain"}), 415)
    problem(http.post("/documents/batch", files={"file": ("a.md", b"text")}), 415)


def test_requests_with_one_idempotency_key_run_once(http: httpx.Client, driver: neo4j.Driver) -> None:
    batch = [document(f"{n}.md") for n in range(10)]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: send(http, batch, **{"Idempotency-Key": "k"}), range(6)))
    assert {answer.status_code for answer in answers} == {202}, answers[0].text
    assert len({answer.text for answer in answers}) == 1
    assert {each["ingested"]["change"] for each in outcomes(answers[0])} == {"created"}
    assert rows(driver, "MATCH (j:Job) RETURN j.wanted AS wanted") == [{"wanted": 1}]
    problem(send(http, batch[1:], **{"Idempotency-Key": "k"}), 409)

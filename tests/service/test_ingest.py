import json
from typing import Any

import httpx
import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.errors import NotFound
from kg_api.schemas.documents import MAX_DOCUMENTS_A_BATCH
from tests.service.asking import Json, found, ingest, nodes, problem, search
from tests.support.cypher import rows

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


def test_an_upload_is_a_document(http: httpx.Client) -> None:
    response = upload(http, MARKDOWN.encode(), "leases.md", metadata=json.dumps({"n": 1}), uri="file:///l.md")
    assert response.status_code == 202, response.text
    read = http.get(f"/documents/{response.json()['document_id']}").json()
    assert (read["document"], read["format"], read["text"]) == ("leases.md", "markdown", MARKDOWN)
    assert (read["metadata"], read["uri"]) == ({"n": 1}, "file:///l.md")


@pytest.mark.parametrize(
    ("files", "status", "told"),
    [
        ({"file": (None, "text"), "ontology": (None, "notes")}, 422, "file"),
        ({"ontology": (None, "notes")}, 422, "file"),
        ({"file": ("a.md", b"x")}, 422, "ontology"),
        ({"file": ("a.md", b"x"), "ontology": ("b.md", b"x")}, 400, "Too many files"),
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
    pending = r"^ontology 'birds' not found: its 3 documents wait for approval.*waiting --ontology 'birds'"
    with pytest.raises(NotFound, match=pending):
        kg.documents("birds")
    assert kg.approve(ontology="birds", documents=["none.md"]).unknown == ["none.md"]
    assert kg.reject(ontology="birds", documents=["none.md"]).unknown == ["none.md"]
    approved = kg.approve(ontology="birds", documents=["a/b.md"])
    assert approved.outcomes[0].ingested is not None
    assert approved.outcomes[0].ingested.job_id is not None
    assert len(found(http, "pelicans")) == 1
    rejected = kg.reject(ontology="birds", all=True)
    assert (rejected.rejected, rejected.waiting) == (2, 0)
    assert not found(http, "herons")


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


def entry(name: str, text: str = "", ontology: str = "notes") -> Json:
    return {"ontology": ontology, "document": name, "text": text or f"The words of {name}."}


def send_batch(http: httpx.Client, documents: list[Any], **headers: str) -> httpx.Response:
    kind = {"content-type": "application/json", **headers}
    return http.post("/documents/batch", content=json.dumps({"documents": documents}), headers=kind)


def outcomes(response: httpx.Response) -> list[Json]:
    assert response.is_success, response.text
    return response.json()["outcomes"]


def test_documents_have_ordered_outcomes_and_are_searchable(http: httpx.Client) -> None:
    response = send_batch(
        http, [entry(f"{n}.md", f"# Title {n}\n\nPelicans, number{n}.\n") for n in range(5)]
    )
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
        {**entry("changed.txt", "two\n"), "uri": "file:///y"},
        entry("new.txt", "a\u200bb\n"),
        entry("same.txt", "one\n"),
        entry("changed.txt", "elsewhere\n", "other"),
    ]
    told = [each["ingested"] for each in outcomes(send_batch(http, given))]
    assert [each["change"] for each in told] == ["updated", "created", "unchanged", "created"]
    assert told[0]["notes"] == ["replaces file:///x"]
    assert "hidden" in told[1]["notes"][0]
    assert told[3]["job_id"] not in {None, told[0]["job_id"]}


def test_invalid_documents_of_a_hundred_fail_individually(http: httpx.Client, driver: neo4j.Driver) -> None:
    batch: list[Json] = [entry(f"{n}.md") for n in range(100)]
    bad = {
        at: json.loads(json.dumps(each).replace("bad", f"bad {at}")) for at, each in enumerate(BAD.values())
    }
    batch[: len(bad)] = bad.values()
    told = outcomes(send_batch(http, batch))
    assert [at for at, each in enumerate(told) if each["ingested"] is None] == [*bad]
    kind = {"content-type": "application/json"}
    for at, wrong in bad.items():
        alone = http.post("/documents", content=json.dumps(wrong), headers=kind)
        assert {**alone.json(), "errors": alone.json().get("errors", [])} == told[at]["problem"], wrong
        assert alone.status_code == told[at]["problem"]["status"] == 422
    assert rows(driver, "MATCH (d:Document) RETURN count(d) AS n") == [{"n": 100 - len(bad)}]


def test_later_document_of_equal_name_is_rejected(http: httpx.Client) -> None:
    given = [entry("a", "first"), entry("a", "second"), entry("a", "third", "other")]
    told = outcomes(send_batch(http, given))
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


TALK: list[Json] = [
    {"author": "Ada", "timestamp": "2026-03-01T09:30:00+01:00", "text": "The lease is renewed too late."},
    {"author": "Bob", "timestamp": "2026-03-01T09:31:00+01:00", "text": "# Never!\n\n```\nrenew(every=10)"},
    {"author": "Ada", "timestamp": None, "text": "- once more\n- with feeling"},
]


def send_talk(http: httpx.Client, messages: list[Json], **more: Any) -> httpx.Response:
    body = {"ontology": "talks", "title": "Standup", "messages": messages, **more}
    return http.post("/documents/conversation", json=body)


def test_conversation_is_a_document_with_message_sections(http: httpx.Client) -> None:
    response = send_talk(http, TALK, metadata={"channel": "ops"})
    answer = response.json()
    assert response.status_code == 202
    assert (answer["document"], answer["title"], answer["notes"]) == ("Standup", "Standup", [])
    assert answer["sources"] == {"added": 3, "kept": 0, "removed": 0}
    stored = http.get(f"/documents/{answer['document_id']}").json()
    assert (stored["format"], stored["metadata"]) == ("markdown", {"channel": "ops"})
    hits = search(http, "renew feeling lease", mode="text")["sources"]
    assert sorted(hit["heading"] for hit in hits) == [
        ["Standup", "Ada"],
        ["Standup", "Ada — 2026-03-01T09:30:00+01:00"],
        ["Standup", "Bob — 2026-03-01T09:31:00+01:00"],
    ]
    for hit in hits:
        assert stored["text"][hit["start"] : hit["end"]] == hit["full_text"]
    assert "> # Never!\n>\n> ```\n> renew(every=10)" in stored["text"]
    assert send_talk(http, TALK, title="Why *now*?").json()["title"] == "Why *now*?"

from __future__ import annotations

from typing import Any

import httpx
import neo4j

from kg_api.graph.client import Graph
from tests.service.asking import Json, embedded, found, nodes, search, texts
from tests.support.embedding import run_jobs

TALK: list[Json] = [
    {"author": "Ada", "timestamp": "2026-03-01T09:30:00+01:00", "text": "The lease is renewed too late."},
    {"author": "Bob", "timestamp": "2026-03-01T09:31:00+01:00", "text": "# Never!\n\n```\nrenew(every=10)"},
    {"author": "Ada", "timestamp": None, "text": "- once more\n- with feeling"},
]


def send(http: httpx.Client, messages: list[Json], **more: Any) -> httpx.Response:
    body = {"ontology": "talks", "title": "Standup", "messages": messages, **more}
    return http.post("/documents/conversation", json=body)


def test_conversation_is_a_document_with_message_sections(http: httpx.Client) -> None:
    response = send(http, TALK, metadata={"channel": "ops"})
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


def test_one_message_more_embeds_one_message(http: httpx.Client, graph: Graph, driver: neo4j.Driver) -> None:
    send(http, TALK)
    run_jobs(graph)
    before = nodes(driver)
    again = send(http, TALK)
    assert (again.status_code, again.json()["change"], nodes(driver)) == (200, "unchanged", before)
    more = send(http, [*TALK, {"author": "Bob", "text": "Agreed, every five seconds."}]).json()
    assert (more["change"], more["sources"]) == ("updated", {"added": 1, "kept": 3, "removed": 0})
    status = http.get("/ontologies/talks/embedding-status").json()
    assert (status["embedded"], status["missing"]) == (3, 1)
    run_jobs(graph)
    assert "Agreed" in texts(search(http, "every five seconds"))[0]


def test_conversation_replaces_the_document_of_its_name(http: httpx.Client, graph: Graph) -> None:
    embedded(graph, http, "a text", document="Standup", ontology="talks")
    assert send(http, TALK).json()["change"] == "updated"
    assert len(found(http, "lease")) == 1
    assert http.get("/documents").json()["total"] == 1

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.errors import NotFound
from kg_api.graph.client import Graph
from kg_api.graph.keys import AuditRecord, prune_audit, write_audit
from tests.service.asking import ingest
from tests.support.cypher import rows
from tests.support.running import wait_until

SECRET = "the owl sleeps in the mill"


@pytest.fixture(autouse=True)
def _written(http: httpx.Client, driver: neo4j.Driver) -> None:
    """Wait for the entries of earlier tests, which the service writes in the background, and delete them."""
    sent = http.post("/keys", json={"name": "last"}).headers["X-Request-ID"]
    wait_until(lambda: sent in http.get("/audit").text, 20)
    rows(driver, "MATCH (n:AuditEntry|ApiKey) DETACH DELETE n")


@pytest.fixture
def writer(kg: KgClient, http: httpx.Client) -> Iterator[httpx.Client]:
    key = kg.create_key("import", scope="write").key
    with httpx.Client(base_url=http.base_url, timeout=60, headers={"Authorization": f"Bearer {key}"}) as sent:
        yield sent


def audited(http: httpx.Client, count: int, **asked: Any) -> list[dict[str, Any]]:
    """Wait until there are enough entries in the audit log, and return the newest first."""

    def entries() -> list[dict[str, Any]]:
        return http.get("/audit", params=asked).json()["entries"]

    wait_until(lambda: len(entries()) >= count, 20, lambda: str(entries()))
    return entries()


def test_changes_are_listed_with_key_request_and_outcome(http: httpx.Client, writer: httpx.Client) -> None:
    stored = ingest(writer, SECRET, "owl.txt", "mill")
    answer = writer.patch(f"/documents/{stored['document_id']}", json={"title": "The owl"})
    writer.delete("/documents/owl.txt")
    gone, changed, came, made = audited(http, 4)
    assert (made["key_id"], made["path"], made["outcome"]["name"]) == ("anyone", "/keys", "import")
    assert [each["key_name"] for each in (gone, changed, came)] == ["import"] * 3
    assert [each["method"] for each in (gone, changed, came)] == ["DELETE", "PATCH", "POST"]
    assert came["outcome"]["document"] == "owl.txt"
    assert came["outcome"]["ontology"] == "mill"
    assert came["outcome"]["change"] == "created"
    assert changed["request_id"] == answer.headers["X-Request-ID"]
    assert gone["outcome"]["documents"] == 1
    assert SECRET not in http.get("/audit").text


def test_a_key_is_never_in_it(http: httpx.Client, kg: KgClient) -> None:
    made = kg.create_key("ada")
    kg.rotate_key("ada")
    http.post(f"/keys/{made.key}/revoke")
    audited(http, 3)
    told = http.get("/audit").text
    assert made.key not in told
    assert made.key[12:] not in told
    assert made.key_id in told


def test_list_is_filtered_by_key_and_time(http: httpx.Client, kg: KgClient, writer: httpx.Client) -> None:
    ingest(writer, SECRET)
    ingest(http, SECRET, "another.txt")
    audited(http, 3)
    assert [each.path for each in kg.audit("import").entries] == ["/documents"]
    assert [each.path for each in kg.audit("anyone").entries] == ["/documents", "/keys"]
    page = kg.audit(limit=1, offset=1)
    assert (len(page.entries), page.total) == (1, 3)
    assert kg.audit(since=datetime.now(UTC) + timedelta(hours=1)).total == 0
    assert kg.audit(since=datetime.now(UTC) - timedelta(hours=1)).total == 3
    with pytest.raises(NotFound, match="key 'nobody' not found"):
        kg.audit("nobody")


def test_entries_older_than_a_year_are_deleted(graph: Graph) -> None:
    about: dict[str, Any] = {"key_id": "local", "method": "POST", "path": "/documents", "status": 202}
    about |= {"request_id": "r"}
    new = AuditRecord(**about, outcome={})
    old = AuditRecord(**about, outcome={}, at=datetime.now(UTC) - timedelta(days=400), entry_id="old")
    for _ in range(2):
        write_audit(graph, [new, old])
    assert prune_audit(graph, 365) == 1
    assert prune_audit(graph, 365) == 0

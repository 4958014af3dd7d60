import contextlib
import json
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import neo4j
import pytest

from kg_api.local import supervisor
from kg_api.local.processes import Home
from tests.process.managed.dummy import until
from tests.process.managed.test_kg_up import Machine, machine_in
from tests.support.small_disk import SmallDisk, small_disk

pytestmark = pytest.mark.timeout(600)

NOTICED_SECONDS = 60
"""Number of seconds in which a panicked Neo4j is noticed and ended. Then it starts again, which takes longer
on a busy machine."""


class Stack:
    def __init__(self, disk: SmallDisk, machine: Machine, start_seconds: float) -> None:
        self.disk = disk
        self.heals_seconds = NOTICED_SECONDS + start_seconds
        self.machine = machine
        self.home = Home(disk.seen / "kg")
        self.http = httpx.Client(base_url=self.home.build_api_url() or "", timeout=30)

    def takes(self, name: str) -> bool:
        """Return whether you can ingest a document. If the database is starting, wait for it."""
        with contextlib.suppress(httpx.TimeoutException):
            return self.add(name).status_code == 202
        return False

    def is_ready(self) -> bool:
        with contextlib.suppress(httpx.TimeoutException):
            return self.http.get("/ready").is_success
        return False

    def add(self, name: str) -> httpx.Response:
        body = {"ontology": "notes", "document": name, "text": f"The word of {name} is {name}."}
        return self.http.post("/documents", json=body)

    def found(self, name: str, mode: str = "text") -> bool:
        response = self.http.post("/queries/sources/search", json={"query_text": name, "mode": mode})
        if not response.is_success:
            return False
        return any(name in hit["full_text"] for hit in response.json()["sources"])

    def embedded(self) -> bool:
        with contextlib.suppress(httpx.TimeoutException):
            status = self.http.get("/embedding-status")
            return status.is_success and status.json()["missing"] == 0
        return False

    def check(self, name: str) -> dict[str, Any]:
        checks = self.http.get("/ready").json()["checks"]
        return next(check for check in checks if check["name"] == name)

    def log(self, name: str) -> str:
        return self.home.log_file(name).read_text(encoding="utf-8")

    def panic(self) -> None:
        auth = ("neo4j", self.home.read_password() or "")
        with neo4j.GraphDatabase.driver(self.home.build_bolt_uri() or "", auth=auth) as driver:
            for _ in range(50):
                try:
                    driver.execute_query(
                        "UNWIND range(1, 200) AS i CREATE (:Ballast {text: $text})", text="x" * 5000
                    )
                except neo4j.exceptions.DatabaseError:
                    return
        raise AssertionError("the database did not mind the full disk")


@pytest.fixture
def stack(tmp_path: Path) -> Generator[Stack]:
    folder = tmp_path
    with small_disk(folder / "disk", "400m") as disk:
        machine = machine_in(folder / "disk" / "kg", KG_CONCEPTS__EXTRACTOR="none", KG_LOG__LEVEL="debug")
        machine = Machine(machine.home, machine.env, disk.prefix)
        try:
            begun = time.monotonic()
            machine.kg("up")
            started = Stack(disk, machine, time.monotonic() - begun)
            yield started
            started.http.close()
        finally:
            machine.kg("down")


def test_full_disk_rejects_writes_and_panicked_database_recovers(stack: Stack) -> None:
    """You can search until Neo4j panics. After this, all data that was acknowledged should still be
    there."""
    acknowledged = [name for number in range(20) if stack.add(name := f"kept{number}").status_code == 202]
    assert len(acknowledged) == 20
    until(stack.embedded, "embedding", seconds=60)
    stack.disk.fill()
    refused = stack.add("refused")
    assert refused.status_code == 507
    assert refused.json()["type"] == "urn:kg:storage-full"
    assert "the disk is full" in refused.json()["detail"]
    assert refused.headers["Retry-After"]
    for mode in ("text", "vector", "hybrid"):
        assert stack.found("kept1", mode), mode
    assert stack.http.get("/ready").status_code == 200
    assert not stack.check("disk")["ok"]
    assert "the disk is full" in stack.http.get("/health").json()["notes"][0]
    findings = json.loads(stack.machine.kg("doctor", "--json", code=1)[0])
    assert [each["name"] for each in findings if each["state"] == "fail"] == ["disk"]
    stack.panic()
    assert stack.add("late").status_code in {503, 507}, "no bare 500"
    response = stack.http.post("/queries/sources/search", json={"query_text": "kept1", "mode": "text"})
    assert response.status_code == 503, "no bare 500"
    assert response.json()["type"] in {"urn:kg:database-panicked", "urn:kg:database-unavailable"}
    until(lambda: stack.http.get("/ready").status_code == 503, "that it is told")
    until(lambda: "room" in str(supervisor.read(stack.home).waiting_for()), "what it waits for", seconds=60)
    stack.disk.free()
    freed = time.monotonic()
    until(lambda: stack.takes("healed"), "writing again", seconds=stack.heals_seconds)
    until(stack.embedded, "embedding", seconds=stack.heals_seconds)
    until(stack.is_ready, "readiness", seconds=stack.heals_seconds)
    assert time.monotonic() - freed < stack.heals_seconds
    assert [name for name in [*acknowledged, "healed"] if not stack.found(name)] == []
    assert not stack.found("refused")
    until(lambda: supervisor.read(stack.home).waiting_for() is None, "that it is told", seconds=10)
    assert supervisor.read(stack.home).roles["neo4j"].restarts >= 1
    assert "process is broken and is ended" in stack.log("supervisor")

import json
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import neo4j
import numpy as np

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import find_job
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import JobState
from tests.neo4j_server import Neo4jServer
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.records import record
from tests.support.running import Running, environment, start, wait_until
from tests.support.worker_main import Plan

BATCH = 8
LEASE = 1.5
POLL = 0.1
PATIENCE = 60.0
WORKER = "tests.support.worker_main:run"
QUICK = {
    "KG_WORKER__LEASE_SECONDS": str(LEASE),
    "KG_WORKER__HEARTBEAT_SECONDS": "0.4",
    "KG_WORKER__POLL_SECONDS": str(POLL),
    "KG_WORKER__BATCH_SIZE": str(BATCH),
}
"""Use short leases, so that tests do not have to wait."""


@dataclass
class Crew:
    server: Neo4jServer
    folder: Path
    hired: list[Running] = field(default_factory=list[Running])

    def hire(
        self, seconds_a_batch: float = 0.0, env: dict[str, str] | None = None, **plan: object
    ) -> Running:
        given = Plan(str(self.folder), seconds_a_batch, **plan)  # pyright: ignore[reportArgumentType]
        log = self.folder / f"worker-{len(self.hired)}.log"
        variables = environment(self.server, **{**QUICK, **(env or {})})
        self.hired.append(start([given.as_json()], variables, log, WORKER))
        return self.hired[-1]

    def hire_and_wait(self, seconds_a_batch: float = 0.0, **more: object) -> Running:
        worker = self.hire(seconds_a_batch, **more)  # pyright: ignore[reportArgumentType]
        wait_until(lambda: said(worker, "worker starts") or not alive(worker), PATIENCE, worker.output)
        assert alive(worker), worker.output()
        return worker

    def end(self) -> None:
        for worker in self.hired:
            if alive(worker):
                worker.signal(signal.SIGCONT)
                worker.kill()

    def batches(self, worker: Running | None = None) -> list[list[str]]:
        pids = [each.process.pid for each in (self.hired if worker is None else [worker])]
        return [batch for pid in pids for batch in self.notes("embedded", pid)]

    def notes(self, name: str, pid: int) -> Iterator[list[str]]:
        """Return the batches that were recorded by one worker or by all workers."""
        path = self.folder / f"{name}-{pid}.jsonl"
        yield from map(json.loads, path.read_text().splitlines() if path.exists() else ())

    def embedded_again(self) -> int:
        """Count how many times a text has been embedded again."""
        return sum(
            count - 1 for count in Counter(text for batch in self.batches() for text in batch).values()
        )


def tell(figure: str) -> None:
    sys.stdout.write(figure + "\n")


def alive(worker: Running) -> bool:
    return worker.process.poll() is None


def said(worker: Running, event: str, count: int = 1) -> bool:
    return worker.output().count(f'"event": "{event}"') >= count


def seed(graph: Graph, sources: int, ontology: str = "notes") -> str:
    paragraphs = [f"source {number} of {ontology} and its own words w{number}" for number in range(sources)]
    job_id = store_document(graph, record("a.md", paragraphs, ontology)).job_id
    assert job_id is not None
    return job_id


def embedded(driver: neo4j.Driver) -> int:
    return rows(driver, "MATCH (s:Source) WHERE s.embedding IS NOT NULL RETURN count(s) AS n")[0]["n"]


def until_owned(
    graph: Graph, job_id: str, *, other_than: str | None = None, seconds: float = PATIENCE
) -> Job:
    wait_until(
        lambda: find_job(graph, job_id).worker not in {None, other_than},
        seconds,
        lambda: str(find_job(graph, job_id)),
    )
    return find_job(graph, job_id)


def until_state(graph: Graph, job_id: str, *states: JobState, seconds: float = PATIENCE) -> Job:
    """Wait until a job is in one of the given states."""
    wait_until(lambda: find_job(graph, job_id).state in states, seconds, lambda: str(find_job(graph, job_id)))
    return find_job(graph, job_id)


def until_done(graph: Graph, job_id: str, seconds: float = PATIENCE) -> Job:
    return until_state(graph, job_id, JobState.SUCCEEDED, seconds=seconds)


def until_progress(graph: Graph, job_id: str, done: int = 1) -> None:
    wait_until(lambda: find_job(graph, job_id).done >= done, PATIENCE, lambda: str(find_job(graph, job_id)))


def assert_all_embedded(driver: neo4j.Driver, sources: int, ontology: str | None = None) -> None:
    """Check the vectors of an ontology, or of all."""
    text = (
        "MATCH (s:Source) WHERE s.ontology = coalesce($ontology, s.ontology) "
        "RETURN s.full_text AS text, s.embedding AS vector"
    )
    found = rows(driver, text, ontology=ontology)
    chunks = rows(driver, "MATCH (c:Chunk) RETURN count(c) AS n")[0]["n"]
    missing = sum(row["vector"] is None for row in found)
    assert (len(found), len({row["text"] for row in found}), missing, chunks) == (sources, sources, 0, 0)
    stored = np.array([row["vector"] for row in found], dtype=np.float32)
    np.testing.assert_array_equal(
        stored, small_embedder().embed_passages([row["text"].strip() for row in found])
    )


def failures(driver: neo4j.Driver, job_id: str) -> int:
    with driver.session() as session:
        found = session.run("MATCH (j:Job {job_id: $id}) RETURN j.failures", id=job_id)
        return int(found.single(strict=True).value())

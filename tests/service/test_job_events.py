import contextlib
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import httpx
import pytest
from httpx_sse import connect_sse

from kg_api.client import KgClient
from kg_api.errors import TooBusy
from kg_api.graph.client import Graph
from kg_api.graph.jobs import cancel_job, request_job
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.operations import FINISHED, Job
from tests.neo4j_server import Neo4jServer
from tests.support.embedders import small_embedder
from tests.support.running import Service, serve, wait_until

STREAM = "text/event-stream"


def a_job(graph: Graph, ontology: str = "notes") -> str:
    return graph.transaction(lambda tx: request_job(tx, "test", ontology, added=2))


def one(events: Generator[Job]) -> Job:
    return next(events)


def test_events_follow_all_jobs_or_one_ontology(kg: KgClient, graph: Graph) -> None:
    first, other = a_job(graph, "first"), a_job(graph, "other")
    with contextlib.closing(kg.follow_jobs()) as every, contextlib.closing(kg.follow_jobs("other")) as some:
        found = [one(every), one(every)]
        assert {job.job_id for job in found} == {first, other}
        assert one(some).job_id == other
        cancel_job(graph, first)
        cancel_job(graph, other)
        ends = [one(every), one(every)]
        assert {job.job_id for job in ends} == {first, other}
        assert all(job.state in FINISHED for job in [*ends, one(some)])
        third = a_job(graph, "third")
        assert one(every).job_id == third


def test_on_the_wire_it_is_events_with_jobs(http: httpx.Client, graph: Graph) -> None:
    job_id = a_job(graph)
    with connect_sse(http, "GET", f"/jobs/{job_id}/events") as source:
        assert source.response.headers["content-type"].startswith(STREAM)
        assert source.response.headers["cache-control"] == "no-store"
        lines = source.response.iter_lines()
        assert next(lines) == "event: progress"
        data = next(lines)
        assert Job.model_validate_json(data.removeprefix("data: ")).job_id == job_id
        cancel_job(graph, job_id)
        assert next(line for line in lines if line) == "event: end"
        assert [line for line in lines if line and not line.startswith("data: ")] == []


@pytest.fixture
def narrow(server: Neo4jServer, graph: Graph, tmp_path: Path) -> Iterator[Service]:
    ensure_space(graph, small_embedder().identity)
    running = serve(server, tmp_path, KG_API__EVENT_STREAMS="1")
    yield running
    if running.process.poll() is None:
        assert running.stop() == 0, running.output()


def test_excess_streams_are_rejected_and_shutdown_continues(narrow: Service, graph: Graph) -> None:
    job_id = a_job(graph)
    with KgClient(narrow.url) as kg, httpx.Client(base_url=narrow.url, timeout=30) as http:
        first = kg.follow_job(job_id)
        assert next(first).job_id == job_id
        refused = http.get(f"/jobs/{job_id}/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "5")
        with pytest.raises(TooBusy, match="event streams are open"):
            next(kg.follow_jobs())
        first.close()
        wait_until(lambda: opens(kg, job_id), 20)
        with contextlib.closing(kg.follow_job(job_id)) as last:
            next(last)
            begun = time.monotonic()
            assert narrow.stop() == 0
            assert time.monotonic() - begun < 30
            assert list(last) == []
        assert "Traceback" not in narrow.output()
        assert "without completing" not in narrow.output()


def opens(kg: KgClient, job_id: str) -> bool:
    try:
        with contextlib.closing(kg.follow_job(job_id)) as events:
            return next(events).job_id == job_id
    except TooBusy:
        return False

from __future__ import annotations

import httpx

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.schemas.vocabulary import JobState
from tests.service.asking import ingest
from tests.support.embedding import run_jobs


def test_job_shows_its_states_and_times(kg: KgClient, graph: Graph) -> None:
    stored = kg.ingest_text("some text", ontology="notes", document="a.txt")
    assert stored.job_id is not None
    queued = kg.job(stored.job_id)
    run_jobs(graph)
    done = kg.job(stored.job_id)
    assert (queued.state, queued.done, queued.total, queued.attempts) == (JobState.QUEUED, 0, 1, 0)
    assert (done.state, done.done, done.total, done.attempts) == (JobState.SUCCEEDED, 1, 1, 1)
    assert (queued.started_at, queued.finished_at, queued.worker, done.error) == (None, None, None, None)
    assert done.started_at is not None
    assert done.finished_at is not None
    assert queued.created_at <= done.started_at <= done.finished_at


def test_jobs_are_paged_newest_first(http: httpx.Client, graph: Graph) -> None:
    ids = [ingest(http, "text", ontology=f"o{n}")["job_id"] for n in range(4)]
    run_jobs(graph)
    ids.append(ingest(http, "text", ontology="o4")["job_id"])
    pages = [http.get("/jobs", params={"offset": at, "limit": 3}).json() for at in (0, 3)]
    assert [job["job_id"] for page in pages for job in page["jobs"]] == ids[::-1]
    assert {page["total"] for page in pages} == {5}


def test_jobs_are_filtered(http: httpx.Client, graph: Graph) -> None:
    for number in (0, 1):
        ingest(http, "text", ontology=f"o{number}")
    run_jobs(graph)
    ingest(http, "text", ontology="o2")
    counts: dict[str, int] = {
        "": 3,
        "state=queued": 1,
        "state=succeeded": 2,
        "state=completed": 2,
        "state=failed": 0,
        "ontology=o1": 1,
        "ontology=o1&state=queued": 0,
        "kind=source_embedding": 3,
        "kind=backfill": 0,
    }
    for asked, count in counts.items():
        page = http.get(f"/jobs?{asked}").json()
        assert (page["total"], len(page["jobs"])) == (count, count), asked


def a_job(http: httpx.Client, ontology: str = "notes") -> str:
    return str(ingest(http, "text", ontology=ontology)["job_id"])


def test_cancelled_job_is_retried_under_its_id(http: httpx.Client, graph: Graph) -> None:
    job_id = a_job(http)
    http.post(f"/jobs/{job_id}/cancel")
    again = http.post(f"/jobs/{job_id}/retry").json()
    run_jobs(graph)
    assert (again["job_id"], again["state"], again["error"]) == (job_id, "queued", None)
    assert http.get(f"/jobs/{job_id}").json()["state"] == "succeeded"
    assert http.get("/queue").json()["paused"] == []

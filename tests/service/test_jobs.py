from __future__ import annotations

import httpx

from kg_api.graph.client import Graph
from tests.service.asking import ingest
from tests.support.embedding import run_jobs


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

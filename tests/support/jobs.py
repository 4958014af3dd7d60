from typing import Any

from kg_api.graph import jobs
from kg_api.graph.client import Graph, Transaction

LEASE = 30.0


def claim(
    graph: Graph, worker: str, *, lease: float = LEASE, max_failures: int = 5, kind: str = "test"
) -> jobs.ClaimedJob | None:
    return jobs.claim(graph, worker, [kind], lease_seconds=lease, max_failures=max_failures)


def owned(
    graph: Graph, worker: str, *, lease: float = LEASE, kind: str = "test"
) -> tuple[jobs.ClaimedJob, jobs.Owner]:
    job = claim(graph, worker, lease=lease, kind=kind)
    assert job is not None
    return job, jobs.Owner(job.job_id, worker, job.fence, lease)


def request(graph: Graph, ontology: str = "notes", added: int = 1, kind: str = "test", **more: Any) -> str:
    return graph.transaction(lambda tx: jobs.request_job(tx, kind, ontology, added=added, **more))


def advance(
    graph: Graph, owner: jobs.Owner, before: str, after: str, *, done: int = 1, set_aside: int = 0
) -> None:
    def work(tx: Transaction) -> None:
        jobs.advance(tx, owner, before=before, after=after, done=done, set_aside=set_aside)

    graph.transaction(work)


def finish(graph: Graph, job: jobs.ClaimedJob, owner: jobs.Owner) -> None:
    assert jobs.finish(graph, owner, wanted=job.wanted) is None

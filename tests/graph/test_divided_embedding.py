from typing import Any

import neo4j
import pytest

from kg_api.graph import jobs
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.jobs import embedding
from kg_api.schemas.vocabulary import JobState
from tests.graph.test_embedding_jobs import CountingEmbedder, PickyEmbedder
from tests.support.cypher import rows
from tests.support.embedding import run_jobs, status
from tests.support.kg import Kg
from tests.support.records import record


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "DIVIDED_FROM", 20)
    monkeypatch.setattr(embedding, "PARTS_SECONDS", 0.0)


def filled(graph: Graph, documents: int = 16) -> str:
    job_id = ""
    for number in range(documents):
        texts = [f"Paragraph {n} of number{number}." for n in range(3)]
        job_id = store_document(graph, record(f"{number}.md", texts)).job_id or ""
    return job_id


def kept(driver: neo4j.Driver) -> list[dict[str, Any]]:
    return rows(driver, "MATCH (j:Job {kind: 'source_embedding'}) RETURN j.part AS part, j.state AS state")


def test_parts_run_once_and_whole_sums_their_progress(graph: Graph, driver: neo4j.Driver) -> None:
    embedder, job_id = CountingEmbedder(), filled(graph)
    run_jobs(graph, embedder, batch_size=4)
    job = jobs.find_job(graph, job_id)
    assert (job.state, job.done, job.total) == (JobState.SUCCEEDED, 48, 48)
    assert len(embedder.texts) == len(set(embedder.texts)) == 48
    assert status(graph).embedded == 48
    parts = [row for row in kept(driver) if row["part"]]
    assert len(parts) == len(embedding.PARTS)
    assert {row["state"] for row in parts} == {"succeeded"}


def test_whole_reports_texts_rejected_by_parts(graph: Graph) -> None:
    job_id = filled(graph)
    run_jobs(graph, PickyEmbedder("number3."), batch_size=4)
    job = jobs.find_job(graph, job_id)
    assert (job.state, job.set_aside) == (JobState.SUCCEEDED_WITH_ERRORS, 3)
    assert (status(graph).embedded, status(graph).refused) == (45, 3)


def test_cancelling_the_whole_ends_its_parts(graph: Graph, driver: neo4j.Driver) -> None:
    embedder, job_id = CountingEmbedder(), filled(graph)

    def cancel() -> None:
        if len(embedder.texts) == 8:
            jobs.cancel_job(graph, job_id)

    embedder.before = cancel
    run_jobs(graph, embedder, batch_size=4)
    assert {row["state"] for row in kept(driver)} <= {"cancelled", "succeeded"}
    assert status(graph).embedded <= 12, "what was done is kept, and no more was begun"
    rows(driver, "MATCH (j:Job {kind: 'backfill'}) DETACH DELETE j")
    jobs.enqueue_slot(graph, "backfill", "1")
    run_jobs(graph)
    assert status(graph).embedded <= 12, "it is left alone until somebody asks"
    store_document(graph, record("new.md", ["Writing is no asking."]))
    run_jobs(graph)
    assert status(graph).embedded <= 12
    kg = Kg(graph)
    kg.requests.embed("notes")
    kg.work()
    assert status(graph).missing == 0


def test_whole_leaves_texts_to_unfinished_parts(
    graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "PARTS_SECONDS", 60.0)
    embedder, job_id = CountingEmbedder(), filled(graph)

    def delay_parts() -> None:
        rows(
            driver,
            "MATCH (j:Job {state: 'queued'}) WHERE j.part IS NOT NULL WITH j, datetime('9999-01-01') AS late "
            "SET j.run_after = late, j.queued_at = late",
        )

    embedder.before = delay_parts
    run_jobs(graph, embedder, batch_size=4)
    done = len(embedder.texts)
    assert done < 48
    rows(
        driver,
        "MATCH (j:Job {job_id: $job_id}) SET j.run_after = datetime(), j.queued_at = datetime()",
        job_id=job_id,
    )
    run_jobs(graph, embedder, batch_size=4)
    assert len(embedder.texts) == done
    assert jobs.find_job(graph, job_id).state == JobState.QUEUED


def test_permanent_failure_of_parts_ends_the_whole(
    graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "PARTS_SECONDS", 60.0)  # else the whole asks again while they wait
    embedder, job_id = CountingEmbedder(), filled(graph)

    def broken() -> None:
        raise RuntimeError("a bug")

    embedder.before = broken
    for _ in range(12):
        run_jobs(graph, embedder, batch_size=4)
        rows(driver, "MATCH (j:Job {state: 'queued'}) SET j.run_after = datetime(), j.queued_at = datetime()")
    job = jobs.find_job(graph, job_id)
    assert (job.state, job.error) == (JobState.FAILED, "RuntimeError: a bug")
    assert len([row for row in kept(driver) if row["part"]]) == len(embedding.PARTS), "made once"

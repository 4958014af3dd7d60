from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import EXTRACTION, ensure_job, find_job
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import Crew, tell, until_done
from tests.support.cypher import rows
from tests.support.embedding_server import EmbeddingServer
from tests.support.extraction import configure_extraction, evidence, extract_concepts, spent, texts_asked
from tests.support.records import record
from tests.support.running import wait_until

TWICE = """
MATCH (c:Concept)-[r:APPEARS_IN|RELATED_TO]->(n)
WITH c, n, type(r) AS kind, r.source_id AS source, count(*) AS times WHERE times > 1
RETURN c.label AS label, kind, times
UNION ALL
MATCH (i:Instance)
WITH i, count { (i)<-[:EVIDENCED_BY]-() } AS times, count { (i)-[:FROM_SOURCE]->() } AS sources
WHERE times <> 1 OR sources <> 1
RETURN i.quote AS label, 'instance' AS kind, times
"""


@pytest.fixture
def model() -> Iterator[EmbeddingServer]:
    def slow(body: dict[str, Any]) -> str:
        time.sleep(0.3)
        return extract_concepts(body)

    with EmbeddingServer() as running:
        running.chat = slow
        yield running


def environment_of(model: EmbeddingServer) -> dict[str, str]:
    return {
        "KG_LLM__MODEL": "small-writer",
        "KG_LLM__BASE_URL": model.openai_url,
        "KG_LLM__PRICE_INPUT": "2",
        "KG_LLM__PRICE_OUTPUT": "8",
    }


@pytest.mark.parametrize(
    "size",
    [pytest.param((2, 120), id="2 kills"), pytest.param((3, 320), id="3 kills", marks=pytest.mark.full)],
)
def test_extraction_survives_workers_that_are_killed(
    crew: Crew, graph: Graph, driver: neo4j.Driver, model: EmbeddingServer, size: tuple[int, int]
) -> None:
    kills, sources = size
    texts = [f"In the year {at} the engineer Person{at} met Ada and Grace." for at in range(sources)]
    configure_extraction(graph, extractor="llm")
    for part in range(4):
        store_document(graph, record(f"{part}.md", texts[part::4]))
    job_id, _ = ensure_job(graph, EXTRACTION, "notes", total=sources)
    chance = random.Random(11)
    for kill in range(kills):
        worker = crew.hire(env=environment_of(model))
        wanted = len(model.requests) + 2 + chance.randrange(6)
        wait_until(reached(model, graph, job_id, wanted), 60, worker.output)
        time.sleep(chance.random() * 0.3)
        worker.kill()
        tell(f"kill {kill}: {len(model.requests)} requests, {find_job(graph, job_id).done} done")
    assert find_job(graph, job_id).state is not JobState.SUCCEEDED, "it was killed in the middle"
    crew.hire(env=environment_of(model))
    job = until_done(graph, job_id)
    assert (job.done, job.set_aside) == (sources, 0)
    assert job.attempts > kills - 1
    assert rows(driver, TWICE) == []
    found = evidence(driver)
    assert all(row["quote"] == row["there"] for row in found)
    assert Counter(row["text"] for row in found) == {f"{text}\n\n": 3 for text in texts}
    times = Counter(text for asked in texts_asked(model) for text in asked)
    assert times.keys() == {f"{text}\n\n" for text in texts}
    asked_again = sum(times.values()) - sources
    assert asked_again <= kills * 32, "only what was under way when a worker died"
    paid = cost_of_all(model)
    assert 0 < spent(driver) <= paid + 1e-9
    tell(f"{asked_again} of {sources} passages asked again, ${spent(driver):.4f} of ${paid:.4f} booked")


def reached(model: EmbeddingServer, graph: Graph, job_id: str, wanted: int) -> Callable[[], bool]:
    return lambda: len(model.requests) >= wanted or find_job(graph, job_id).state is JobState.SUCCEEDED


def cost_of_all(model: EmbeddingServer) -> float:
    """Return the cost of all answers. This includes answers that were lost."""
    total = 0.0
    for request in model.requests:
        read = sum(len(each["content"].split()) for each in request.body["messages"])
        total += read * 2 / 1e6 + len(extract_concepts(request.body).split()) * 8 / 1e6
    return total

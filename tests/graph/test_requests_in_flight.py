from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import neo4j
import numpy as np
import pytest

from kg_api.graph import jobs
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.vectors import read_rejected_sources
from kg_api.jobs.embedding import SourceEmbedding, TextModels
from kg_api.jobs.runner import Runner
from kg_api.providers.remote_embedding import KNOWN_GOOD
from kg_api.schemas.spaces import ModelChoice
from kg_api.schemas.vocabulary import JobState
from kg_api.settings import WorkerSettings
from kg_api.spaces.contexts import Contexts
from kg_api.spaces.plans import read_embedding_state
from kg_api.spaces.registry import CachedPassages
from tests.support.behaviours import Behaviour, Drop, Status
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.embedding import open_spaces, run_jobs, status
from tests.support.embedding_server import EmbeddingServer
from tests.support.providers import Asking
from tests.support.records import record
from tests.support.running import wait_until

AT_ONCE = 4
SIZE = 8
MODEL = "text-embedding-3-small"
SOURCES = 100


@pytest.fixture
def asking() -> Iterator[Asking]:
    choice = ModelChoice("openai", MODEL, small_embedder().identity.dimensions)
    with EmbeddingServer() as server, Asking("openai", server, choice, timeout=20) as asking:
        yield asking


def seed(graph: Graph) -> str:
    return store_document(graph, record("a.md", [f"This is number{n}." for n in range(SOURCES)])).job_id or ""


def embed(graph: Graph, asking: Asking, *, cached: bool = False) -> int:
    spaces = open_spaces(graph, asking.embedder)
    return run_jobs(graph, batch_size=SIZE, spaces=spaces, cached=cached, requests_at_once=AT_ONCE)


def passages(server: EmbeddingServer) -> list[list[str]]:
    asked = [[text for text in each.body["input"] if "number" in text] for each in server.requests]
    return [texts for texts in asked if texts]


def number(text: str) -> int:
    return int(text.removeprefix("This is number").split(".")[0])


def assert_right_vectors(driver: neo4j.Driver, expected: int) -> None:
    """Assert that the vectors for the first sources are correct."""
    found = rows(
        driver, "MATCH (s:Source) RETURN s.full_text AS text, s.embedding AS vector ORDER BY s.paragraph"
    )
    embedded = [row for row in found if row["vector"] is not None]
    assert [number(row["text"]) for row in embedded] == list(range(expected))
    stored = np.array([row["vector"] for row in embedded], dtype=np.float32)
    right = small_embedder().embed_passages([row["text"].strip() for row in embedded])
    np.testing.assert_allclose(stored, right, atol=1e-6)


def test_concurrent_requests_return_vectors_to_their_sources(
    graph: Graph, driver: neo4j.Driver, asking: Asking
) -> None:
    dice = random.Random(7)
    asking.server.load.takes = lambda _: dice.uniform(0.1, 0.4)  # more than asking again takes
    job = jobs.find_job(graph, seed(graph))
    assert embed(graph, asking) == 1
    assert_right_vectors(driver, SOURCES)
    assert max(asking.server.load.at_once) == AT_ONCE
    done = jobs.find_job(graph, job.job_id)
    assert (done.state, done.done, done.total) == (JobState.SUCCEEDED, SOURCES, SOURCES)


@pytest.mark.parametrize("fault", [Status(500, message="NaN"), Drop(mid_body=False)], ids=str)
def test_texts_that_fail_on_the_server_are_skipped(graph: Graph, asking: Asking, fault: Behaviour) -> None:
    def told(body: dict[str, Any]) -> Behaviour | None:
        return fault if any("number42." in text or "number7." in text for text in body["input"]) else None

    asking.server.next_behaviour = told
    job = jobs.find_job(graph, seed(graph))
    embed(graph, asking)
    done = jobs.find_job(graph, job.job_id)
    assert (done.state, done.done) == (JobState.SUCCEEDED_WITH_ERRORS, SOURCES)
    assert (status(graph).embedded, status(graph).refused) == (SOURCES - 2, 2)
    mark = read_embedding_state(graph, "notes").target.mark
    reasons = [each.reason for each in read_rejected_sources(graph, "notes", mark, limit=9)]
    assert len(reasons) == 2
    assert all(asking.server.url in reason for reason in reasons)


def test_failed_request_keeps_results_of_the_others(
    graph: Graph, driver: neo4j.Driver, asking: Asking
) -> None:
    def told(body: dict[str, Any]) -> Behaviour | None:
        ends = any("number42." in text or text == KNOWN_GOOD for text in body["input"])
        return Status(500) if ends else None

    asking.server.next_behaviour = told
    job_id = seed(graph)
    embed(graph, asking, cached=True)
    job = jobs.find_job(graph, job_id)
    assert (job.state, job.done) == (JobState.QUEUED, 40)
    assert "500" in (job.error or "")
    assert_right_vectors(driver, 40)
    asked = [texts for texts in passages(asking.server) if "This is number42." not in texts]
    answered = {text for texts in asked for text in texts}
    kept = "MATCH (v:CachedVector) RETURN count(v) AS n"
    wait_until(lambda: rows(driver, kept)[0]["n"] >= len(answered), 10)
    asking.server.next_behaviour = lambda body: None  # noqa: ARG005 - its name
    asking.server.requests.clear()
    rows(driver, "MATCH (j:Job) SET j.run_after = datetime(), j.queued_at = datetime()")
    embed(graph, asking, cached=True)
    assert_right_vectors(driver, SOURCES)
    assert jobs.find_job(graph, job_id).state is JobState.SUCCEEDED
    again = {text for texts in passages(asking.server) for text in texts}
    assert answered.isdisjoint(again), "what was answered is paid for, and kept"


def test_rate_limited_provider_pauses_all_requests(
    graph: Graph, driver: neo4j.Driver, asking: Asking
) -> None:
    seed(graph)
    refusing = threading.Lock()

    def told(body: dict[str, Any]) -> Behaviour | None:  # noqa: ARG001 - its name
        if len(passages(asking.server)) >= 2 * AT_ONCE and refusing.acquire(blocking=False):
            return Status(429, retry_after="0.5")
        return None

    asking.server.next_behaviour = told
    asking.server.load.takes = lambda _: 0.05
    embed(graph, asking)
    assert_right_vectors(driver, SOURCES)
    assert refusing.locked()
    longest = max(asking.server.waits)
    assert longest >= 0.35, "those under way went on, and none was begun"
    assert len(passages(asking.server)) == -(-SOURCES // SIZE) + 1, "one was refused, and it alone"


def test_cancelled_job_ends_soon_and_writes_nothing(graph: Graph, asking: Asking) -> None:
    job_id, released = seed(graph), threading.Event()
    spaces = open_spaces(graph, asking.embedder)
    spaces.get().ensure_verified()
    asking.server.load.takes = lambda body: float(any("number" in each for each in body["input"])) * 5
    settings = WorkerSettings(lease_seconds=2, heartbeat_seconds=0.2)
    models = TextModels(spaces, CachedPassages(graph, keeps=False), AT_ONCE)
    job = SourceEmbedding(graph, Contexts(graph), models, SIZE)
    runner = Runner(graph, [job], settings, worker="w", stopping=released)
    running = threading.Thread(target=runner.run_one)
    running.start()
    wait_until(lambda: len(passages(asking.server)) == AT_ONCE, 10)
    begun = time.monotonic()
    jobs.cancel_job(graph, job_id)
    running.join(10)
    assert time.monotonic() - begun < 2, "no answer is waited for"
    asking.server.close()  # all that was asked is answered
    time.sleep(0.3)
    assert jobs.find_job(graph, job_id).state is JobState.CANCELLED
    assert (status(graph).missing, status(graph).embedded) == (SOURCES, 0)
    assert len(passages(asking.server)) == AT_ONCE

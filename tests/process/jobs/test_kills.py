"""Tests that nothing is lost or stored twice if workers are killed, and that progress does not decrease
(G2, G3, G21)."""

import json
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Self

import httpx
import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.jobs import find_job
from kg_api.jobs.embedding import DIVIDED_FROM
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import BATCH, Crew, assert_all_embedded, seed, tell, until_done, until_owned
from tests.support import forked
from tests.support.running import Service, environment, wait_until

COMPLETED = {"state": "succeeded", "kind": "source_embedding", "ontologies": None, "hidden": []}


@dataclass
class Watcher:
    """Client that watches a job as a progress bar would, using REST and Server-Sent Events."""

    service: Service
    job_id: str
    followed: list[Job] = field(default_factory=list[Job])
    seen: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def __post_init__(self) -> None:
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=each) for each in (self._poll, self._follow)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _poll(self) -> None:
        with httpx.Client(timeout=30) as client:
            while not self._ended.wait(0.05):
                answer = client.get(f"{self.service.url}/jobs/{self.job_id}")
                self.seen.append({"status": answer.status_code, **answer.json()})

    def _follow(self) -> None:
        with KgClient(self.service.url) as client:
            self.followed += client.follow_job(self.job_id)


@dataclass(frozen=True)
class Size:
    """Number of workers to kill, and how long to wait before this, in seconds."""

    kills: int
    sources: int
    lives: tuple[float, float]
    seconds_a_batch: float


SMALL = Size(kills=4, sources=400, lives=(0.1, 1.2), seconds_a_batch=0.06)
MIDDLE = Size(kills=8, sources=800, lives=(0.1, 1.2), seconds_a_batch=0.04)
FULL = Size(kills=30, sources=DIVIDED_FROM - BATCH, lives=(0.1, 0.6), seconds_a_batch=0.1)
"""A larger job would be divided, and a divided job has no worker while its parts run."""


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(SMALL, id="4 kills"),
        pytest.param(MIDDLE, id="8 kills", marks=pytest.mark.full),
        pytest.param(FULL, id="30 kills", marks=[pytest.mark.full, pytest.mark.timeout(1200)]),
    ],
)
def test_kills_lose_nothing_and_do_nothing_twice(
    crew: Crew, graph: Graph, driver: neo4j.Driver, service: Service, size: Size
) -> None:
    dice, patient = random.Random(11), {"KG_WORKER__MAX_FAILURES": str(size.kills + 1)}
    job_id = seed(graph, size.sources)
    with Watcher(service, job_id) as watcher:
        for _ in range(size.kills):
            victim, before = crew.hire(size.seconds_a_batch, patient), find_job(graph, job_id).worker
            until_owned(graph, job_id, other_than=before)
            time.sleep(dice.uniform(*size.lives))
            victim.kill()
            assert find_job(graph, job_id).state is JobState.RUNNING, "it missed: more sources are needed"
        crew.hire(env=patient)
        done = until_done(graph, job_id)
        time.sleep(0.5)
    assert_all_embedded(driver, size.sources)
    assert (done.done, done.total) == (size.sources, size.sources)
    again = crew.embedded_again()
    tell(f"{size.kills} kills, {again} of {size.sources} sources embedded again")
    assert again <= size.kills * BATCH
    assert_monotone(watcher.seen, size.sources)
    assert_same_for_all(crew, watcher)


def assert_same_for_all(crew: Crew, watcher: Watcher) -> None:
    followed = [each.done for each in watcher.followed]
    assert followed == sorted(followed)
    assert len(set(followed)) > 5, "too few events to say anything"
    variables = environment(crew.server, KG_API_URL=watcher.service.url)
    told = forked.run(["jobs", "show", watcher.job_id, "--json"], variables)
    rest = {name: value for name, value in watcher.seen[-1].items() if name != "status"}
    assert watcher.followed[-1].model_dump(mode="json") == json.loads(told.stdout) == rest


def assert_monotone(seen: list[dict[str, Any]], sources: int) -> None:
    assert {each["status"] for each in seen} == {200}
    done = [each["done"] for each in seen]
    assert done == sorted(done)
    assert len(set(done)) > 5, "too few polls to say anything"
    assert all(each["done"] <= each["total"] == sources for each in seen)
    assert (seen[-1]["state"], seen[-1]["done"], seen[-1]["total"]) == ("succeeded", sources, sources)


def test_repeatedly_dying_worker_fails_its_job(crew: Crew, graph: Graph, driver: neo4j.Driver) -> None:
    """If a text kills its worker, other jobs should be able to run. The other sources are embedded by a
    later backfill."""
    job_id = seed(graph, 2 * BATCH)
    for _ in range(2):
        victim = crew.hire(env={"KG_WORKER__MAX_FAILURES": "2"}, fault="die", place="embedding", at=1)
        victim.process.wait(60)
    crew.hire(env={"KG_WORKER__MAX_FAILURES": "2", "KG_WORKER__TICK_SECONDS": "1"})
    wait_until(lambda: find_job(graph, job_id).state is JobState.FAILED, 30)
    assert "was lost" in (find_job(graph, job_id).error or "")
    wait_until(lambda: graph.read("jobs/count", **COMPLETED)[0]["total"] == 1, 30)
    assert_all_embedded(driver, 2 * BATCH)

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.search import REMEMBERED_SECONDS
from kg_api.schemas.search import SourceHits
from tests.service.asking import embedded, ingest
from tests.support.cypher import rows
from tests.support.embedding import run_jobs

TEXTS = [f"This is the passage about topic{n}." for n in range(20)]
READERS = 3


@dataclass
class Readers:
    url: str
    pause: float
    """Number of seconds to wait between two searches."""
    answers: list[SourceHits] = field(default_factory=list[SourceHits])
    errors: list[str] = field(default_factory=list[str])
    stopping: threading.Event = field(default_factory=threading.Event)

    def read(self, number: int) -> None:
        with KgClient(self.url) as kg:
            while not self.stopping.wait(self.pause):
                try:
                    self.answers.append(kg.search_sources(f"topic{number}", mode="vector", limit=5))
                except Exception as error:  # noqa: BLE001 - whatever it is, the test tells it
                    self.errors.append(repr(error))


@contextmanager
def reading(url: str, pause: float) -> Generator[Readers]:
    readers = Readers(url, pause)
    threads = [threading.Thread(target=readers.read, args=(n,)) for n in range(READERS)]
    for thread in threads:
        thread.start()
    try:
        yield readers
    finally:
        readers.stopping.set()
        for thread in threads:
            thread.join()


def age_the_drop(driver: neo4j.Driver) -> None:
    rows(driver, "MATCH (e:EmbeddingSpace) SET e.dropping = e.dropping - duration({seconds: 60})")


@pytest.mark.parametrize(
    "pause", [pytest.param(0.1, id="often"), pytest.param(0.0, id="without a pause", marks=pytest.mark.full)]
)
def test_searches_continue_during_a_switch(
    http: httpx.Client, kg: KgClient, graph: Graph, driver: neo4j.Driver, pause: float
) -> None:
    embedded(graph, http, "\n\n".join(TEXTS))
    with reading(str(http.base_url), pause) as readers:
        kg.add_embedding_space("other", provider="deterministic", dimensions=64)
        kg.build_space("other")
        ingest(http, "A late passage about topic1 and topic2.", document="late.txt")
        run_jobs(graph)
        assert kg.check_space("other").ok
        kg.activate_space("other")
        time.sleep(1.2 * REMEMBERED_SECONDS)
        told = kg.rollback_space("other")
        assert told.seconds < 1, "HARDENING 2 (d)"
        time.sleep(1.2 * REMEMBERED_SECONDS)
        kg.rollback_space("default")
        time.sleep(1.2 * REMEMBERED_SECONDS)
        kg.drop_space("default")
        age_the_drop(driver)
        run_jobs(graph)
        time.sleep(REMEMBERED_SECONDS)
    assert readers.errors == []
    assert all(len(answer.spaces) == 1 and answer.sources for answer in readers.answers)
    assert all(hit.space == answer.space for answer in readers.answers for hit in answer.sources)
    order = [answer.space for answer in readers.answers]
    assert {"default", "other"} == set(order)
    assert order[0] == "default"
    assert order[-1] == "other"
    assert not any(answer.degraded for answer in readers.answers if answer.space == "other")

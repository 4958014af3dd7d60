"""Tests that new text is embedded before stale text, and stale text before concepts (G33). If a job has
to wait, you can see the reason."""

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import neo4j
import numpy as np
import pytest
from numpy.typing import NDArray

from kg_api.graph import jobs
from kg_api.graph.client import Graph
from kg_api.graph.concept_vectors import request_concepts
from kg_api.graph.document_writes import store_document
from kg_api.jobs.embedding import EmbeddingJob, SourceEmbedding, SpaceModel
from kg_api.jobs.runner import Runner
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.schemas.embedding import Regeneration
from kg_api.schemas.vocabulary import JobState
from kg_api.settings import WorkerSettings
from kg_api.spaces.registry import CachedPassages
from tests.process.jobs.crew import tell
from tests.support.cypher import rows
from tests.support.embedders import calibrates
from tests.support.embedding import configure_in_place, open_spaces
from tests.support.jobs import LEASE, request
from tests.support.kg import Kg
from tests.support.records import record
from tests.support.running import wait_until

BATCH = 16
ALL = ["source_embedding", "space_cleanup", "concept_extraction", "concept_embedding"]


class Recording(DeterministicEmbedder):
    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(256)
        self.batches: list[list[str]] = []
        self.times: list[float] = []
        self._seconds = seconds

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not calibrates(texts) and len(texts) > 1:
            self.batches.append([*texts])
            self.times.append(time.monotonic())
            time.sleep(self._seconds)
        return super().embed_passages(texts)


def runner(kg: Kg, name: str = "w", stopping: threading.Event | None = None, batch: int = BATCH) -> Runner:
    models = partial(SpaceModel, kg.spaces, CachedPassages(kg.graph, keeps=False), 1)
    handlers = [
        SourceEmbedding(kg.graph, kg.contexts, models, batch),
        EmbeddingJob(kg.graph, "concept", models, batch, lambda *_: 0),
    ]
    return Runner(kg.graph, handlers, WorkerSettings(), worker=name, stopping=stopping or threading.Event())


def do_all(kg: Kg) -> None:
    mine = runner(kg)
    while mine.run_one():
        pass


@contextmanager
def working(kg: Kg, batch: int = BATCH) -> Generator[None]:
    stopping = threading.Event()
    thread = threading.Thread(target=runner(kg, stopping=stopping, batch=batch).run_until_stopped)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


@pytest.fixture
def recording() -> Recording:
    return Recording()


@pytest.fixture
def kg(graph: Graph, recording: Recording) -> Generator[Kg]:
    made = Kg(graph, open_spaces(graph, recording))
    yield made
    made.spaces.close()


def paragraphs(count: int, about: str) -> list[str]:
    return [f"Source {number} about {about}, which nobody has read yet." for number in range(count)]


def many_concepts(kg: Kg, driver: neo4j.Driver, count: int) -> None:
    store_document(kg.graph, record("old.md", ["What was there before."], ontology="old"))
    do_all(kg)
    kg.graph.transaction(lambda tx: request_concepts(tx, "old"))
    rows(
        driver,
        "MATCH (s:Source {ontology: 'old'}) UNWIND range(1, $count) AS n "
        "CREATE (c:Concept {concept_id: 'concept-' + n, ontology: 'old', label: 'concept ' + n, "
        "description: '', search_terms: [], text_hash: 'hash ' + n})-[:APPEARS_IN]->(s)",
        count=count,
    )
    request(kg.graph, "old", added=count, kind="concept_embedding")


def embedded(driver: neo4j.Driver, label: str, ontology: str) -> int:
    query = f"MATCH (n:{label} {{ontology: $ontology}}) WHERE n.embedding IS NOT NULL RETURN count(n) AS n"
    return rows(driver, query, ontology=ontology)[0]["n"]


@dataclass(frozen=True)
class Size:
    sources: int
    concepts: int


SMALL = Size(60, 2_000)
FULL = pytest.param(Size(400, 20_000), id="full", marks=[pytest.mark.full, pytest.mark.timeout(1800)])


@pytest.mark.parametrize("size", [pytest.param(SMALL, id="short"), FULL])
def test_new_sources_are_embedded_before_pending_concepts(
    kg: Kg, driver: neo4j.Driver, recording: Recording, size: Size
) -> None:
    """If sources are added while a worker is embedding concepts, they should be embedded first."""
    many_concepts(kg, driver, size.concepts)
    recording.batches.clear()
    recording.times.clear()
    with working(kg):
        wait_until(lambda: len(recording.batches) > 2, 30)
        store_document(kg.graph, record("new.md", paragraphs(size.sources, "cranes"), ontology="new"))
        before, begun = len(recording.batches), time.monotonic()
        wait_until(lambda: embedded(driver, "Source", "new") == size.sources, 600)
        seconds = time.monotonic() - begun
        assert embedded(driver, "Concept", "old") < size.concepts, "they must have waited, to say anything"
        wait_until(lambda: embedded(driver, "Concept", "old") == size.concepts, 1800)
    of_sources = [at for at, texts in enumerate(recording.batches) if "cranes" in texts[0]]
    assert len(of_sources) == -(-size.sources // BATCH)
    assert of_sources == [*range(of_sources[0], of_sources[-1] + 1)], "none between theirs"
    assert of_sources[0] - before <= 1, "the batch at hand, and no further one"
    tell(f"{size.sources} sources were embedded within {seconds:.2f} s beside {size.concepts} concepts")


def test_new_text_precedes_stale_text_and_concepts(
    kg: Kg, driver: neo4j.Driver, recording: Recording
) -> None:
    many_concepts(kg, driver, 20)
    store_document(kg.graph, record("known.md", paragraphs(20, "herons")))
    do_all_of(kg, "notes")
    configure_in_place(kg.graph, "notes", strategy="sentence")
    asked = kg.requests.regenerate(Regeneration(ontology="notes"))
    store_document(kg.graph, record("new.md", paragraphs(20, "cranes")))
    recording.batches.clear()
    store_document(kg.graph, record("b.md", paragraphs(20, "gulls"), ontology="b"))
    do_all(kg)
    told = [_what(batch) for batch in recording.batches]
    assert list(dict.fromkeys(told)) == ["cranes", "gulls", "herons", "concept"]
    assert told == sorted(told, key=["cranes", "gulls", "herons", "concept"].index), told
    done = jobs.find_job(kg.graph, asked.ontologies[0].job_id or "")
    assert (done.state, done.done) == (JobState.SUCCEEDED, 40)


def do_all_of(kg: Kg, ontology: str) -> None:
    mine = runner(kg)
    while kg.configure.status(ontology).missing:
        mine.run_one()


def _what(batch: Sequence[str]) -> str:
    return next(word for word in ("cranes", "gulls", "herons", "concept") if word in batch[0])


def claim(graph: Graph, worker: str = "w", kinds: Sequence[str] = ALL) -> jobs.ClaimedJob | None:
    return jobs.claim(graph, worker, list(kinds), lease_seconds=LEASE, max_failures=5)


def owner(job: jobs.ClaimedJob, worker: str = "w") -> jobs.Owner:
    return jobs.Owner(job.job_id, worker, job.fence, LEASE)


def test_jobs_are_claimed_by_priority(graph: Graph) -> None:
    for kind in reversed(ALL):
        request(graph, kind, kind=kind)
    taken: list[str] = []
    while job := claim(graph):
        taken.append(job.kind)
        assert jobs.finish(graph, owner(job), wanted=job.wanted) is None
    assert taken == ALL


def test_concept_work_waits_for_running_source_embedding(graph: Graph) -> None:
    """There are two workers for two cores. If the second one is idle, it should not slow down the
    first."""
    request(graph, "a", kind="source_embedding")
    request(graph, "b", kind="concept_embedding")
    sources = claim(graph, "first")
    assert sources is not None
    assert claim(graph, "second") is None
    request(graph, "c", kind="source_embedding")
    assert claim(graph, "second", ["concept_embedding"]) is None, "whoever could take it"
    more = claim(graph, "second")
    assert more is not None
    for job, worker in ((sources, "first"), (more, "second")):
        assert jobs.finish(graph, owner(job, worker), wanted=job.wanted) is None
    concepts = claim(graph, "second")
    assert concepts is not None
    assert concepts.kind == "concept_embedding"


def test_job_waiting_for_a_provider_blocks_nothing(graph: Graph) -> None:
    request(graph, "a", kind="source_embedding")
    request(graph, "b", kind="concept_embedding")
    sources = claim(graph)
    assert sources is not None
    jobs.give_back(graph, owner(sources), error="waiting: it does not answer", delay_seconds=3600)
    concepts = claim(graph)
    assert concepts is not None
    assert not jobs.should_yield(graph, concepts, ALL)


def test_new_text_prioritizes_a_job_on_stale_text(graph: Graph) -> None:
    request(graph, "a", kind="source_embedding")
    job = claim(graph)
    assert job is not None
    assert jobs.lower(graph, owner(job), wanted=job.wanted, rank=1) == 1
    stale = replace(job, rank=1)
    assert not jobs.should_yield(graph, stale, ALL, over=False)
    request(graph, "a", kind="source_embedding")
    assert jobs.should_yield(graph, stale, ALL, over=False), "it yields to itself"
    asked = jobs.lower(graph, owner(job), wanted=job.wanted, rank=1)
    assert isinstance(asked, jobs.JobRequest)
    assert asked.wanted == 2, "what came in between is looked at first"


def divide(graph: Graph, parts: Sequence[str], error: str | None = None) -> jobs.ClaimedJob:
    """Divide a job into parts. It waits for an hour, or because of an error."""
    request(graph, "a", kind="source_embedding")
    whole = claim(graph)
    assert whole is not None
    jobs.add_parts(graph, owner(whole), whole.kind, "a", parts)
    jobs.give_back(graph, owner(whole), delay_seconds=3600, error=error)
    return whole


def test_parts_yield_to_their_whole_and_lower_it_together(graph: Graph, driver: neo4j.Driver) -> None:
    whole = divide(graph, ["0", "1"])
    held = [(claim(graph, worker), worker) for worker in ("w", "v")]
    parts = [(job, owner(job, worker)) for job, worker in held if job is not None]
    assert sorted(job.part for job, _ in parts) == ["0", "1"]
    assert not any(jobs.should_yield(graph, job, ALL) for job, _ in parts)
    ready = "MATCH (j:Job {job_id: $id}) SET j.run_after = datetime(), j.queued_at = datetime()"
    rows(driver, ready, id=whole.job_id)
    for (job, own), rank in zip(parts, (0, 1), strict=True):
        assert jobs.should_yield(graph, job, ALL)
        assert not jobs.should_yield(graph, job, ALL, over=False)
        assert jobs.lower(graph, own, wanted=job.wanted, rank=1) == 1
        stored = rows(driver, "MATCH (j:Job {job_id: $id}) RETURN j.rank AS rank", id=whole.job_id)
        assert stored == [{"rank": rank}], "the last part decides"


@pytest.mark.parametrize("error", [None, "waiting: it does not answer"])
def test_last_part_starts_its_whole_unless_that_waits_for_a_retry(graph: Graph, error: str | None) -> None:
    whole = divide(graph, ["0"], error)
    part = claim(graph)
    assert part is not None
    assert jobs.finish(graph, owner(part), wanted=part.wanted) is None
    started = claim(graph)
    assert (None if started is None else started.job_id) == (None if error else whole.job_id)

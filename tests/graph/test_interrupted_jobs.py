"""Tests that a job of each kind resumes at its cursor. Commits are interrupted before and after."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import neo4j
import pytest

from kg_api.discovery import proposals
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.jobs import extraction, runner
from kg_api.jobs.runner import JobRun
from tests.conftest import wipe
from tests.support.album import Album
from tests.support.cypher import rows
from tests.support.embedding import run_jobs
from tests.support.embedding_server import EmbeddingServer
from tests.support.extraction import (
    PARAGRAPHS,
    evidence,
    extract_concepts,
    run_extraction,
    settings_of,
    spent,
    texts_asked,
)
from tests.support.images import drawn, encoded
from tests.support.proposals import EARS, LEASE, OWLS, RENT, TAXES, Proposing
from tests.support.records import record

Work = Callable[[Graph, neo4j.Driver, Path], object]
DONE = "MATCH (j:Job {kind: $kind}) RETURN j.state AS state, j.done AS done, j.total AS total"


def embed_passages(graph: Graph, driver: neo4j.Driver, _: Path) -> object:
    store_document(graph, record("a.md", PARAGRAPHS))
    run_jobs(graph, batch_size=4)
    vectors = "MATCH (s:Source) RETURN s.paragraph AS at, s.embedding AS vector ORDER BY at"
    return rows(driver, vectors), rows(driver, DONE, kind="source_embedding")


def embed_images(graph: Graph, driver: neo4j.Driver, folder: Path) -> object:
    album = Album(graph, folder)
    for at in range(18):
        album.pictures.add(encoded(drawn(40 + at, 70)), f"{at}.png")
    album.work()
    album.close()
    vectors = "MATCH (s:Image) RETURN s.document AS at, s.embedding_default_images AS vector ORDER BY at"
    return rows(driver, vectors), rows(driver, DONE, kind="image_embedding")


def extract(graph: Graph, driver: neo4j.Driver, _: Path) -> object:
    with EmbeddingServer() as writer:
        writer.chat = extract_concepts
        store_document(graph, record("a.md", PARAGRAPHS))
        run_extraction(graph, settings_of(writer))
        asked = sorted(text for texts in texts_asked(writer) for text in texts)
    return evidence(driver), asked, round(spent(driver), 9), rows(driver, DONE, kind="concept_extraction")


def propose(graph: Graph, driver: neo4j.Driver, _: Path) -> object:
    notes = Proposing(graph)
    for at, text in enumerate((OWLS, EARS, TAXES, RENT, LEASE)):
        notes.add(f"{at}.md", text, f"{'abcde'[at] * 5} stands alone.", f"{'fghij'[at] * 5} is beside it.")
    notes.work()
    assert len(notes.all()) == 2
    unlinked = rows(driver, "MATCH (n:Unlinked) RETURN n")
    return [(each.proposal_id, each.score) for each in notes.all()], unlinked


def interrupt_commits(patch: pytest.MonkeyPatch, kind: str) -> Counter[str]:
    """Interrupt a kind of job at each position of its cursor, before the commit, and the next time after it.
    Failed jobs run again at once."""
    commit, tries = JobRun.commit, Counter[str]()

    def interrupting(run: JobRun, *given: Any, after: str, **named: Any) -> Any:
        if run.job.kind == kind:
            tries[after] += 1
        if run.job.kind == kind and tries[after] == 1:
            raise RuntimeError("interrupted before the commit")
        written = commit(run, *given, after=after, **named)
        if run.job.kind == kind and tries[after] == 2:
            raise RuntimeError("interrupted after the commit")
        return written

    patch.setattr(JobRun, "commit", interrupting)
    patch.setattr(runner, "retry_delay", lambda *_: 0.0)
    return tries


WORKS: dict[str, Work] = {
    "source_embedding": embed_passages,
    "image_embedding": embed_images,
    "concept_extraction": extract,
    "link_proposal": propose,
}


@pytest.mark.parametrize("kind", WORKS)
def test_interrupted_job_has_the_result_of_an_uninterrupted_one(
    graph: Graph, driver: neo4j.Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for module, size in ((proposals, "BATCH"), (extraction, "LLM_BATCH")):
        monkeypatch.setattr(module, size, 2)
    expected = WORKS[kind](graph, driver, tmp_path / "undisturbed")
    wipe(driver)
    tries = interrupt_commits(monkeypatch, kind)
    assert WORKS[kind](graph, driver, tmp_path / "interrupted") == expected
    assert sum(each > 1 for each in tries.values()) >= 3

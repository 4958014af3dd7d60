from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.folders import find_folder
from kg_api.graph.jobs import find_job
from kg_api.schemas.folders import Folder
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import PATIENCE, Crew, tell, until_owned
from tests.support.running import wait_until
from tests.support.sync import counts, documents, follow, put

FILES = 60


def filled(folder: Path, files: int) -> Path:
    put(folder, **{f"sub{n % 7}__note{n:03}": f"# Note {n}\n\nThis is note {n}.\n" for n in range(files)})
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path / "notes", FILES)


def until_scanned(graph: Graph, followed: str, results: dict[str, int]) -> Folder:
    def scanned() -> bool:
        folder = find_folder(graph, followed)
        return folder.last_scan is not None and counts(folder) == results

    wait_until(scanned, PATIENCE, lambda: str(find_folder(graph, followed)))
    return find_folder(graph, followed)


def assert_nothing_twice(graph: Graph, driver: neo4j.Driver, folder: Path) -> None:
    """Assert that there is a document for each file, and that each source is stored only once."""
    files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.md")}
    assert documents(graph) == files
    query = "MATCH (s:Source) RETURN s.document AS document, s.paragraph AS paragraph"
    places = Counter((row["document"], row["paragraph"]) for row in driver.execute_query(query).records)
    assert set(places.values()) == {1}
    assert {document for document, _ in places} == files.keys()


@pytest.mark.parametrize(
    "size",
    [pytest.param((2, 80), id="2 kills"), pytest.param((4, 200), id="4 kills", marks=pytest.mark.full)],
)
def test_kills_within_a_scan_lose_and_repeat_nothing(
    crew: Crew, graph: Graph, driver: neo4j.Driver, tmp_path: Path, size: tuple[int, int]
) -> None:
    kills, files = size
    dice, folder = random.Random(5), filled(tmp_path / "notes", files)
    followed = follow(graph, folder)
    job_id = find_folder(graph, followed).job_id
    assert job_id is not None
    seen = list[int]()
    for _ in range(kills):
        victim, before = crew.hire(), find_job(graph, job_id)
        until_owned(graph, job_id, other_than=before.worker)
        wait_until(lambda done=before.done: find_job(graph, job_id).done > done, PATIENCE)
        time.sleep(dice.uniform(0.05, 0.5))
        victim.kill()
        job = find_job(graph, job_id)
        assert job.state is JobState.RUNNING, "it missed: more files are needed"
        seen.append(job.done)
    crew.hire()
    after = until_scanned(graph, followed, {"added": files})
    wait_until(lambda: find_job(graph, job_id).state is JobState.SUCCEEDED, PATIENCE)
    tell(f"{kills} kills, done when killed: {seen}")
    assert seen == sorted(set(seen)), "each life got something done"
    assert (find_job(graph, job_id).done, find_job(graph, job_id).total) == (files, files)
    assert after.documents == files
    assert_nothing_twice(graph, driver, folder)


def test_worker_without_scans_leaves_folders_to_others(crew: Crew, graph: Graph, folder: Path) -> None:
    followed = follow(graph, folder)
    crew.hire_and_wait(env={"KG_SYNC__SCANS": "false"})
    time.sleep(1)
    assert find_folder(graph, followed).state is JobState.QUEUED
    crew.hire()
    until_scanned(graph, followed, {"added": FILES})

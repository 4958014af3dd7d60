"""Workers killed over pictures: each has the vector of what is seen on it, and none is lost."""

from __future__ import annotations

import random
import time
from pathlib import Path

import neo4j
import numpy as np
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.jobs import IMAGE_EMBEDDING, find_job, page_of_jobs
from kg_api.providers.pixels import HistogramEmbedder
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import Crew, tell, until_done, until_owned, until_progress
from tests.support.colour_grid import unpack
from tests.support.cypher import rows
from tests.support.images import drawn, encoded
from tests.support.picture_store import Pictures

VECTORS = "MATCH (s:Image) RETURN s.document AS name, s.embedding_default_images AS vector ORDER BY name"


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=[pytest.mark.full, pytest.mark.timeout(1200)])])
def test_kills_lose_no_picture(
    crew: Crew, graph: Graph, driver: neo4j.Driver, tmp_path: Path, kills: int
) -> None:
    pictures = 20 * max(kills, 3)
    dice, store = random.Random(18), Pictures(graph, tmp_path / "blobs")
    files = {f"{at:03}.png": encoded(drawn(40 + at, 70)) for at in range(pictures)}
    for name, content in files.items():
        store.add(content, name)
    (job,), _ = page_of_jobs(graph, state=None, kind=IMAGE_EMBEDDING, ontology=None, offset=0, limit=9)
    env = {"KG_BLOBS__FOLDER": str(store.folder)}
    for number in range(kills):
        before = find_job(graph, job.job_id)
        victim = crew.hire(env=env)
        until_owned(graph, job.job_id, other_than=before.worker)
        if number % 3 == 0:  # a job that comes no further five times in a row is given up, as it should be
            until_progress(graph, job.job_id, before.done + 1)
        time.sleep(dice.uniform(0.0, 0.6))
        victim.kill()
        tell(f"killed at {find_job(graph, job.job_id).done} of {pictures}")
    crew.hire(env=env)
    done = until_done(graph, job.job_id)
    assert (done.state, done.done, done.total) == (JobState.COMPLETED, pictures, pictures)
    found = {row["name"]: np.asarray(row["vector"], dtype=np.float32) for row in rows(driver, VECTORS)}
    assert found.keys() == files.keys()
    model = HistogramEmbedder()
    for name in sorted(files)[:: max(1, pictures // 20)]:
        expected = model.embed_images([unpack(files[name], model.rendering)])[0]
        assert float(expected @ found[name]) > 0.99, name

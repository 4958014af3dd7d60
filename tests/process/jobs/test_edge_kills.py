"""Workers killed over relationships: each has the vector of what it says, and none is lost."""

from __future__ import annotations

import random
import time

import neo4j
import numpy as np
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import EDGE_EMBEDDING, find_job, page_of_jobs
from kg_api.schemas.concepts import ExtractedRelation, Extraction
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import Crew, tell, until_done, until_owned, until_progress
from tests.support.concepts import extraction, found, quote, write
from tests.support.cypher import rows
from tests.support.embedders import small_embedder
from tests.support.records import record

VECTORS = (
    "MATCH ()-[r:RELATED_TO]->() RETURN r.statement + ': ' + r.quote AS text, r.embedding AS vector "
    "UNION ALL MATCH (t:RelationType) RETURN t.name AS text, t.embedding AS vector"
)


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=[pytest.mark.full, pytest.mark.timeout(1200)])])
def test_kills_lose_no_relationship(crew: Crew, graph: Graph, driver: neo4j.Driver, kills: int) -> None:
    dice, number = random.Random(19), 300 * kills
    document = record("a.md", [f"Part{at} of the engine drives wheel{at}." for at in range(number)])
    store_document(graph, document)
    for begin in range(0, number, 100):
        write(graph, *(_stating(document, at) for at in range(begin, begin + 100)))
    (job,), _ = page_of_jobs(graph, state=None, kind=EDGE_EMBEDDING, ontology=None, offset=0, limit=9)
    assert job.total == number
    rows(driver, "MATCH (j:Job) WHERE j.kind <> 'edge_embedding' DETACH DELETE j")
    for kill in range(kills):
        before = find_job(graph, job.job_id)
        victim = crew.hire()
        until_owned(graph, job.job_id, other_than=before.worker)
        if kill % 3 == 0:
            until_progress(graph, job.job_id, before.done + 1)
        time.sleep(dice.uniform(0.0, 0.4))
        victim.kill()
        tell(f"killed at {find_job(graph, job.job_id).done} of {number}")
    crew.hire()
    done = until_done(graph, job.job_id)
    assert done.state is JobState.COMPLETED
    stored = rows(driver, VECTORS)
    assert len(stored) == number + 2, "two types"
    expected = small_embedder().embed_passages([row["text"] for row in stored])
    assert np.allclose(np.asarray([row["vector"] for row in stored], dtype=np.float32), expected, atol=1e-6)


def _stating(document: DocumentRecord, at: int) -> Extraction:
    text = document.sources[at].full_text
    ends = (f"Part{at}", f"wheel{at}")
    kind = "drives" if at % 2 else "turns"
    concepts = [found(each, quote(text, each)) for each in ends]
    return extraction(document, at, *concepts, relations=(ExtractedRelation(ends[0], kind, ends[1]),))

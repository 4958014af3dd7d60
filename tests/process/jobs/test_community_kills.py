"""Workers killed while they write communities: what is shown is always one whole generation."""

from __future__ import annotations

import random
import time
from functools import partial

import neo4j
import pytest

from kg_api.discovery.communities import CommunityService
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import storing
from kg_api.graph.jobs import COMMUNITY_DETECTION, ensure_job, find_job
from kg_api.graph.proposals import write_configuration
from kg_api.schemas.proposals import ProposalConfig
from kg_api.schemas.vocabulary import JobState
from kg_api.settings import CommunitySettings
from tests.process.jobs.crew import Crew, tell, until_done, until_owned
from tests.support.concepts import labelled, write
from tests.support.cypher import rows
from tests.support.embedding import run_jobs
from tests.support.records import record

GENERATIONS = "MATCH (c:Community) RETURN count(DISTINCT c.generation) AS n"


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=[pytest.mark.full, pytest.mark.timeout(1200)])])
def test_kills_leave_the_generation_before(
    crew: Crew, graph: Graph, driver: neo4j.Driver, kills: int
) -> None:
    dice, groups = random.Random(19), 100 * kills
    for start in range(0, groups, 100):
        several = {at: record(f"{at}.md", [", ".join(labels(at))] * 2) for at in range(start, start + 100)}
        graph.transaction(storing([*several.values()]))
        write(graph, *(labelled(made, of, *labels(at)) for at, made in several.items() for of in (0, 1)))
    run_jobs(graph)
    rows(driver, "MATCH (j:Job) DETACH DELETE j")
    no_links = partial(write_configuration, ontology="notes", config=ProposalConfig(enabled=False))
    graph.transaction(no_links)  # else a worker may look for links of all of it first
    service = CommunityService(graph, CommunitySettings())
    job_id, _ = ensure_job(graph, COMMUNITY_DETECTION, "notes", total=1)
    for kill in range(kills):
        before = find_job(graph, job_id).worker
        victim = crew.hire()
        until_owned(graph, job_id, other_than=before)
        if kill % 3 == 2:  # five in a row that get nowhere would end the job, rightly
            until_done(graph, job_id, 60 + 10 * kills)
        else:
            time.sleep(dice.uniform(0.0, 1.5))
        victim.kill()
        shown = service.page("notes", level=0, parent=None, offset=0, limit=1000)
        assert shown.total in {0, groups}
        tell(f"killed; {shown.total} of {groups} shown")
        if find_job(graph, job_id).state is JobState.COMPLETED:
            job_id, _ = ensure_job(graph, COMMUNITY_DETECTION, "notes", total=1)
    crew.hire()
    assert until_done(graph, job_id, 60 + 10 * kills).state is JobState.COMPLETED
    shown = service.page("notes", level=0, parent=None, offset=0, limit=1000)
    assert (shown.total, {each.size for each in shown.communities}) == (groups, {3})
    assert rows(driver, GENERATIONS)[0]["n"] <= 2


def labels(at: int) -> list[str]:
    """Three names that only one group has; a number in letters, for digits are no name."""
    own = "".join("qrstuvwxyz"[int(digit)] for digit in f"{at:04}")
    return [f"{own}{each}" for each in "abc"]

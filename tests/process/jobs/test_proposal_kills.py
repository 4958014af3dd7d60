"""Workers killed while they look for links: each pair is proposed once, and none is lost."""

from __future__ import annotations

import random
import time
from functools import partial

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import storing
from kg_api.graph.jobs import LINK_PROPOSAL, ensure_job, find_job
from kg_api.graph.proposals import flag_again, write_configuration
from kg_api.schemas.proposals import ProposalConfig
from kg_api.schemas.vocabulary import JobState
from tests.process.jobs.crew import Crew, tell, until_done, until_owned
from tests.support.cypher import rows
from tests.support.embedding import run_jobs
from tests.support.records import record
from tests.support.running import wait_until

ENOUGH = ProposalConfig(min_similarity=0.3, min_contrast=0.05, max_open=10_000)
ENDS = "MATCH (p:Proposal) RETURN p.proposal_id AS id, COUNT { (p)-[:PROPOSES]->() } AS ends"


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=[pytest.mark.full, pytest.mark.timeout(1200)])])
def test_kills_lose_no_proposal(crew: Crew, graph: Graph, driver: neo4j.Driver, kills: int) -> None:
    dice, pairs = random.Random(19), 100 * kills
    texts = [(f"{at}{half}.md", words(at, half)) for at in range(pairs) for half in "ab"]
    graph.transaction(storing([record(name, [text]) for name, text in texts]))
    run_jobs(graph)
    rows(driver, "MATCH (j:Job) DETACH DELETE j")
    graph.transaction(partial(write_configuration, ontology="notes", config=ENOUGH))
    job_id, _ = ensure_job(graph, LINK_PROPOSAL, "notes", total=2 * pairs)
    for kill in range(kills):
        before = find_job(graph, job_id)
        victim = crew.hire()
        until_owned(graph, job_id, other_than=before.worker)
        if kill % 3 == 2:
            wait_until(lambda done=before.done: find_job(graph, job_id).done > done, 60)
        time.sleep(dice.uniform(0.0, 1.5))
        victim.kill()
        tell(f"killed at {find_job(graph, job_id).done} of {2 * pairs}")
    crew.hire()
    assert until_done(graph, job_id, 60 + 20 * kills).state is JobState.COMPLETED
    found = stored(driver)
    assert len(found) > 0.9 * pairs, "words of a few share a place in the small model's vectors"
    assert set(found.values()) == {2}
    assert rows(driver, "MATCH (n:Unlinked) RETURN n") == []
    rows(driver, "MATCH (p:Proposal) DETACH DELETE p")
    flag_again(graph, "notes")
    again, _ = ensure_job(graph, LINK_PROPOSAL, "notes", total=2 * pairs)
    assert until_done(graph, again, 60 + 20 * kills).state is JobState.COMPLETED
    assert stored(driver) == found, "as without kills"


def stored(driver: neo4j.Driver) -> dict[str, int]:
    """By proposal, how many ends it has."""
    return {row["id"]: row["ends"] for row in rows(driver, ENDS)}


def words(at: int, half: str) -> str:
    """Twelve words that only the two halves of a pair have, and some of its own."""
    own = " ".join(f"{half}{letters(at)}{n}" for n in "xyz")
    both = " ".join(f"{letters(at)}{n}" for n in "abcdefghijkl")
    return f"{own} {both}." if half == "a" else f"{' '.join(reversed(both.split()))} {own}."


def letters(at: int) -> str:
    """A number in letters, for digits say nothing to a reader."""
    return "".join("qrstuvwxyz"[int(digit)] for digit in str(at))

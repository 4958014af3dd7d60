"""Workers killed over kinds of jobs: nothing is lost, and nothing is there twice.

Passages have `test_kills.py`, concepts of a language model `test_extraction_kills.py`. Concepts and
relationships are embedded by the pass that embeds images.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import neo4j
import numpy as np
import pytest

from kg_api.discovery.communities import CommunityService
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import storing
from kg_api.graph.jobs import (
    COMMUNITY_DETECTION,
    IMAGE_EMBEDDING,
    LINK_PROPOSAL,
    ensure_job,
    find_job,
    page_of_jobs,
)
from kg_api.graph.proposals import flag_all_nodes
from kg_api.providers.pixels import HistogramEmbedder
from kg_api.schemas.operations import Job
from kg_api.schemas.vocabulary import JobState
from kg_api.settings import CommunitySettings
from tests.process.jobs.crew import Crew, tell, until_done, until_owned, until_progress
from tests.support.colour_grid import unpack
from tests.support.concepts import labelled, write
from tests.support.cypher import rows
from tests.support.embedding import run_jobs
from tests.support.images import drawn, encoded
from tests.support.picture_store import Pictures
from tests.support.records import record

PICTURES = "MATCH (s:Image) RETURN s.document AS name, s.embedding_default_images AS vector ORDER BY name"
PROPOSALS = "MATCH (p:Proposal) RETURN p.proposal_id AS id, COUNT { (p)-[:PROPOSES]->() } AS ends"
STORED = "MATCH (c:Community) RETURN count(*) AS n"


class Work:
    """Job with workers to kill, and the result to expect."""

    longest = 0.5
    """Maximum number of seconds to wait before a worker is killed."""

    def __init__(self, graph: Graph, driver: neo4j.Driver, folder: Path, kills: int) -> None:
        self.graph = graph
        self.driver = driver
        self.folder = folder
        self.kills = kills
        self.env = dict[str, str]()
        self.job_id = self.begin()

    def begin(self) -> str:
        raise NotImplementedError

    def get_on(self, kill: int, before: Job) -> None:
        """Let the worker make some progress, because the job would fail after five attempts without
        progress."""
        if kill % 3 == 0:
            until_progress(self.graph, self.job_id, before.done + 1)

    def after_kill(self) -> None:
        """Check the data that users can see while the job is running."""

    def check(self) -> None:
        raise NotImplementedError

    def only_job(self, kind: str) -> Job:
        (job,), _ = page_of_jobs(self.graph, state=None, kind=kind, ontology=None, offset=0, limit=9)
        return job

    def embed_all(self) -> None:
        run_jobs(self.graph)
        rows(self.driver, "MATCH (j:Job) DETACH DELETE j")


class Images(Work):
    def begin(self) -> str:
        store = Pictures(self.graph, self.folder / "blobs")
        self.env = {"KG_BLOBS__FOLDER": str(store.folder)}
        self.files = {f"{at:03}.png": encoded(drawn(40 + at, 70)) for at in range(20 * max(self.kills, 3))}
        for name, content in self.files.items():
            store.add(content, name)
        return self.only_job(IMAGE_EMBEDDING).job_id

    def check(self) -> None:
        done = find_job(self.graph, self.job_id)
        assert (done.done, done.total) == (len(self.files), len(self.files))
        stored = rows(self.driver, PICTURES)
        vectors = {row["name"]: np.asarray(row["vector"], dtype=np.float32) for row in stored}
        assert vectors.keys() == self.files.keys()
        model = HistogramEmbedder()
        for name in sorted(self.files)[:: max(1, len(self.files) // 20)]:
            expected = model.embed_images([unpack(self.files[name], model.rendering)])[0]
            assert float(expected @ vectors[name]) > 0.99, name


class Proposals(Work):
    def begin(self) -> str:
        self.pairs = 100 * self.kills
        texts = [(f"{at}{half}.md", self._words(at, half)) for at in range(self.pairs) for half in "ab"]
        self.graph.transaction(storing([record(name, [text]) for name, text in texts]))
        self.embed_all()
        enough = {"MIN_SIMILARITY": "0.3", "MIN_CONTRAST": "0.05", "MAX_OPEN": "10000"}
        self.env = {f"KG_PROPOSALS__{name}": value for name, value in enough.items()}
        return ensure_job(self.graph, LINK_PROPOSAL, "notes", total=2 * self.pairs)[0]

    def _words(self, at: int, half: str) -> str:
        """Return twelve words that are only used in the two texts of a pair, and some that are only used
        in one of them."""
        own = " ".join(f"{half}{in_letters(str(at))}{n}" for n in "xyz")
        both = [f"{in_letters(str(at))}{n}" for n in "abcdefghijkl"]
        return f"{own} {' '.join(both)}." if half == "a" else f"{' '.join(reversed(both))} {own}."

    def _stored(self) -> dict[str, int]:
        return {row["id"]: row["ends"] for row in rows(self.driver, PROPOSALS)}

    def check(self) -> None:
        stored = self._stored()
        assert len(stored) > 0.9 * self.pairs, "words of a few share a place in the small model's vectors"
        assert set(stored.values()) == {2}
        assert rows(self.driver, "MATCH (n:Unlinked) RETURN n") == []
        rows(self.driver, "MATCH (p:Proposal) DETACH DELETE p")
        flag_all_nodes(self.graph, "notes")
        again, _ = ensure_job(self.graph, LINK_PROPOSAL, "notes", total=2 * self.pairs)
        until_done(self.graph, again, 60 + 20 * self.kills)
        assert self._stored() == stored, "as without kills"


class Communities(Work):
    longest = 1.5

    def begin(self) -> str:
        self.groups = 100 * self.kills
        self.service = CommunityService(self.graph, CommunitySettings())
        for start in range(0, self.groups, 100):
            at_once = range(start, start + 100)
            several = {at: record(f"{at}.md", [", ".join(self._labels(at))] * 2) for at in at_once}
            self.graph.transaction(storing([*several.values()]))
            concepts = (
                labelled(made, of, *self._labels(at)) for at, made in several.items() for of in (0, 1)
            )
            write(self.graph, *concepts)
        self.embed_all()
        # Otherwise a worker may search for links first
        self.env = {"KG_PROPOSALS__ENABLED": "false"}
        return self._detect()

    def _detect(self) -> str:
        return ensure_job(self.graph, COMMUNITY_DETECTION, "notes", total=1)[0]

    def _labels(self, at: int) -> list[str]:
        return [f"{in_letters(f'{at:04}')}{each}" for each in "abc"]

    def get_on(self, kill: int, before: Job) -> None:
        if kill % 3 == 2:
            until_done(self.graph, before.job_id, 60 + 10 * self.kills)

    def after_kill(self) -> None:
        shown = self.service.list_communities("notes", offset=0, limit=1000)
        assert shown.total in {0, self.groups}
        if find_job(self.graph, self.job_id).state is JobState.SUCCEEDED:
            self.job_id = self._detect()

    def check(self) -> None:
        shown = self.service.list_communities("notes", offset=0, limit=1000)
        assert (shown.total, {each.size for each in shown.communities}) == (self.groups, {3})
        assert rows(self.driver, STORED)[0]["n"] == self.groups


def in_letters(number: str) -> str:
    """Return a number as letters, because digits are not used for extraction."""
    return "".join("qrstuvwxyz"[int(digit)] for digit in number)


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=[pytest.mark.full, pytest.mark.timeout(1200)])])
@pytest.mark.parametrize("kind", [Images, Proposals, Communities])
def test_kills_lose_nothing_and_leave_nothing_twice(
    crew: Crew, graph: Graph, driver: neo4j.Driver, kind: type[Work], kills: int
) -> None:
    dice, work = random.Random(19), kind(graph, driver, crew.folder, kills)
    for kill in range(kills):
        before = find_job(graph, work.job_id)
        victim = crew.hire(env=work.env)
        until_owned(graph, work.job_id, other_than=before.worker)
        work.get_on(kill, before)
        time.sleep(dice.uniform(0.0, work.longest))
        victim.kill()
        tell(f"killed at {find_job(graph, work.job_id).done} of {before.total}")
        work.after_kill()
    crew.hire(env=work.env)
    until_done(graph, work.job_id, 60 + 20 * kills)
    work.check()

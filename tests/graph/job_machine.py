import random
from typing import Any

import neo4j
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kg_api.errors import Conflict, LeaseLost
from kg_api.graph import jobs
from kg_api.graph.client import Graph, Transaction
from kg_api.schemas.vocabulary import Selection
from tests.conftest import wipe
from tests.graph.job_model import MAX_FAILURES, UNFINISHED, Hold, Model, ModelJob
from tests.support.cypher import rows

LEASE = 3600.0
PARTS = ["a:b", "b:c"]
STORED = (
    "MATCH (j:Job) RETURN j.job_id AS job_id, j.state AS state, j.fence AS fence, j.attempts AS attempts, "
    "j.failures AS failures, j.cursor AS cursor, j.done AS done, j.total AS total, j.set_aside AS set_aside, "
    "j.selection AS selection, j.forced_at IS NOT NULL AS forced, j.unique_key IS NOT NULL AS holds_key, "
    "j.error IS NOT NULL AS troubled"
)
PARTS_OF = "MATCH (j:Job {parent_id: $id}) RETURN j.job_id AS job_id, j.part AS part ORDER BY part"
SEEDS = st.integers(min_value=0, max_value=10**6)
ACTIONS = (
    *("request", "claim", "claim", "heartbeat", "advance", "advance", "finish", "fail", "yield_job"),
    *("divide", "take_over", "crash", "cancel", "retry"),
)
NEEDS_NO_HOLD = {"request", "claim", "cancel", "retry"}


class Machine(RuleBasedStateMachine):
    """State machine that applies each action to the database and to the model."""

    def __init__(self, graph: Graph, driver: neo4j.Driver) -> None:
        super().__init__()
        self.graph, self.driver = graph, driver
        self.model = Model()
        self.holds: list[Hold] = []
        self.chance = random.Random()
        self.batches = 0
        self.shown: dict[str, int] = {}
        wipe(driver)

    @initialize(seed=SEEDS)
    def begin(self, seed: int) -> None:
        for place, what in enumerate(("request", "claim", "request", "request", "claim")):
            self.step(what, seed + place)

    @rule(what=st.sampled_from(ACTIONS), seed=SEEDS)
    def step(self, what: str, seed: int) -> None:
        """Run any action. This is a single rule, because Hypothesis would not use most of the rules in
        most runs."""
        self.chance = random.Random(seed)
        getattr(self, what if self.holds or what in NEEDS_NO_HOLD else "claim")()

    def request(self) -> None:
        ontology = self.chance.choice(["o1", "o2", "o3"])
        selection: Selection = self.chance.choice(["due", "missing", "stale"])
        force = self.chance.random() < 1 / 4

        def work(tx: Transaction) -> str:
            return jobs.request_job(tx, "test", ontology, added=1, selection=selection, force=force)

        self.model.request(self.graph.transaction(work), ontology, selection, force=force)

    def claim(self) -> None:
        worker = self.chance.choice(["w1", "w2", "w3"])
        expected = self.model.first(worker)
        job = jobs.claim(self.graph, worker, ["test"], lease_seconds=LEASE, max_failures=MAX_FAILURES)
        if job is None:
            assert expected == set()
            return
        assert job.job_id in expected
        hold = self.model.take(job.job_id, worker)
        assert (job.state == "failed") == (hold is None)
        if hold is not None:
            assert (job.fence, job.cursor, job.wanted) == (hold.fence, hold.cursor, hold.wanted)
            self.holds.append(hold)

    def heartbeat(self) -> None:
        hold = self.hold()
        if self.tried(hold, lambda owner: jobs.heartbeat(self.graph, owner)):
            hold.job.lapsed = False

    def advance(self) -> None:
        hold, self.batches = self.hold(), self.batches + 1
        after, done, times = str(self.batches), self.chance.randint(0, 3), self.chance.randint(1, 2)
        set_aside = int(done > 1 and self.chance.random() < 1 / 4)

        def commit(owner: jobs.Owner) -> None:
            for _ in range(times):
                self.graph.transaction(
                    lambda tx: jobs.advance(
                        tx, owner, before=hold.cursor, after=after, done=done, set_aside=set_aside
                    )
                )

        if self.tried(hold, commit, also=hold.cursor == hold.job.cursor):
            self.model.advance(hold.job, after, done, set_aside)
            self.replace(hold, Hold(hold.job, hold.worker, hold.fence, after, hold.wanted))

    def finish(self) -> None:
        hold = self.hold()
        twice, asked = self.chance.random() < 1 / 2, list[jobs.JobRequest | None]()

        def end(owner: jobs.Owner) -> None:
            asked.append(jobs.finish(self.graph, owner, wanted=hold.wanted))
            if twice and asked[0] is None:
                assert jobs.finish(self.graph, owner, wanted=hold.wanted) is None

        ended = hold.job.state.startswith("succeeded") and hold.job.fence == hold.fence
        if ended or not self.tried(hold, end):
            return
        if asked[0] is None:
            assert hold.wanted == hold.job.wanted
            self.model.finish(hold.job)
        else:
            assert asked[0].wanted == hold.job.wanted
            hold.job.cursor = ""
            self.replace(hold, Hold(hold.job, hold.worker, hold.fence, "", hold.job.wanted))

    def fail(self) -> None:
        later, permanent = self.chance.random() < 1 / 2, self.chance.random() < 1 / 4
        hold = self.hold()
        state = jobs.fail(
            self.graph,
            self.owner(hold),
            "E: x",
            delay_seconds=3600 * later,
            max_failures=MAX_FAILURES,
            permanent=permanent,
        )
        if not hold.is_good:
            assert state == "lost"
            return
        job = hold.job
        job.failures, job.troubled = job.failures + 1, True
        dead = permanent or job.failures >= MAX_FAILURES
        assert state == ("failed" if dead else "queued")
        if dead:
            self.model.end(job, "failed")
        else:
            self.model.requeue(job, ready=not later)

    def yield_job(self) -> None:
        self.yield_job_of(self.hold(), self.chance.choice(["release", "yield_job", "pause", "wait"]))

    def yield_job_of(self, hold: Hold, how: str) -> None:
        owner, good, place = self.owner(hold), hold.is_good, hold.job.queued
        match how:
            case "release":
                jobs.give_back(self.graph, owner, keeps_place=True)
            case "wait":
                jobs.give_back(self.graph, owner, error="waiting", delay_seconds=3600)
            case _:
                jobs.give_back(self.graph, owner, delay_seconds=3600 * (how == "pause"))
        if good:
            self.model.requeue(hold.job, ready=how in {"release", "yield_job"})
            hold.job.queued = place if how == "release" else hold.job.queued
            hold.job.troubled = how == "wait" or (hold.job.troubled and how != "pause")

    def divide(self) -> None:
        """Divide a job. It will wait for its parts, and the worker can claim another job."""
        hold = self.hold()
        if hold.job.parent is None and self.tried(
            hold, lambda owner: jobs.add_parts(self.graph, owner, "test", hold.job.ontology, PARTS)
        ):
            self.learn_parts(hold.job)
            self.yield_job_of(hold, "pause")
            self.claim()

    def take_over(self) -> None:
        """Let another worker take over the job of a worker that does not respond."""
        self.expire(self.hold().job)
        self.claim()

    def expire(self, job: ModelJob) -> None:
        if job.state == "running":
            job.lapsed = True
            late = "datetime.realtime() - duration('PT1S')"
            rows(self.driver, f"MATCH (j:Job {{job_id: $id}}) SET j.lease_until = {late}", id=job.job_id)

    def crash(self) -> None:
        gone = self.hold().worker
        self.holds = [hold for hold in self.holds if hold.worker != gone]
        for job in self.model.jobs.values():
            if job.worker == gone:
                self.expire(job)

    def cancel(self) -> None:
        job = self.job()
        if job.state in UNFINISHED or job.state == "cancelled":
            assert jobs.cancel_job(self.graph, job.job_id).state == "cancelled"
            self.model.end(job, "cancelled")
        else:
            with pytest.raises(Conflict):
                jobs.cancel_job(self.graph, job.job_id)

    def retry(self) -> None:
        job = self.job()
        if not self.model.may_retry(job):
            with pytest.raises(Conflict):
                jobs.retry_job(self.graph, job.job_id)
            return
        shown = jobs.retry_job(self.graph, job.job_id).state
        assert shown in {"queued", "running"}, "a whole runs as long as its parts do"
        if job.state != "queued":
            self.model.retry(job)
            self.shown[job.job_id] = job.done
        elif not job.ready:
            self.model.requeue(job)

    @invariant()
    def the_database_is_as_the_model(self) -> None:
        stored = {row["job_id"]: row for row in rows(self.driver, STORED)}
        assert stored == {job.job_id: expected(job) for job in self.model.jobs.values()}

    @invariant()
    def nobody_owns_what_another_owns(self) -> None:
        owners = [hold.job.job_id for hold in self.holds if hold.is_good]
        assert len(owners) == len(set(owners))

    @invariant()
    def progress_never_falls_and_is_never_above_its_total(self) -> None:
        for row in rows(self.driver, STORED):
            assert self.shown.get(row["job_id"], 0) <= row["done"] <= row["total"]
            self.shown[row["job_id"]] = row["done"]

    def hold(self) -> Hold:
        """Choose a lease to use. Most of them are current, because the earlier leases have usually been
        lost."""
        good = [each for each in self.holds if each.is_good]
        fenced = [each for each in self.holds if each.job.state == "running" and each not in good]
        for chosen in (good, fenced):
            if chosen and self.chance.random() < 3 / 4:
                return self.chance.choice(chosen)
        return self.chance.choice(self.holds)

    def job(self) -> ModelJob:
        return self.chance.choice([*self.model.jobs.values()])

    def owner(self, hold: Hold) -> jobs.Owner:
        return jobs.Owner(hold.job.job_id, hold.worker, hold.fence, LEASE)

    def tried(self, hold: Hold, action: Any, *, also: bool = True) -> bool:
        """Run an operation that is only allowed for the owner, and return whether it was successful."""
        if hold.is_good and also:
            action(self.owner(hold))
            return True
        with pytest.raises(LeaseLost):
            action(self.owner(hold))
        return False

    def replace(self, old: Hold, new: Hold) -> None:
        self.holds[self.holds.index(old)] = new

    def learn_parts(self, job: ModelJob) -> None:
        """Read the ids of the new parts. All of them have the same position."""
        place = next(self.model.clock)
        for row in rows(self.driver, PARTS_OF, id=job.job_id):
            known = self.model.jobs
            if row["job_id"] not in known:
                known[row["job_id"]] = ModelJob(
                    row["job_id"],
                    job.ontology,
                    place,
                    parent=job,
                    part=row["part"],
                    selection=job.selection,
                    forced=job.forced,
                )


def expected(job: ModelJob) -> dict[str, Any]:
    names = ("job_id", "state", "fence", "attempts", "failures", "cursor", "done", "total", "set_aside")
    row = {name: getattr(job, name) for name in names}
    return row | {
        "selection": job.selection,
        "forced": job.forced,
        "troubled": job.troubled,
        "holds_key": job.state in UNFINISHED,
    }

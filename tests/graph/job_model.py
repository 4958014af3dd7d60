from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

UNFINISHED = {"queued", "running"}
MAX_FAILURES = 3


@dataclass
class ModelJob:
    job_id: str
    ontology: str
    queued: int
    parent: ModelJob | None = None
    part: str = ""
    selection: str = "due"
    forced: bool = False
    state: str = "queued"
    ready: bool = True
    worker: str | None = None
    lapsed: bool = False
    fence: int = 0
    attempts: int = 0
    failures: int = 0
    cursor: str = ""
    wanted: int = 0
    done: int = 0
    total: int = 0
    set_aside: int = 0
    troubled: bool = False
    """If a queued job has an error, it waits for a retry and not for its parts."""

    @property
    def key(self) -> tuple[str, ...]:
        """Unique key of a job that has not finished. If a part has ended, its key can be used again for a
        new part."""
        return (self.parent.job_id, self.part) if self.parent else (self.ontology,)

    def is_lost_to(self, worker: str) -> bool:
        return self.state == "running" and (self.lapsed or self.worker == worker)


@dataclass(frozen=True)
class Hold:
    job: ModelJob
    worker: str
    fence: int
    cursor: str
    wanted: int

    @property
    def is_good(self) -> bool:
        return self.job.state == "running" and self.job.fence == self.fence


@dataclass
class Model:
    jobs: dict[str, ModelJob] = field(default_factory=dict[str, ModelJob])
    clock: count[int] = field(default_factory=count)

    def unfinished(self, *key: str) -> ModelJob | None:
        held = [j for j in self.jobs.values() if j.state in UNFINISHED and j.key == key]
        assert len(held) <= 1
        return held[0] if held else None

    def parts(self, job: ModelJob) -> list[ModelJob]:
        return [each for each in self.jobs.values() if each.parent is job]

    def unfinished_parts(self, job: ModelJob) -> list[ModelJob]:
        return [each for each in self.parts(job) if each.state in UNFINISHED]

    def first(self, worker: str) -> set[str]:
        """List the jobs that a worker is allowed to claim now."""
        lost = {j.job_id for j in self.jobs.values() if j.is_lost_to(worker)}
        ready = [j for j in self.jobs.values() if j.state == "queued" and j.ready]
        if lost or not ready:
            return lost
        running = [j.ontology for j in self.jobs.values() if j.state == "running"]
        best = min((running.count(j.ontology), j.queued) for j in ready)
        return {j.job_id for j in ready if (running.count(j.ontology), j.queued) == best}

    def request(self, job_id: str, ontology: str, selection: str, *, force: bool) -> None:
        job = self.unfinished(ontology)
        if job is None:
            assert job_id not in self.jobs
            job = self.jobs[job_id] = ModelJob(job_id, ontology, next(self.clock), selection=selection)
        assert job.job_id == job_id
        job.selection = selection if job.selection == selection else "due"
        job.forced, job.wanted, job.total = job.forced or force, job.wanted + 1, job.total + 1

    def take(self, job_id: str, worker: str) -> Hold | None:
        """Claim a job. If it fails because this was the last attempt, return None."""
        job = self.jobs[job_id]
        lost = job.state == "running" and job.worker != worker
        job.failures, job.troubled = job.failures + lost, job.troubled or lost
        job.fence, job.attempts = job.fence + 1, job.attempts + 1
        job.state, job.worker, job.lapsed = "running", worker, False
        if job.failures >= MAX_FAILURES:
            self.end(job, "failed")
            return None
        return Hold(job, worker, job.fence, job.cursor, job.wanted)

    def end(self, job: ModelJob, state: str) -> None:
        job.state, job.lapsed, job.troubled = state, False, not state.startswith("succeeded")
        for part in self.unfinished_parts(job):
            part.state, part.lapsed, part.troubled = "cancelled", False, True

    def advance(self, job: ModelJob, cursor: str, done: int, set_aside: int) -> None:
        for each in [job, job.parent] if job.parent else [job]:
            each.done, each.set_aside = each.done + done, each.set_aside + set_aside
            each.total = max(each.total, each.done)
        job.cursor, job.failures, job.lapsed, job.troubled = cursor, 0, False, False

    def finish(self, job: ModelJob) -> None:
        job.total, job.cursor = job.done, ""
        self.end(job, "succeeded_with_errors" if job.set_aside else "succeeded")
        whole = job.parent
        if whole and whole.state == "queued" and not (whole.troubled or self.unfinished_parts(whole)):
            whole.ready, whole.queued = True, next(self.clock)

    def requeue(self, job: ModelJob, *, ready: bool = True) -> None:
        job.state, job.worker, job.lapsed = "queued", None, False
        job.ready, job.queued = ready, next(self.clock)

    def retry(self, job: ModelJob) -> None:
        job.done, job.set_aside, job.failures, job.cursor = max(0, job.done - job.set_aside), 0, 0, ""
        job.troubled = False
        self.requeue(job)

    def may_retry(self, job: ModelJob) -> bool:
        if job.state == "queued":
            return True
        if job.state not in {"failed", "cancelled", "succeeded_with_errors"}:
            return False
        if job.parent is not None and job.parent.state not in UNFINISHED:
            return False
        return self.unfinished(*job.key) is None

"""Worker process with a test's model, jobs, and faults.

The argument is a `Plan` in JSON. Results are files in the plan's folder.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from apscheduler.schedulers import base as scheduler

from kg_api import container, worker
from kg_api.container import Container
from kg_api.errors import EmbeddingFailed
from kg_api.graph import jobs
from kg_api.graph.client import Graph, Transaction
from kg_api.jobs.runner import JobRun
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.providers.embedding_port import Vectors
from kg_api.settings import Settings, load_settings
from tests.support.embedders import calibrates

Place = Literal["embedding", "before_cursor", "before_commit", "after_commit"]
Fault = Literal["raise", "die", "freeze"]
Stuck = Literal["looping", "hanging"]
"""Handler that checks if it should stop between the steps, or never."""

TEST_KIND = "test"


@dataclass(frozen=True)
class Plan:
    folder: str
    """Output folder, shared by the workers of a test."""
    seconds_a_batch: float = 0.0
    fault: Fault | None = None
    place: Place = "embedding"
    at: int = 0
    """Which batch of this process has the fault, from 1."""
    intervals: bool = False
    """Run `test` jobs only and record their owners after the file `go` exists."""

    stuck: Stuck | None = None
    """Run `test` jobs only, without progress."""
    refuses: str = ""
    """Rejected text. Its batch is rejected as well."""
    clock: float = 0.0
    """How many seconds its clock is ahead."""

    def as_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass
class Faults:
    plan: Plan
    seen: int = 0
    notes: Path = field(init=False)

    def __post_init__(self) -> None:
        self.notes = Path(self.plan.folder) / f"faults-{os.getpid()}"

    def pass_by(self, place: Place) -> None:
        if place != self.plan.place or self.plan.fault is None:
            return
        self.seen += 1
        if self.seen != self.plan.at:
            return
        self.notes.write_text(place)
        if self.plan.fault == "raise":
            raise RuntimeError(f"a fault of the test {place}")
        os.kill(os.getpid(), signal.SIGKILL if self.plan.fault == "die" else signal.SIGSTOP)


class RecordingEmbedder(DeterministicEmbedder):
    def __init__(self, plan: Plan, faults: Faults) -> None:
        super().__init__()
        self._plan = plan
        self._faults = faults

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if calibrates(texts):
            return super().embed_passages(texts)
        note(self._plan, "embedded", list(texts))
        self._faults.pass_by("embedding")
        if self._plan.refuses and any(self._plan.refuses in text for text in texts):
            raise EmbeddingFailed(f"the model does not take {self._plan.refuses!r}")
        time.sleep(self._plan.seconds_a_batch)
        return super().embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        return DeterministicEmbedder().embed_query(text)


class Intervals:
    """Handles jobs of kind `test`: it owns each for a moment, and writes from when to when."""

    kind = TEST_KIND

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def run(self, run: JobRun) -> None:
        claimed = time.monotonic_ns()
        run.checkpoint()
        run.commit(lambda _: None, after="done", done=1)
        time.sleep(0.01)
        note(self._plan, "intervals", [run.job.job_id, claimed, time.monotonic_ns()])
        run.finish()


class StuckHandler:
    """Handler for `test` jobs. Jobs of the ontology `fine` end at once, others never."""

    kind = TEST_KIND

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def run(self, run: JobRun) -> None:
        while run.job.ontology != "fine":
            time.sleep(0.05)
            if self._plan.stuck == "looping":
                run.checkpoint()
        run.commit(lambda _: None, after="done", done=1)
        run.finish()


def note(plan: Plan, name: str, entry: Any) -> None:
    """Write a line that survives the death of this process."""
    path = Path(plan.folder) / f"{name}-{os.getpid()}.jsonl"
    with path.open("ab", buffering=0) as file:
        file.write(json.dumps(entry).encode() + b"\n")


def main(plan: Plan) -> None:
    if plan.clock:
        note(plan, "clock", move_clock(plan.clock))
    faults = Faults(plan)
    worker.open_container = partial(_open, plan, faults)
    jobs.advance = _around_advance(jobs.advance, faults)
    Graph.transaction = _around_commit(Graph.transaction, faults)
    worker.work(load_settings())


def _open(plan: Plan, faults: Faults, settings: Settings, *, needs_embedder: bool) -> Container:
    own = plan.intervals or plan.stuck
    if not own:
        container.open_metered = lambda *_: RecordingEmbedder(plan, faults)
    opened = container.open_container(settings, needs_embedder=needs_embedder)
    if not own:
        return opened
    if plan.intervals:
        _wait_at_barrier(Path(plan.folder))
    handler = StuckHandler(plan) if plan.stuck else Intervals(plan)
    opened.handlers = lambda: [handler]
    return opened


def _wait_at_barrier(folder: Path) -> None:
    (folder / f"ready-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.001)


def _around_advance(advance: Callable[..., None], faults: Faults) -> Callable[..., None]:
    def faulty(tx: Transaction, owner: jobs.Owner, **places: Any) -> None:
        faults.pass_by("before_cursor")
        advance(tx, owner, **places)
        faults.pass_by("before_commit")

    return faulty


def _around_commit(transaction: Callable[..., Any], faults: Faults) -> Callable[..., Any]:
    def faulty(graph: Graph, work: Callable[[Transaction], Any]) -> Any:
        result = transaction(graph, work)
        if work.__qualname__ == "JobRun.commit.<locals>.batch":
            faults.pass_by("after_commit")
        return result

    return faulty


def run() -> None:
    main(Plan(**json.loads(sys.argv[1])))


MOVED = ("kg_api", "apscheduler", "structlog", "neo4j")
"""Packages that use `datetime` by its own name."""

_time, _datetime = time.time, dt.datetime


def move_clock(seconds: float) -> list[float]:
    """Let what is imported so far believe that it is so much later than it is; give two clocks' moves."""

    class AnyDatetime(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, _datetime)

    class Datetime(_datetime, metaclass=AnyDatetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Datetime:
            return cls.fromtimestamp(time.time(), tz)

    time.time = lambda: _time() + seconds
    time.time_ns = lambda: int(time.time() * 1e9)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in MOVED:
            for held in [key for key, value in vars(module).items() if value is _datetime]:
                setattr(module, held, Datetime)
    seen = (time.time(), scheduler.datetime.now(dt.UTC).timestamp())
    return [each - _time() for each in seen]

"""What makes the storm: a killer of workers and Neo4j, a changer of documents, and a clock beside them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from neo4j.exceptions import DriverError, Neo4jError

from benchmarks.storm.stage import Stage
from kg_api.client import KgClient
from kg_api.errors import KgError, NotFound
from kg_api.local import processes
from kg_api.schemas.base import build_document_id

ONTOLOGY = "storm"
LOOK_SECONDS = 0.2
FEWEST_DOCUMENTS = 3
EVILNESS = 0.8
"""How often the killer waits for a worker that has a job."""
LONGEST_EVIL_SECONDS = 60.0
"""How long it waits for one."""

OWNED = "MATCH (j:Job {state: 'running'}) RETURN j.job_id AS id, j.worker AS worker, j.fence AS fence"
NOW = "MATCH (j:Job) WHERE j.job_id IN $ids RETURN j.job_id AS id, j.state AS state, j.fence AS fence"


@dataclass
class Loss:
    """A job whose worker was killed."""

    job_id: str
    fence: int
    at: float
    recovered: float | None = None
    """Seconds until it ran elsewhere or had ended."""
    beside_a_free_worker: float = 0.0
    """Seconds of these during which another worker looked for jobs and had none."""
    database_away: bool = False
    """Neo4j was away in between, so that the bound for a lease does not hold."""


class Background:
    """A thread that does something again and again until the context ends."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=type(self).__name__)
        self.broken: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._thread.join()
        if self.broken is not None:
            raise self.broken

    def step(self) -> float:
        """Do it once; give the seconds until the next time."""
        raise NotImplementedError

    def _run(self) -> None:
        try:
            while not self.ended.wait(self.step()):
                pass
        except BaseException as error:  # noqa: BLE001 - the border of a thread: raised where it is joined
            self.broken = error


class Clock(Background):
    """Measures how long jobs of killed workers wait for another."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage
        self.losses: list[Loss] = []
        self.away: list[float] = []
        """Seconds that Neo4j was away, each time."""
        self._away_since: float | None = None
        self._looked_at = time.monotonic()

    def lost(self, pid: int) -> int:
        """Note the jobs of a worker that was just killed; how many."""
        with suppress(DriverError, Neo4jError):
            owned = [row for row in self._stage.rows(OWNED) if f"-{pid}-" in (row["worker"] or "")]
            self.losses += [Loss(row["id"], row["fence"], time.monotonic()) for row in owned]
            return len(owned)
        return 0

    @property
    def waiting(self) -> list[Loss]:
        """Losses that nobody has made good yet."""
        return [loss for loss in self.losses if loss.recovered is None]

    def step(self) -> float:
        """Look once."""
        try:
            free = self._free_worker()
            known = {
                row["id"]: row for row in self._stage.rows(NOW, ids=[each.job_id for each in self.waiting])
            }
        except (DriverError, Neo4jError):
            self._database_is_away()
            return LOOK_SECONDS
        if self._away_since is not None:
            self.away.append(time.monotonic() - self._away_since)
            self._away_since = None
        passed, self._looked_at = time.monotonic() - self._looked_at, time.monotonic()
        for loss in self.waiting:
            loss.beside_a_free_worker += passed * free
            found = known.get(loss.job_id)
            if found is None or found["fence"] > loss.fence or found["state"] != "running":
                loss.recovered = time.monotonic() - loss.at
        return LOOK_SECONDS

    def _free_worker(self) -> bool:
        owners = {row["worker"] or "" for row in self._stage.rows(OWNED)}
        working = [worker.pid for worker in self._stage.workers if worker.works]
        return any(not any(f"-{pid}-" in owner for owner in owners) for pid in working)

    def _database_is_away(self) -> None:
        self._away_since = self._away_since or time.monotonic()
        for loss in self.waiting:
            loss.database_away = True


@dataclass
class Killer(Background):
    """Kills workers and Neo4j at random moments until it has killed enough."""

    stage: Stage
    clock: Clock
    worker_kills: int
    database_kills: int
    pause: tuple[float, float]
    dice: random.Random
    hits: int = 0
    """Kills of workers that had a job."""
    done: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        super().__init__()
        self._evil_since, self._kind = 0.0, False
        self._plan = ["worker"] * self.worker_kills
        for _ in range(self.database_kills):  # not the very first: there is nothing yet
            self._plan.insert(self.dice.randint(1, len(self._plan)), "neo4j")

    @property
    def finished(self) -> bool:
        """Whether all kills are done."""
        return len(self.done) >= len(self._plan)

    def step(self) -> float:
        """Kill once."""
        if self.finished:
            return 1.0
        victim = self._plan[len(self.done)]
        if self._kill_neo4j() if victim == "neo4j" else self._kill_worker():
            self.done.append(victim)
            return self.dice.uniform(*self.pause)
        return 0.2

    def _kill_neo4j(self) -> bool:
        process = processes.find_running(self.stage.neo4j)
        if process is None or self.stage.neo4j.waiting_for():
            return False
        process.kill()
        return True

    def _kill_worker(self) -> bool:
        alive = [worker for worker in self.stage.workers if worker.works]
        busy = [worker for worker in alive if self._owns(worker.pid or 0)]
        self._evil_since = self._evil_since or time.monotonic()
        lenient = self._kind or time.monotonic() - self._evil_since > LONGEST_EVIL_SECONDS
        chosen = busy or (alive if lenient else [])
        if not chosen:
            return False
        pid = self.dice.choice(chosen).kill()
        self.hits += bool(pid and self.clock.lost(pid))
        self._evil_since, self._kind = 0.0, self.dice.random() > EVILNESS
        return pid is not None

    def _owns(self, pid: int) -> bool:
        try:
            return any(f"-{pid}-" in (row["worker"] or "") for row in self.stage.rows(OWNED))
        except (DriverError, Neo4jError):
            return False


class Changer(Background):
    """Edits, deletes and adds documents all the time, and knows what must be there at the end."""

    def __init__(
        self,
        client: KgClient,
        texts: dict[str, str],
        pause: float,
        dice: random.Random,
        prefix: str = "added",
    ) -> None:
        super().__init__()
        self._prefix = prefix
        self._client = client
        self._pause = pause
        self._dice = dice
        self.expected = dict(texts)
        """By document, its text; the beginning is what was ingested."""
        self.counts = {"edited": 0, "deleted": 0, "added": 0}
        self.refusals = 0
        """Answers that told to try again."""
        self._new = 0

    def step(self) -> float:
        """Change one document."""
        kind = self._dice.choices(("edited", "deleted", "added"), (6, 1, 1))[0]
        {"edited": self._edit, "deleted": self._delete, "added": self._add}[kind]()
        self.counts[kind] += 1
        return self._dice.uniform(0, 2 * self._pause)

    def _edit(self) -> None:
        name = self._dice.choice(sorted(self.expected))
        paragraphs = self.expected[name].split("\n\n")
        place = self._dice.randrange(len(paragraphs))
        note = f"A note of the storm, number {self._dice.randrange(10**9)}."
        if self._dice.random() < 0.3 and len(paragraphs) > 3:
            del paragraphs[place]
        else:
            paragraphs.insert(place, note)
        self._store(name, "\n\n".join(paragraphs))

    def _add(self) -> None:
        self._new += 1
        model = self._dice.choice(sorted(self.expected))
        self._store(f"{self._prefix}-{self._new}.rst", f"Number {self._new}.\n\n{self.expected[model]}")

    def _delete(self) -> None:
        name = self._dice.choice(sorted(self.expected))
        if len(self.expected) > FEWEST_DOCUMENTS:
            self._until_answered(lambda: self._gone(name))
            del self.expected[name]

    def _gone(self, name: str) -> None:
        with suppress(NotFound):  # an earlier try had done it
            self._client.delete_document(build_document_id(ONTOLOGY, name))

    def _store(self, name: str, text: str) -> None:
        content = text.encode()
        self._until_answered(lambda: self._client.ingest_bytes(content, ontology=ONTOLOGY, document=name))
        self.expected[name] = text

    def _until_answered(self, ask: Callable[[], Any]) -> None:
        """What was refused, or whose answer was lost, is sent again: every request may be repeated."""
        while True:
            try:
                ask()
            except KgError:
                self.refusals += 1
                time.sleep(0.5)
            else:
                return

"""What happens to the team's kg: processes are killed, and keys come and go."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence

import httpx

from benchmarks.storm.faults import Background
from benchmarks.storm.stage import Stage
from benchmarks.team.services import Service
from kg_api.client import KgClient
from kg_api.errors import Conflict, KgError, NotFound
from kg_api.local import processes

KNOWN_SECONDS = 5.0
"""Each process of a service takes so long to know of a key's end (docs/operations/security.md)."""
SLACK_SECONDS = 2.0
READABLE = "/ontologies"


class RandomKiller(Background):
    """Kills workers, services and Neo4j in a random order; of the services never both at once."""

    def __init__(
        self,
        stage: Stage,
        services: Sequence[Service],
        plan: list[str],
        pause: tuple[float, float],
        seed: int,
    ) -> None:
        super().__init__()
        self.done: Counter[str] = Counter()
        self._stage, self._services, self._pause = stage, services, pause
        self._dice = random.Random(seed)
        self._plan = self._dice.sample(plan, len(plan))

    @property
    def finished(self) -> bool:
        """Whether all kills are done."""
        return not self._plan

    def step(self) -> float:
        """Kill once, if the victim can be killed now."""
        if self.finished:
            return 1.0
        kill = {"worker": self._worker, "service": self._service, "neo4j": self._neo4j}[self._plan[-1]]
        if not kill():
            return 0.3
        self.done[self._plan.pop()] += 1
        return self._dice.uniform(*self._pause)

    def _worker(self) -> bool:
        alive = [each for each in self._stage.workers if each.works]
        return bool(alive) and self._dice.choice(alive).kill() is not None

    def _service(self) -> bool:
        """Only where the other one answers, be it that Neo4j is away."""
        return all(each.answers for each in self._services) and self._dice.choice(self._services).kill()

    def _neo4j(self) -> bool:
        process = processes.find_running(self._stage.neo4j)
        if process is None or self._stage.neo4j.waiting_for():
            return False
        process.kill()
        return True


class KeyKeeper(Background):
    """Makes keys, which are good at once at each service, and revokes them, which is known soon."""

    def __init__(self, admin: Sequence[KgClient], services: Sequence[Service], seed: int) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._admin, self._services = admin, services
        self._dice = random.Random(seed)

    def step(self) -> float:
        """Let one key live and end."""
        name = f"passing-{self._dice.randrange(10**9)}"
        try:
            made = self._dice.choice(self._admin).create_key(name, scope="read")
        except KgError:
            self.counts["to be repeated"] += 1
            return 1.0
        self._look(made.key, 200, "a new key")
        while not self._revoked(made.key_id):
            time.sleep(0.5)
        time.sleep(KNOWN_SECONDS + SLACK_SECONDS)
        self._look(made.key, 401, "a revoked key")
        return self._dice.uniform(0.5, 3)

    def _revoked(self, key_id: str) -> bool:
        try:
            self._dice.choice(self._admin).revoke_key(key_id)
        except (Conflict, NotFound):  # an earlier try had done it
            pass
        except KgError:
            self.counts["to be repeated"] += 1
            return False
        self.counts["revoked"] += 1
        return True

    def _look(self, key: str, status: int, what: str) -> None:
        for service in self._services:
            try:
                headers = {"Authorization": f"Bearer {key}"}
                found = httpx.get(f"{service.url}{READABLE}", headers=headers, timeout=60).status_code
            except httpx.HTTPError:
                found = 0
            self.counts[f"{what}: {found}"] += 1
            if found not in {status, 503, 0}:
                self.wrong.append(f"{what} was answered with {found}, not {status}")

"""Whether the models answered a few seconds ago: asking one costs money, and a GET should not."""

from __future__ import annotations

import threading
import time

from kg_api.errors import KgError
from kg_api.graph.jobs import is_touched, queue_status
from kg_api.graph.search import SharedReading
from kg_api.local import processes, supervisor
from kg_api.local.neo4j import disk_room
from kg_api.local.processes import Home
from kg_api.schemas.operations import Check, QueueStatus
from kg_api.schemas.spaces import EmbeddingHealth
from kg_api.settings import Settings
from kg_api.spaces.estimate import ModelService
from kg_api.transfer import backup
from kg_api.transfer.backup import BackupRecord
from kg_api.web.shared.opening import Opening
from kg_api.wording import pluralize

REMEMBERED_SECONDS = 30.0


class ModelHealth:
    """Remembers what the models answered."""

    def __init__(self) -> None:
        self._health: EmbeddingHealth | None = None
        self._checked_at = float("-inf")
        self._checking = threading.Lock()

    def health(self, models: ModelService) -> EmbeddingHealth:
        """What they answered within the last half minute; they are asked when that is longer ago."""
        with self._checking:
            age = time.monotonic() - self._checked_at
            if self._health is None or age > REMEMBERED_SECONDS:
                return self._check(models)
            return self._health.model_copy(update={"age_seconds": round(age, 1)})

    def check(self, models: ModelService) -> EmbeddingHealth:
        """What they answer now."""
        with self._checking:
            return self._check(models)

    def _check(self, models: ModelService) -> EmbeddingHealth:
        self._health = models.health()
        self._checked_at = time.monotonic()
        return self._health


# The queue as probes and metrics see it: looked at once a second at most, however often they ask.


class QueueWatch:
    """Remembers the queue's status for a second."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._looking = SharedReading(lambda: queue_status(opening.container().graph))

    def status(self) -> QueueStatus:
        """The queue, at most a second old.

        Raises:
            Unavailable: the service is not open, or Neo4j does not answer.
        """
        return self._looking.recent()

    def status_if_known(self) -> QueueStatus | None:
        """The queue, for metrics; None while it cannot be looked at."""
        try:
            return self.status()
        except KgError:
            return None

    def check(self) -> Check:
        """Whether somebody does the work that waits.

        Not while the service is younger than the time that work may wait: after a night's pause the worker
        that starts beside it has yet to begin.

        Raises:
            Unavailable: as in `status`.
        """
        status, container = self.status(), self._opening.container()
        limit = container.settings.api.backlog_seconds
        overdue = min(status.oldest_waiting_seconds, self._opening.up_seconds()) > limit
        if overdue and not is_touched(container.graph, within_seconds=limit):
            return Check(name="worker", ok=False, detail=_idle(status))
        detail = f"{status.running} jobs running, {status.queued} queued, {pluralize(status.alive, 'worker')}"
        return Check(name="worker", ok=True, detail=detail)


def _idle(status: QueueStatus) -> str:
    waiting = f"a job has been waiting for {status.oldest_waiting_seconds:.0f} s and no worker takes it"
    if status.alive:
        return f"{waiting}, though {status.alive} are there: are they of an older kg? Their logs say more"
    return f"{waiting}: none is running; start one with `kg up`, or `kg worker` on a server"


# What the service can see of its surroundings: the processes beside it, and the disk.

GIB = 1024**3
PASSING_DEATHS = 2
"""So many deaths in a row, and the service is not ready; one is mended before anybody has noticed."""


class Surroundings:
    """The supervisor and the disk of the home that this service belongs to."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._home = Home(settings.home)

    def checks(self) -> list[Check]:
        """What is known of the processes and of the disk; nothing where there is nothing to know."""
        return [check for check in (self._processes(), self._disk()) if check is not None]

    def instance(self) -> str | None:
        """The id of this service's home; None if it cannot be written."""
        return self._home.instance()

    def notes(self) -> list[str]:
        """What is wrong, in words for a person."""
        return [check.detail for check in self.checks() if not check.ok]

    def last_backup(self) -> BackupRecord | None:
        """What became of the last backup of this home; None where there never was one."""
        return backup.read_record(self._home)

    def _processes(self) -> Check | None:
        """Whether a process dies again and again. Another stack's supervisor is nobody's concern here."""
        uri = self._settings.neo4j.uri or self._home.bolt_uri()
        said = supervisor.read(self._home)
        if said.neo4j_uri != uri or processes.load(self._home.pid_file("supervisor")) is None:
            return None
        dying = {name: told for name, told in said.roles.items() if supervisor.trouble_of(name, told)}
        grave = any(told.state == "failed" or told.deaths >= PASSING_DEATHS for told in dying.values())
        waits = "; ".join(supervisor.trouble_of(name, told) or "" for name, told in dying.items())
        restarts = sum(told.restarts for told in said.roles.values())
        return Check(
            name="processes", ok=not grave, detail=waits or f"all run; {pluralize(restarts, 'restart')}"
        )

    def _disk(self) -> Check | None:
        room = disk_room(self._home, self._settings)
        if self._settings.neo4j.uri is not None or (free := room.free_bytes()) is None:
            return None
        shortage = room.shortage()
        little = ", which is little" if room.is_little() else ""
        detail = shortage or f"{free / GIB:.1f} GiB left for the database{little}"
        return Check(name="disk", ok=shortage is None, detail=detail)

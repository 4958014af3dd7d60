"""What the service can see of its surroundings: the processes beside it, and the disk."""

from __future__ import annotations

from kg_api.backup import record
from kg_api.backup.record import BackupRecord
from kg_api.managed import processes, state
from kg_api.managed.home import Home
from kg_api.managed.neo4j.role import disk_room
from kg_api.models.health import Check
from kg_api.settings import Settings
from kg_api.wording.plural import pluralize

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
        return record.read(self._home)

    def _processes(self) -> Check | None:
        """Whether a process dies again and again. Another stack's supervisor is nobody's concern here."""
        uri = self._settings.neo4j.uri or self._home.bolt_uri()
        said = state.read(self._home)
        if said.neo4j_uri != uri or processes.load(self._home.pid_file("supervisor")) is None:
            return None
        dying = {name: told for name, told in said.roles.items() if state.trouble_of(name, told)}
        grave = any(told.state == "failed" or told.deaths >= PASSING_DEATHS for told in dying.values())
        waits = "; ".join(state.trouble_of(name, told) or "" for name, told in dying.items())
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

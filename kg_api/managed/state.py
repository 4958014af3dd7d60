"""The state file of a home: written by its supervisor, read by everyone."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from kg_api.managed import files
from kg_api.managed.home import Home
from kg_api.managed.watch import RoleStatus

MANY_DEATHS = 4
"""In a row, after which a person is told rather than kept waiting; the supervisor goes on all the same."""


@dataclass(frozen=True, slots=True)
class State:
    """What the supervisor last said. It may be dead since: look at the processes, too."""

    version: str = ""
    neo4j_uri: str = ""
    roles: dict[str, RoleStatus] = field(default_factory=dict[str, RoleStatus])

    def failed(self) -> str | None:
        """Say why a role does not come up by itself any more, as far as one can tell; None when all may."""
        return next((status.message for status in self.roles.values() if _seems_hopeless(status)), None)

    def refused(self) -> str | None:
        """Say why a role cannot start until a person changes something; None if all can."""
        return next((each.message for each in self.roles.values() if each.state == "failed"), None)

    def waiting_for(self) -> str | None:
        """Say what the first role that does not work waits for; None when all work."""
        for name, status in self.roles.items():
            if trouble := trouble_of(name, status):
                return trouble
            if status.state != "ready":
                return status.message or f"{name} to start"
        return None if self.roles else "the supervisor to start"


def _seems_hopeless(status: RoleStatus) -> bool:
    return status.state == "failed" or (status.state == "pausing" and status.deaths >= MANY_DEATHS)


def trouble_of(name: str, status: RoleStatus) -> str | None:
    """Say when a role that died is started again, and how often and how it died; None for others."""
    seconds = status.next_start_seconds()
    if seconds is None:
        return None
    last = f" ({status.last_exit})" if status.last_exit else ""
    person = "; a person has to change its settings" if status.state == "failed" else ""
    return f"{name} to start again in {seconds:.0f} s; it died {times(status.deaths)}{last}{person}"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def write(home: Home, state: State) -> None:
    files.rewrite_json(home.state_file, asdict(state))


def read(home: Home) -> State:
    """Give what was last published; an empty state when there is none."""
    entry = files.read_json(home.state_file)
    try:
        roles = {name: RoleStatus(**status) for name, status in entry["roles"].items()}
        return State(entry["version"], entry["neo4j_uri"], roles)
    except (KeyError, TypeError, AttributeError):
        return State()


def forget(home: Home) -> None:
    """Remove the file: nothing runs."""
    home.state_file.unlink(missing_ok=True)

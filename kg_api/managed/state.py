"""The state file of a home: written by its supervisor, read by everyone."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from kg_api.managed import files
from kg_api.managed.home import Home
from kg_api.managed.supervisor import RoleStatus


@dataclass(frozen=True, slots=True)
class State:
    """What the supervisor last said. It may be dead since: look at the processes, too."""

    version: str = ""
    neo4j_uri: str = ""
    roles: dict[str, RoleStatus] = field(default_factory=dict[str, RoleStatus])

    def failed(self) -> str | None:
        """Say why a role was given up; None when none was."""
        return next((status.message for status in self.roles.values() if status.state == "failed"), None)

    def waiting_for(self) -> str | None:
        """Say what the first role that does not work waits for; None when all work."""
        for name, status in self.roles.items():
            if status.state == "pausing":
                return f"{name} to start again; it died {times(status.deaths)}"
            if status.state != "ready":
                return status.message or f"{name} to start"
        return None if self.roles else "the supervisor to start"


def times(count: int) -> str:
    """Say how often."""
    return "once" if count == 1 else f"{count} times"


def write(home: Home, state: State) -> None:
    """Publish."""
    files.write_json(home.state_file, asdict(state))


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

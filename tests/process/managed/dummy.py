import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from kg_api.local import processes, supervisor
from kg_api.local.processes import Home, Role
from kg_api.local.supervisor import Policy, State, Supervisor

FAST = Policy(
    first_pause=0.05, max_pause=0.2, healthy_after=3600, watch_seconds=0.05, start_watch_seconds=0.05
)


def web_role(home: Home, name: str, port: int, *after: str) -> Role:
    """Return a role with a web server that uses its own home."""
    return script_role(home, name, ("-m", "http.server", str(port), "--bind", "127.0.0.1"), *after, port=port)


def script_role(
    home: Home, name: str, arguments: tuple[str, ...], *after: str, port: int | None = None
) -> Role:
    """Return a role that runs a Python script. It is ready immediately, or when you can connect to its
    port."""

    def waiting_for() -> str | None:
        return None if port is None or not processes.is_free(port) else f"port {port}"

    return Role(
        name=name,
        argv=(sys.executable, *arguments),
        env=processes.inherit() | {"KG_HOME": str(home.path)},
        cwd=home.path,
        log=home.log_file(name),
        pid_file=home.get_pid_file(name),
        waiting_for=waiting_for,
        after=after,
        grace_seconds=5,
    )


def publisher(home: Home) -> Callable[..., None]:
    return lambda statuses: supervisor.write(home, State("test", "bolt://test", statuses))


def until(reached: Callable[[], object], what: str, seconds: float = 20, pause: float = 0.02) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(pause)


if __name__ == "__main__":
    place = Home(Path(sys.argv[1]))
    Supervisor([web_role(place, "web", int(sys.argv[2]))], publisher(place), FAST).run(threading.Event())

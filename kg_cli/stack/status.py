"""What runs on this machine, and whether it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from kg_api import __version__
from kg_api.errors import KgError, Unauthorized
from kg_api.managed import probes, roles, state
from kg_api.managed.home import Home
from kg_api.managed.watch import RoleStatus
from kg_api.models.queue import QueueStatus
from kg_api.settings import Settings
from kg_cli.stack.backups import describe_last
from kg_cli.stack.processes import neo4j_uri
from kg_cli.stack.roles import stack_roles, supervisor_role
from kg_cli.terminal.connect import client_of, headers_for, shown_address

T = TypeVar("T")

READY_SECONDS = 10.0
"""How long the service may take to say whether it is ready: under load that takes seconds."""
QUEUE_SECONDS = 5.0
"""How long the queue may take to be told."""


@dataclass(frozen=True, slots=True)
class RunningProcess:
    """A live process of the stack."""

    role: str
    pid: int


@dataclass(frozen=True, slots=True)
class StackStatus:
    """The fields of `kg status --json`."""

    api_url: str | None
    neo4j_uri: str | None
    version: str
    ready: bool
    processes: list[RunningProcess]
    waiting_for: str | None
    """Why it is not ready."""
    home: str
    supervisor_pid: int | None
    roles: dict[str, RoleStatus]
    """What the supervisor last said of each."""
    jobs: QueueStatus | None = None
    """The queue, when the service tells."""
    to_review: int | None = None
    """Documents that wait for approval, when the service tells."""
    refusal: str | None = None
    """Why it tells neither, where it wants a key."""
    slow: bool = False
    """Whether all runs and the service did not answer in time: then nobody knows whether it is ready."""
    backup: str | None = None
    """The last backup, and what became of the last attempt; None: there never was one."""
    serves: bool = False
    """Whether it answers; it may not be ready all the same, for jobs wait that no worker takes."""
    outdated: bool = False
    """Whether an older version of kg started the service, so that commands do not use it."""

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do for `kg up`."""
        return self.ready and self.supervisor_pid is not None

    def as_json(self) -> dict[str, Any]:
        told = {
            name: {**asdict(status), "next_start_seconds": status.next_start_seconds()}
            for name, status in self.roles.items()
        }
        jobs = self.jobs and self.jobs.model_dump(mode="json")
        return {**asdict(self), "roles": told, "jobs": jobs}


def look(settings: Settings, *, with_jobs: bool = True) -> StackStatus:
    """Look at the processes of the home and ask the service how it is; with none here, that of KG_API_URL."""
    home = Home(settings.home)
    found = [(role.name, roles.running(role)) for role in stack_roles(home, settings)]
    alive = [RunningProcess(name, process.pid) for name, process in found if process is not None]
    missing = [name for name, process in found if process is None]
    remote = not alive and settings.api_url is not None
    url = settings.api_url if remote else home.api_url()
    supervisor = roles.running(supervisor_role(home, settings))
    known = state.read(home)
    starting = known.waiting_for() if supervisor and not remote else None
    gone = f"`kg up`: {missing[0]} does not run" if missing and not remote else None
    waited = starting or gone  # without one of its parts the service says no more, and after seconds
    headers = headers_for(url, settings, "GET", "/ready") if url else None
    answer = (
        probes.ask_ready(url, headers, home=None if remote else home, timeout=READY_SECONDS)
        if url and not waited
        else None
    )
    reason = waited or (answer.waiting_for if answer else "`kg up`")
    asked = with_jobs and url and answer and answer.serves
    jobs, to_review, refusal = _waiting(settings, url) if asked and url else (None, None, None)
    return StackStatus(
        api_url=shown_address(url) if url else None,
        neo4j_uri=neo4j_uri(home, settings),
        version=known.version or __version__,
        ready=reason is None,
        processes=alive,
        waiting_for=reason,
        home=str(home.path),
        supervisor_pid=supervisor.pid if supervisor else None,
        roles=known.roles,
        jobs=jobs,
        to_review=to_review,
        refusal=refusal,
        slow=answer is not None and answer.slow,
        backup=None if remote else describe_last(home),
        serves=answer is not None and answer.serves,
        outdated=answer is not None and answer.outdated,
    )


def _waiting(settings: Settings, url: str) -> tuple[QueueStatus | None, int | None, str | None]:
    """The queue, how many documents wait for approval, and why neither is told; None of what is not."""
    with client_of(url, settings, timeout_seconds=QUEUE_SECONDS) as client:
        try:
            return _answer_of(client.queue), _answer_of(lambda: client.waiting(limit=1).total), None
        except Unauthorized as error:
            return None, None, str(error)


def _answer_of(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except Unauthorized:
        raise
    except KgError:
        return None

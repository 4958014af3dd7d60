"""Getting what kg runs on: Neo4j's jars and the embedding model, once for this user."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from types import FrameType
from typing import Any, TypeVar

import filelock
from rich.markup import escape
from rich.progress import TaskID
from rich.text import Text

from kg_api import __version__
from kg_api.errors import ConfigurationError, Conflict, KgError, ManagedProcessError, Unauthorized
from kg_api.local import neo4j, processes, supervisor
from kg_api.local import processes as probes
from kg_api.local import processes as roles
from kg_api.local import supervisor as state
from kg_api.local.processes import OUTDATED, Home, OnWait
from kg_api.local.supervisor import RoleStatus, State, Supervisor
from kg_api.logs import configure_logs
from kg_api.providers.model_files import ensure_model
from kg_api.schemas.operations import QueueStatus
from kg_api.settings import Settings, given_variables
from kg_api.wording import pluralize
from kg_cli.jobs.report import name_of, print_dead, waits_for
from kg_cli.stack import doctor
from kg_cli.stack.doctor import (
    ALREADY,
    DoctorFinding,
    backups_of,
    describe_last,
    neo4j_uri,
    stack_roles,
    supervisor_role,
)
from kg_cli.terminal import console
from kg_cli.terminal.connect import client_of, headers_for, shown_address
from kg_cli.terminal.console import runnable


def fetch_parts(settings: Settings) -> None:
    """Fetch what is missing, with a bar.

    Raises:
        ManagedProcessError: something cannot be fetched.
        ConfigurationError: the model folder of the settings lacks a file.
    """
    if settings.neo4j.uri is None:
        with _bar("fetching Neo4j (175 MB, once)") as on_progress:
            neo4j.fetch(settings.cache, on_progress)
    if settings.embedding.provider == "local":
        with _bar("fetching the embedding model (24 MB, once)") as on_progress:
            ensure_model(settings, on_progress)


@contextlib.contextmanager
def _bar(description: str) -> Generator[Callable[[int, int, str], None]]:
    """Show a bar from the first call of the function it gives, so that without a fetch nothing shows."""
    bar = console.progress("files")
    task: TaskID | None = None

    def on_progress(there: int, total: int, _: str) -> None:
        nonlocal task
        if task is None:
            task = bar.add_task(description, total=total)
            if console.stderr().is_terminal:
                bar.start()
            else:
                console.say(description)
        bar.update(task, completed=there)

    try:
        yield on_progress
    finally:
        if bar.live.is_started:
            bar.stop()


# `kg up`, in the background and in the foreground.


def in_background(settings: Settings) -> None:
    """Start what does not run, wait until it works, and leave it running.

    Raises:
        ConfigurationError, Conflict, ManagedProcessError: as in processes.launch and watch.wait_until_ready.
    """
    home = Home(settings.home).create()
    doctor.refuse_other_database(home, settings)
    found = look(settings)
    if found.outdated:
        raise ConfigurationError(OUTDATED.format(home=home.path))
    if not found.complete:
        doctor.choose_ports(home, settings)  # before 200 MB are fetched for a port that is taken
        fetch_parts(settings)
        doctor.launch(home, settings)
        ran = bool(found.processes)
        with console.waiting_line() as show, _stopping_all(home, settings, show, unless=ran):
            wait_until_ready(home, settings, show)
        found = look(settings)
    print_up(found)
    warn_of_other_version(found)
    warn_of_settings(doctor.differing(home, settings, given_variables()))


@contextlib.contextmanager
def _stopping_all(home: Home, settings: Settings, on_stop: OnWait, *, unless: bool) -> Generator[None]:
    """Leave nothing running if kg cannot start as it is configured, unless something ran before."""
    try:
        yield
    except ConfigurationError:
        if not unless:
            doctor.stop_all(home, settings, lambda name: on_stop(f"{name} to stop"))
        raise


def in_foreground(settings: Settings) -> None:
    """Start everything, watch over it until SIGINT or SIGTERM, then stop it.

    Raises:
        Conflict: kg is watched over by another process.
        ConfigurationError, ManagedProcessError: as in processes.launch and watch.wait_until_ready.
    """
    home = Home(settings.home).create()
    doctor.choose_ports(home, settings)
    fetch_parts(settings)
    doctor.take_over(home, settings)
    with supervising(home, settings) as (supervisor, stop):
        watcher = threading.Thread(target=supervisor.run, args=(stop,), name="supervisor")
        watcher.start()
        try:
            _stay(home, settings, stop)
        finally:
            stop.set()
            watcher.join()
            with console.waiting_line() as show:
                doctor.leave(home, settings, lambda name: show(f"{name} to stop"))


def _stay(home: Home, settings: Settings, stop: threading.Event) -> None:
    with console.waiting_line() as show:
        wait_until_ready(home, settings, show, stop)
    if not stop.is_set():
        print_up(look(settings))
    stop.wait()


# What runs on this machine, and whether it works.

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


# What `kg up`, `kg status` and `kg doctor` print for people.

COLOURS = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def print_up(status: StackStatus) -> None:
    """Say that kg runs, where, and what to do next."""
    console.line(Text.assemble(("kg is up", "bold green"), f" at {status.api_url}"))
    if not status.ready:
        console.say(escape(f"It answers, but waits for {status.waiting_for}"))
    kg = runnable()
    lines = [
        f"  Neo4j    {status.neo4j_uri}",
        f"  REST     {status.api_url}/openapi.json",
        f"  next     {kg} ingest FOLDER --ontology NAME, then {kg} search 'WHAT YOU LOOK FOR'",
        f"  stop     {kg} down",
    ]
    console.line("\n".join(lines))
    if status.jobs:
        print_dead(status.jobs.dead)


def warn_of_other_version(status: StackStatus) -> None:
    """Say that another kg runs than this one."""
    if status.version != __version__:
        console.say(
            f"kg {status.version} runs here, this is {__version__}: `kg down` and `kg up` change over"
        )


def warn_of_settings(names: Sequence[str]) -> None:
    """Say that kg runs with other settings than these variables give now."""
    if names:
        verb = "has another value" if len(names) == 1 else "have other values"
        console.say(
            f"{', '.join(names)} {verb} than kg was started with; settings are taken when it starts: "
            "`kg down` and `kg up`"
        )


def print_status(status: StackStatus) -> None:
    """Print where things are and which processes run."""
    console.line(Text.assemble(f"kg {status.version}: ", _readiness(status)))
    for name, value in (("service", status.api_url), ("Neo4j", status.neo4j_uri), ("home", status.home)):
        console.line(f"  {name:8} {value or '-'}")
    if status.refusal:
        console.line(f"  {'jobs':8} not told: {status.refusal}")
    if status.jobs:
        console.line(f"  {'jobs':8} {_count_jobs(status.jobs)}")
        for each in status.jobs.waits:
            line = f"  {'':8} {name_of(each)} {waits_for(each.waits_for)}"
            console.line(line)
        print_dead(status.jobs.dead)
    if status.backup:
        console.line(f"  {'backup':8} {status.backup}")
    if status.to_review:
        them = pluralize(status.to_review, "document")
        console.line(f"  {'review':8} {them} to approve or reject: {runnable()} documents waiting")
    pids = {process.role: str(process.pid) for process in status.processes}
    if pids:
        away = [name for name in status.roles if name not in pids]
        rows = [(name, pids.get(name, "-"), _describe_role(status, name)) for name in [*pids, *away]]
        console.print_table(("process", "pid", "state"), rows)


def print_findings(findings: Sequence[DoctorFinding]) -> None:
    """Print what the checks found, with the way to mend what is wrong."""
    for finding in findings:
        mark = Text(f"{finding.state:5}", COLOURS[finding.state])
        console.line(Text.assemble(mark, f"{finding.name}: {finding.detail}"))
        if finding.fix:
            console.line(f"     -> {finding.fix}")


def _count_jobs(jobs: QueueStatus) -> str:
    parts = [f"{jobs.running} running, {jobs.queued} queued"]
    parts += [f"{jobs.stalled} stalled"] if jobs.stalled else []
    return ", ".join(parts)


def _describe_role(status: StackStatus, role: str) -> str:
    known = status.roles.get(role)
    if known is None or status.supervisor_pid is None:
        return "not watched over; `kg up` changes that"
    return ", ".join([known.state, *_deaths(known)])


def _deaths(known: RoleStatus) -> Iterator[str]:
    """What a process has been through, if anything."""
    last = f" (the last time by {known.last_exit})" if known.last_exit else ""
    if known.deaths:
        yield f"died {supervisor.times(known.deaths)}{last}"
    if known.restarts:
        yield f"started again {supervisor.times(known.restarts)}"
    if (seconds := known.next_start_seconds()) is not None:
        yield f"next start in {seconds:.0f} s"


def _readiness(status: StackStatus) -> Text:
    if status.ready:
        return Text("ready", "green")
    if status.slow:
        return Text(f"perhaps ready: everything runs; {status.waiting_for}", "yellow")
    return Text(f"not ready: waits for {status.waiting_for}", "yellow")


# Watching over the processes of a home, and waiting until they work.


def wait_until_ready(
    home: Home, settings: Settings, on_wait: OnWait, stop: threading.Event | None = None
) -> None:
    """Wait until every process works.

    Args:
        home: where they run.
        settings: what they run with.
        on_wait: called with what is being waited for.
        stop: ends the waiting early.

    Raises:
        ConfigurationError: one cannot start until a person changes something.
        ManagedProcessError: one was given up, with the end of its log; the supervisor died; the time is up.
    """
    deadline = time.monotonic() + 2 * settings.neo4j.start_timeout_seconds
    while (reason := waiting_for(home, settings)) and not (stop and stop.is_set()):
        if refused := state.read(home).refused():
            raise ConfigurationError(refused)
        if failed := state.read(home).failed():
            raise ManagedProcessError(failed)
        supervisor = supervisor_role(home, settings)
        if processes.running(supervisor) is None:
            end = "\n".join(processes.tail(supervisor.log, 6))
            raise ManagedProcessError(f"the supervisor ended. Its log {supervisor.log} ends with:\n{end}")
        on_wait(reason)
        if time.monotonic() > deadline:
            raise ManagedProcessError(f"kg is still waiting for {reason}; `kg doctor` may know why")
        time.sleep(processes.POLL_SECONDS)


def waiting_for(home: Home, settings: Settings) -> str | None:
    """Say what is being waited for, as `kg status` does; None when everything works.

    Jobs that wait are the worker's business.
    """
    if not home.state_file.exists():
        return "the supervisor to start"
    found = look(settings, with_jobs=False)
    return None if found.serves else found.waiting_for


def supervise(settings: Settings) -> None:
    """Watch over the stack of a home until SIGTERM; its processes run on.

    Raises:
        Conflict: another supervisor is at work.
    """
    home = Home(settings.home).create()
    with supervising(home, settings) as (supervisor, stop):
        supervisor.run(stop)


@contextlib.contextmanager
def supervising(home: Home, settings: Settings) -> Generator[tuple[Supervisor, threading.Event]]:
    """Be the supervisor of a home: give it and the event that SIGTERM and SIGINT set.

    Raises:
        Conflict: another supervisor is at work.
    """
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    configure_logs(settings.log)

    def publish(statuses: dict[str, RoleStatus]) -> None:
        address = neo4j_uri(home, settings) or ""  # the first start may have changed a port that was taken
        state.write(home, State(__version__, address, statuses))

    try:
        with filelock.FileLock(home.run / "supervisor.lock", timeout=0):
            besides = backups_of(home, settings)
            yield Supervisor(stack_roles(home, settings), publish, besides=besides), stop
    except filelock.Timeout as error:
        raise Conflict(ALREADY.format(home.path)) from error

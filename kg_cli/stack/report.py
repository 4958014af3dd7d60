"""`kg up` with its supervisor, and `kg status`: running processes and their readiness."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import filelock
from rich.progress import TaskID
from rich.text import Text

from kg_api import __version__
from kg_api.errors import ConfigurationError, Conflict, KgError, ManagedProcessError, Unauthorized
from kg_api.local import neo4j, processes, supervisor
from kg_api.local.processes import Home, OnWait
from kg_api.local.supervisor import RoleStatus, State, Supervisor
from kg_api.logs import configure_logs
from kg_api.settings import Settings
from kg_api.wording import pluralize
from kg_cli.stack import roles
from kg_cli.stack.roles import ALREADY, build_roles, build_supervisor_role, get_neo4j_uri
from kg_cli.terminal import console
from kg_cli.terminal.connect import build_auth_headers, connect_client, hide_credentials
from kg_cli.terminal.console import get_runnable

if TYPE_CHECKING:
    from kg_api.schemas.operations import QueueStatus

T = TypeVar("T")
READY_SECONDS = 10.0  # timeout of GET /ready, which takes seconds under load
QUEUE_SECONDS = 5.0


def fetch_parts(settings: Settings) -> None:
    """Download Neo4j's jars and the embedding model if they are missing, with a bar."""
    if settings.neo4j.uri is None:
        with _bar("fetching Neo4j (175 MB, once)") as on_progress:
            neo4j.fetch(settings.cache, on_progress)
    if settings.embedding.provider == "local":
        from kg_api.providers.model_files import ensure_model

        with _bar("fetching the embedding model (24 MB, once)") as on_progress:
            ensure_model(settings, on_progress)


@contextlib.contextmanager
def _bar(description: str) -> Generator[Callable[[int, int, str], None]]:
    """Show a bar after the first call of the yielded function, so that nothing shows without a download."""
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


def start_in_background(settings: Settings, *, open_page: bool) -> None:
    """Start missing processes, wait until they are ready, and leave them running."""
    home = Home(settings.home).create()
    roles.require_same_database(home, settings)
    found = read_status(settings)
    was_up = found.ready and found.supervisor_pid is not None
    if not was_up:
        roles.choose_ports(home, settings)  # detect a taken port before a download of 200 MB
        fetch_parts(settings)
        roles.launch(home, settings)
        with console.waiting_line() as show:
            try:
                wait_until_ready(home, settings, show)
            except ConfigurationError:  # leave nothing running if the configuration is invalid
                if not found.processes:
                    roles.stop_all(home, settings, lambda name: show(f"{name} to stop"))
                raise
        found = read_status(settings)
    print_started(found, open_page=open_page)
    if found.version != __version__:
        message = f"kg {found.version} runs here, this is {__version__}: `kg down` and `kg up` change over"
        console.say(message)
    elif was_up:
        console.say("kg was running already. Changed settings take effect after `kg down` and `kg up`.")


def start_in_foreground(settings: Settings, *, open_page: bool) -> None:
    """Start all processes, supervise them until SIGINT or SIGTERM, and then stop them."""
    home = Home(settings.home).create()
    roles.choose_ports(home, settings)
    fetch_parts(settings)
    roles.register_supervisor(home, settings)
    with supervising(home, settings) as (watch, stop):
        watcher = threading.Thread(target=watch.run, args=(stop,), name="supervisor")
        watcher.start()
        try:
            with console.waiting_line() as show:
                wait_until_ready(home, settings, show, stop)
            if not stop.is_set():
                print_started(read_status(settings), open_page=open_page)
            stop.wait()
        finally:
            stop.set()
            watcher.join()
            with console.waiting_line() as show:
                roles.leave(home, settings, lambda name: show(f"{name} to stop"))


def wait_until_ready(
    home: Home, settings: Settings, on_wait: OnWait, stop: threading.Event | None = None
) -> None:
    """Wait until every process is ready. Pending jobs do not count."""
    deadline = time.monotonic() + 2 * settings.neo4j.start_timeout_seconds
    while not (stop and stop.is_set()):
        reason = "the supervisor to start"
        if home.state_file.exists():
            found = read_status(settings, with_jobs=False)
            if found.serves or found.waiting_for is None:
                return
            reason = found.waiting_for
        state = supervisor.read(home)
        if refused := state.get_failure():
            raise ConfigurationError(refused)
        if failed := state.describe_failure():
            raise ManagedProcessError(failed)
        watcher = build_supervisor_role(home, settings)
        if processes.find_running(watcher) is None:
            end = "\n".join(processes.read_tail(watcher.log, 6))
            raise ManagedProcessError(f"the supervisor ended. Its log {watcher.log} ends with:\n{end}")
        on_wait(reason)
        if time.monotonic() > deadline:
            raise ManagedProcessError(f"kg is still waiting for {reason}. `kg doctor` can show the cause")
        time.sleep(processes.POLL_SECONDS)


def supervise(settings: Settings) -> None:
    """Supervise the processes of a home until SIGTERM. The processes keep running."""
    home = Home(settings.home).create()
    with supervising(home, settings) as (watch, stop):
        watch.run(stop)


@contextlib.contextmanager
def supervising(home: Home, settings: Settings) -> Generator[tuple[Supervisor, threading.Event]]:
    """Yield the supervisor of a home and the event that SIGTERM and SIGINT set."""
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    configure_logs(settings.log)

    def publish(statuses: dict[str, RoleStatus]) -> None:
        uri = get_neo4j_uri(home, settings) or ""  # the first start may have replaced a port that was taken
        supervisor.write(home, State(__version__, uri, statuses))

    try:
        with filelock.FileLock(home.run / "supervisor.lock", timeout=0):
            yield Supervisor(build_roles(home, settings), publish), stop
    except filelock.Timeout as error:
        raise Conflict(ALREADY.format(home.path)) from error


@dataclass(frozen=True, slots=True)
class RunningProcess:
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
    home: str
    supervisor_pid: int | None
    roles: dict[str, RoleStatus]
    jobs: QueueStatus | None  # if the service reports the queue
    to_review: int | None  # documents pending approval, if the service reports them
    # reason why `jobs` and `to_review` are missing, if the service requires a key
    refusal: str | None
    # whether the service timed out although all processes run, so that its readiness is unknown
    slow: bool
    # whether the service can process requests: it may not be ready if no worker takes jobs
    serves: bool
    stopped: bool  # whether none of the processes runs here

    @property
    def page(self) -> str | None:
        return self.api_url and f"{self.api_url}/ui"

    def as_json(self) -> dict[str, Any]:
        fields = {
            name: {**asdict(status), "next_start_seconds": status.next_start_seconds()}
            for name, status in self.roles.items()
        }
        return {
            **asdict(self),
            "page": self.page,
            "roles": fields,
            "jobs": self.jobs and self.jobs.model_dump(mode="json"),
        }


def read_status(settings: Settings, *, with_jobs: bool = True) -> StackStatus:
    """Return the status of the home's processes and service, or of KG_API_URL if none run here."""
    home = Home(settings.home)
    found = [(role.name, processes.find_running(role)) for role in build_roles(home, settings)]
    alive = [RunningProcess(name, process.pid) for name, process in found if process is not None]
    missing = [name for name, process in found if process is None]
    remote = not alive and settings.api_url is not None
    url = settings.api_url if remote else home.build_api_url()
    watcher = processes.find_running(build_supervisor_role(home, settings))
    known = supervisor.read(home)
    reason = None  # if a process is missing, the service knows no more and answers after seconds
    if not remote:
        reason = known.waiting_for() if watcher else None
        reason = reason or (f"`kg up`: {missing[0]} does not run" if missing else None)
    answer = processes.ApiAnswer(reached=False, waiting_for=reason or "`kg up`")
    jobs, to_review, refusal = None, None, None
    if url and reason is None:
        headers = build_auth_headers(url, settings, "GET", "/ready")
        expected = None if remote else home
        answer = processes.ask_ready(url, headers, home=expected, timeout=READY_SECONDS)
        if with_jobs and answer.serves:
            jobs, to_review, refusal = _ask_queue(settings, url)
    return StackStatus(
        api_url=hide_credentials(url) if url else None,
        neo4j_uri=get_neo4j_uri(home, settings),
        version=known.version or __version__,
        ready=answer.ready,
        processes=alive,
        waiting_for=answer.waiting_for,
        home=str(home.path),
        supervisor_pid=watcher.pid if watcher else None,
        roles=known.roles,
        jobs=jobs,
        to_review=to_review,
        refusal=refusal,
        slow=answer.slow,
        serves=answer.serves,
        stopped=not alive and not remote,
    )


def _ask_queue(settings: Settings, url: str) -> tuple[QueueStatus | None, int | None, str | None]:
    """Return the queue, the number of documents to approve, and the reason if access is denied."""
    with connect_client(url, settings, timeout_seconds=QUEUE_SECONDS) as client:
        try:
            return _call_or_none(client.queue), _call_or_none(lambda: client.waiting(limit=1).total), None
        except Unauthorized as error:
            return None, None, str(error)


def _call_or_none(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except Unauthorized:
        raise
    except KgError:
        return None


def print_started(status: StackStatus, *, open_page: bool = False) -> None:
    """Print the addresses and the next steps. Open the page for a person at the terminal."""
    console.line(Text.assemble(("kg is up", "bold green"), f" at {status.api_url}"))
    if not status.ready:
        console.say(f"It answers, but waits for {status.waiting_for}")
    kg = get_runnable()
    lines = [
        f"  page     {status.page}",
        f"  REST     {status.api_url}/openapi.json",
        f"  Neo4j    {status.neo4j_uri}",
        f"  next     {kg} ingest FOLDER --ontology NAME, then {kg} search 'WHAT YOU LOOK FOR'",
        f"  stop     {kg} down",
    ]
    console.line("\n".join(lines))
    _print_failed(status)
    if open_page and status.page and console.is_watched():
        console.open_browser(status.page)


def _print_failed(status: StackStatus) -> None:
    if status.jobs:
        from kg_cli.jobs.report import print_failed

        print_failed(status.jobs.failed)


def print_status(status: StackStatus) -> None:
    console.line(Text.assemble(f"kg {status.version}: ", _describe_readiness(status)))
    rows = [
        ("page", None if status.stopped else status.page),
        ("service", status.api_url),
        ("Neo4j", status.neo4j_uri),
        ("home", status.home),
    ]
    if status.refusal:
        rows.append(("jobs", f"unknown: {status.refusal}"))
    if jobs := status.jobs:
        stalled = f", {jobs.stalled} stalled" if jobs.stalled else ""
        rows.append(("jobs", f"{jobs.running} running, {jobs.queued} queued{stalled}"))
        known = {process.pid for process in status.processes}
        if others := [
            f"{each.pid} on {each.host}" for each in jobs.workers if each.alive and each.pid not in known
        ]:
            rows.append(
                ("workers", f"{', '.join(others)}: started with `kg worker`, so `kg down` does not stop them")
            )
    if status.to_review:
        pending = f"{pluralize(status.to_review, 'document')} to approve or reject"
        rows.append(("review", f"{pending}: {get_runnable()} documents waiting"))
    for name, value in rows:
        console.line(f"  {name:8} {value or '-'}")
    _print_failed(status)
    pids = {process.role: str(process.pid) for process in status.processes}
    if pids:
        away = [name for name in status.roles if name not in pids]
        processes = [(name, pids.get(name, "-"), _describe_role(status, name)) for name in [*pids, *away]]
        console.print_table(("process", "pid", "state"), processes)


def _describe_readiness(status: StackStatus) -> Text:
    if status.ready:
        return Text("ready", "green")
    if status.stopped:
        return Text(f"stopped. Start with: {get_runnable()} up", "yellow")
    if status.slow:
        return Text(f"perhaps ready: every process runs. {status.waiting_for}", "yellow")
    return Text(f"not ready: waits for {status.waiting_for}", "yellow")


def _describe_role(status: StackStatus, role: str) -> str:
    known = status.roles.get(role)
    if known is None or status.supervisor_pid is None:
        return "running without a supervisor. To start one: kg up"
    parts = [str(known.state)]
    if known.deaths:
        last = f" (the last time by {known.last_exit})" if known.last_exit else ""
        parts.append(f"died {supervisor.format_times(known.deaths)}{last}")
    if known.restarts:
        parts.append(f"started again {supervisor.format_times(known.restarts)}")
    if (seconds := known.next_start_seconds()) is not None:
        parts.append(f"next start in {seconds:.0f} s")
    return ", ".join(parts)

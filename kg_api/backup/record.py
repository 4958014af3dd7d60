"""What became of the last backup of a home, for `kg status`, `kg doctor` and the metrics."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, replace

from kg_api.managed import files, processes
from kg_api.managed.home import Home


@dataclass(frozen=True, slots=True)
class BackupRecord:
    """The last attempt, and the last that succeeded."""

    begun: float = 0.0
    """Seconds since 1970."""
    ended: float | None = None
    error: str | None = None
    made: float | None = None
    """When the last whole one was begun."""
    path: str | None = None
    """Of that."""
    bytes: int = 0
    paused_seconds: float = 0.0
    pid: int = 0
    pid_created: float = 0.0

    def running(self) -> bool:
        """Whether its process is at work."""
        return self.ended is None and processes.ProcessId(self.pid, self.pid_created).alive()

    def trouble(self) -> str | None:
        """Say why the last attempt came to nothing; None where it succeeded, or goes on."""
        if self.ended is None:
            return None if self.running() else "it was interrupted"
        return self.error


def read(home: Home) -> BackupRecord | None:
    """Give what is known; None where there never was a backup."""
    try:
        return BackupRecord(**files.read_json(home.backup_file)) if home.backup_file.exists() else None
    except TypeError:
        return None


def begin(home: Home) -> BackupRecord:
    """Note that this process begins a backup."""
    me = processes.identify(os.getpid())
    last = read(home) or BackupRecord()
    begun = replace(
        last,
        begun=time.time(),
        ended=None,
        error=None,
        pid=os.getpid(),
        pid_created=me.created if me else 0.0,
    )
    return _keep(home, begun)


def fail(home: Home, begun: BackupRecord, error: str) -> None:
    """Note why it came to nothing."""
    _keep(home, replace(begun, ended=time.time(), error=error))


def succeed(home: Home, begun: BackupRecord, path: str, size: int, paused_seconds: float) -> None:
    made = replace(
        begun, ended=time.time(), made=begun.begun, path=path, bytes=size, paused_seconds=paused_seconds
    )
    _keep(home, made)


def _keep(home: Home, record: BackupRecord) -> BackupRecord:
    files.rewrite_json(home.backup_file, asdict(record))
    return record

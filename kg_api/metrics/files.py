"""The files in which processes share their metrics, in the folder that PROMETHEUS_MULTIPROC_DIR names."""

from __future__ import annotations

import os
import re
from pathlib import Path

import psutil
import structlog
from prometheus_client import values

log = structlog.get_logger()

KIB = 1024
RESERVED_BYTES = {"counter": 256 * KIB, "histogram": 1024 * KIB, "gauge_livesum": 16 * KIB}
"""Of a process, by what prometheus_client calls the files of the metrics that kg has: room for every value of
every route, stage and kind (`tests/unit/metrics/test_room.py`)."""
_LIVE = re.compile(r"gauge_live[a-z]+_(\d+)\.db")


def shared_folder() -> Path | None:
    """Where the processes of this kg share their metrics; None: each keeps them to itself."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    return Path(folder) if folder else None


def reserve_room() -> None:
    """Give the files that processes share their metrics by all their blocks; before the first metric is made.

    prometheus_client maps a sparse file into memory: on a full disk the first value on a new page of it ends
    the process with SIGBUS. Where there is no room, this process keeps its metrics to itself, and says so.
    """
    if (folder := shared_folder()) is None:
        return
    files = {folder / f"{kind}_{os.getpid()}.db": size for kind, size in RESERVED_BYTES.items()}
    try:
        for path, size in files.items():
            _fill(path, size)
    except OSError as error:
        for path in files:
            path.unlink(missing_ok=True)
        values.ValueClass = values.MutexValue
        log.warning("metrics of this process are not shared: there is no room for them", reason=str(error))


def forget_dead() -> None:
    """Take away what processes that have ended had under way; what they counted stays."""
    if (folder := shared_folder()) is None:
        return
    for path in folder.glob("gauge_live*.db"):
        found = _LIVE.fullmatch(path.name)
        if found and not psutil.pid_exists(int(found[1])):
            path.unlink(missing_ok=True)


def _fill(path: Path, size: int) -> None:
    with path.open("ab") as file:
        file.write(bytes(max(size - file.tell(), 0)))

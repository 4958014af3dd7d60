"""The record of the services of a home, which commands read to find them. A home can have several at once."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import filelock

from kg_api.managed import files, processes
from kg_api.managed.home import Home
from kg_api.managed.processes import ProcessId


def announce(home: Home, host: str, port: int) -> None:
    """Record that this process serves a home; records of services that have died are removed.

    Raises:
        OSError: the home cannot be written.
    """
    home.prepare_service()
    me = processes.identify(os.getpid())
    with _changing(home):
        others = [each for each in home.service_entries() if _runs(each) and each.get("port") != port]
        mine = {"host": host, "port": port, **(asdict(me) if me else {})}
        files.write_json(home.service_file, {"services": [*others, mine]})


def withdraw(home: Home) -> None:
    """Remove the record of this process if another service of the home runs.

    Raises:
        OSError: the home cannot be written.
    """
    with _changing(home):
        entries = home.service_entries()
        others = [each for each in entries if _runs(each) and each.get("pid") != os.getpid()]
        if others:
            files.write_json(home.service_file, {"services": others})


def _runs(entry: dict[str, Any]) -> bool:
    try:
        return ProcessId(int(entry["pid"]), float(entry["created"])).alive()
    except (KeyError, TypeError, ValueError):
        return False


def _changing(home: Home) -> filelock.BaseFileLock:
    return filelock.FileLock(home.run / "service.lock")

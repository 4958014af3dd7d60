"""What a person is told of an error that nobody foresaw."""

from __future__ import annotations

import datetime as dt
import traceback
from pathlib import Path

from kg_api.errors import KgError
from kg_api.managed import files, logfiles
from kg_api.settings import load_settings


def describe(error: Exception) -> str:
    """Write the trace into a log; say in a line or two what happened and where that log is."""
    what = f"unexpected {type(error).__name__}: {error}"
    try:
        path = _write(error, load_settings().home.expanduser().absolute() / "logs" / "cli.log")
    except (OSError, KgError):
        return f"{what}\nSet KG_LOG__LEVEL=debug to see where it came from."
    return f"{what}\nThis is a fault of kg. Where it came from is written in {path}"


def trace_when_debugging(error: Exception) -> None:
    """Print the stack trace when KG_LOG__LEVEL is debug."""
    try:
        debugging = load_settings().log.level == "debug"
    except KgError:
        return
    if debugging:
        traceback.print_exception(error)


def _write(error: Exception, path: Path) -> Path:
    files.make_folder(path.parent)
    logfiles.limit(path)
    with path.open("a", encoding="utf-8") as log:
        log.write(f"--- {dt.datetime.now(tz=dt.UTC).isoformat()}\n")
        traceback.print_exception(error, file=log)
    return path

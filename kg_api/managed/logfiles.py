"""Log files that processes append to: kept small, and read from their end."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

MAX_BYTES = 10 * 1024 * 1024


def limit(path: Path, max_bytes: int = MAX_BYTES) -> bool:
    """Move what a log holds to `<name>.1` when it is over `max_bytes`; whether that was done.

    The file itself stays, since a running process appends to it: a line written in between may be lost.
    """
    try:
        if path.stat().st_size <= max_bytes:
            return False
        shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        with path.open("r+b") as file:
            file.truncate(0)
    except OSError:  # there is none, or no room for the copy
        return False
    return True


def tail(path: Path, lines: int) -> list[str]:
    """Give the last lines of a log; none when there is no such file."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, maxlen=lines)]
    except FileNotFoundError:
        return []


def telling(paths: Iterable[Path], markers: Sequence[str] = (), lines: int = 6, search: int = 200) -> str:
    """Give the lines that say why a process died: the last marked ones, or the last ones of all.

    Args:
        paths: its logs; the most telling first.
        markers: words that mark a telling line.
        lines: how many to give of each log.
        search: how many lines from the end are looked at.
    """
    found: list[str] = []
    for path in paths:
        end = tail(path, search)
        marked = [line for line in end if any(word in line for word in markers)]
        found += (marked or end)[-lines:]
    return "\n".join(line.strip()[:400] for line in dict.fromkeys(found) if line.strip())

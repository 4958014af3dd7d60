"""What a storm begins and ends with: documents are taken in, and nothing is due any more."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from benchmarks.storm.faults import ONTOLOGY
from benchmarks.storm.stage import Stage
from kg_api.client import KgClient
from kg_api.errors import KgError
from kg_api.local import processes

PATIENCE = 3600.0
"""Seconds from the last kill until nothing may be due."""
QUIET_LOOKS = 5
"""So often in a row, a second apart, nothing must be due."""
MOST_INGESTS = 20


def texts_of(folder: Path, most: int) -> dict[str, str]:
    """The files to begin with, by the names that their documents get."""
    found = sorted(path for path in folder.rglob("*.rst") if path.is_file())[:most]
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in found}


def ingest(stage: Stage, texts: dict[str, str]) -> int:
    """Take the files in as a person does, again until all are there; how often it took."""
    folder = stage.home.path / "documents"
    for name, text in texts.items():
        processes.make_folder((folder / name).parent)
        (folder / name).write_bytes(text.encode())
    told = ""
    for number in range(1, MOST_INGESTS + 1):
        done = stage.kg("ingest", str(folder), "--ontology", ONTOLOGY, "--json")
        told = done.stdout + done.stderr
        if done.returncode == 0:
            return number
    raise SystemExit(f"the ingest fails again and again: {told[-2000:]}")


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    """Wait for it, but not for ever."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"it did not come to its end within {seconds:.0f} s")
        time.sleep(0.2)


def wait_until_nothing_is_due(client: KgClient) -> None:
    """Wait until all is embedded and no job is left, for some seconds in a row."""
    looks = 0

    def quiet() -> bool:
        nonlocal looks
        looks = looks + 1 if _is_quiet(client) else 0
        time.sleep(0.5)
        return looks >= QUIET_LOOKS

    wait_until(quiet, PATIENCE)


def _is_quiet(client: KgClient) -> bool:
    with suppress(KgError):
        status = client.embedding_status(ONTOLOGY)
        waiting = [job for state in ("queued", "running") for job in client.jobs(state=state).jobs]
        return status.total == status.embedded and not waiting
    return False

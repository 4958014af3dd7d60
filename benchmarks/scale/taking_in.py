"""Documents by `kg ingest`, vectors by the worker: time and memory until all are there."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.processes import Watched
from benchmarks.scale.keeping import Notes
from benchmarks.scale.texts import ONTOLOGIES, Texts, documents_of
from benchmarks.stack import Stack
from kg_api.errors import KgError
from kg_api.schemas.operations import FINISHED

DOCUMENTS_A_SLICE = 100
MOST_AHEAD = 20_000
"""Passages that may wait for their vectors while more come in."""
POLL_SECONDS = 2.0
MEMORY_SECONDS = 5.0


def take_in(running: Stack, notes: Notes, texts: Texts, folder: Path, passages: int) -> None:
    """Bring the stored documents to a number of passages; what was taken in before is not done again."""
    wanted = documents_of(passages)
    with _watched(running, notes):
        while (done := notes["documents"] or 0) < wanted:
            _slice(
                running, notes, texts, folder / "texts", range(done, min(wanted, done + DOCUMENTS_A_SLICE))
            )
            _wait(running, notes, MOST_AHEAD)
        _wait(running, notes, 0)
        running.rest()


def left(running: Stack) -> int:
    """How many passages wait for their vectors, as their jobs tell."""
    with running.client() as client:
        jobs = [job for job in client.jobs(limit=100).jobs if job.state not in FINISHED]
    return sum(max(1, job.total - job.done) for job in jobs)


def _slice(running: Stack, notes: Notes, texts: Texts, folder: Path, numbers: range) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    texts.write(folder, numbers)
    begun, sources = time.monotonic(), notes["sources"] or 0
    for ontology in (name for name in ONTOLOGIES if (folder / name).exists()):
        told = json.loads(running.kg("ingest", str(folder / ontology), "--ontology", ontology, "--json"))
        sources += sum(each["sources"]["added"] for each in told["documents"])
    notes.add("ingest_seconds", time.monotonic() - begun)
    notes.add("whole_seconds", time.monotonic() - begun)
    notes["sources"], notes["documents"] = sources, numbers.stop
    shutil.rmtree(folder)
    print(f"{numbers.stop} documents, {sources} passages", file=sys.stderr, flush=True)


def _wait(running: Stack, notes: Notes, most: int) -> None:
    begun = time.monotonic()
    while left(running) > most:
        time.sleep(POLL_SECONDS)
    notes.add("whole_seconds", time.monotonic() - begun)


@contextmanager
def _watched(running: Stack, notes: Notes) -> Generator[None]:
    """Note the most memory of each process, and the processor time that all took."""
    ended = threading.Event()
    watched = Watched(running.pids())
    before = watched.cpu_seconds()
    peak: dict[str, Any] = notes["peak_mb"] or {}

    def look() -> None:
        while not ended.wait(MEMORY_SECONDS):
            for role, used in watched.memory_mb().items():
                peak[role] = max(peak.get(role, 0), used)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        notes["peak_mb"] = peak
        for role, used in watched.cpu_seconds().items():
            notes.add(f"cpu_seconds {role}", used - before[role])


def complete(running: Stack) -> dict[str, int]:
    """How many passages have their vector; none may be missing before anything is measured.

    Raises:
        SystemExit: some are.
    """
    try:
        with running.client() as client:
            told = client.embedding_status()
    except KgError as error:
        raise SystemExit(str(error)) from error
    if told.embedded != told.total:
        raise SystemExit(f"only {told.embedded} of {told.total} passages have their vector")
    return {"passages": told.total}

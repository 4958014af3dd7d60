"""Backups as folders, made without a database."""

from __future__ import annotations

import datetime as dt
import hashlib
from pathlib import Path
from typing import Any

from kg_api import __version__
from kg_api.graph.schema import list_known
from kg_api.local import neo4j
from kg_api.transfer import backup
from kg_api.transfer.backup import BackedUpFile, BackupCounts, BackupManifest

FILES = {
    "database/databases/neostore": b"records",
    "database/transactions/log.0": b"log",
    "blobs/ab/ab1": b"x",
}
COUNTS = BackupCounts(ontologies=1, documents=2, sources=3, concepts=0, pictures=1)


def manifest_of(files: dict[str, bytes], **other: Any) -> BackupManifest:
    """A manifest that these files fit."""
    listed = [
        BackedUpFile(path=path, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        for path, content in files.items()
    ]
    usual = BackupManifest(
        format=backup.FORMAT,
        kg_version=__version__,
        neo4j_version=neo4j.VERSION,
        schema_version=list_known()[-1],
        made_at=dt.datetime(2026, 1, 31, 4, tzinfo=dt.UTC),
        seconds=1.5,
        paused_seconds=0.02,
        home="/home",
        counts=COUNTS,
        counts_exact=True,
        settings=[],
        left_out=[],
        files=listed,
    )
    return usual.model_copy(update=other)


def write_backup(folder: Path, name: str, **other: Any) -> Path:
    """Write a backup of three small files."""
    place = folder / name
    for path, content in FILES.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content)
    backup.write(place, manifest_of(FILES, **other))
    return place

import datetime as dt
from pathlib import Path
from typing import Any

from kg_api import __version__
from kg_api.local import neo4j
from kg_api.transfer import backup
from kg_api.transfer.backup import BackupManifest, describe_file

FILES = {"neo4j.dump": b"records", "blobs/ab/ab1": b"x"}


def write_backup(folder: Path, name: str, **other: Any) -> Path:
    place = folder / name
    for path, content in FILES.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content)
    usual = BackupManifest(
        format=backup.FORMAT,
        kg_version=__version__,
        neo4j_version=neo4j.VERSION,
        made_at=dt.datetime(2026, 1, 31, 4, tzinfo=dt.UTC),
        seconds=1.5,
        home="/home",
        settings=[],
        left_out=[],
        files=[describe_file(place, place / path) for path in FILES],
    )
    text = usual.model_copy(update=other).model_dump_json()
    (place / backup.MANIFEST).write_text(text)
    return place

"""What a backup says of itself: written last, so that a folder without it is no backup."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator

from kg_api.errors import Conflict
from kg_api.files.whole import write_whole

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
DATABASE: Final = "database"
BLOBS: Final = "blobs"
Count = Annotated[int, Field(ge=0)]
Measure = Annotated[float, Field(ge=0)]

LEFT_OUT: Final = (
    "the password of Neo4j and the accounts of its `system` database: made anew by a restore",
    "folder-key: made anew; `kg folders add` again for followed folders outside of KG_SYNC__ROOTS",
    "settings (KG_* and providers' variables) and their keys: they are not kept in the home",
    "logs, ports and pids, Neo4j's own program and the models: made or fetched again",
)
"""What is in no backup, in words for a person."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class BackupCounts(_Frozen):
    """What a database holds."""

    ontologies: Count
    documents: Count
    sources: Count
    concepts: Count
    pictures: Count


class BackedUpFile(_Frozen):
    path: str
    """Below the backup, with `/`."""
    bytes: Count
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

    @field_validator("path")
    @classmethod
    def _stays_below(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if len(parts) < 2 or parts[0] not in {DATABASE, BLOBS} or ".." in parts or re.search(r"[\\\0]", path):  # noqa: PLR2004
            raise ValueError("it is no place within a backup")
        return path


class BackupManifest(_Frozen):
    """All that is known of a backup."""

    format: int
    kg_version: str
    neo4j_version: str
    schema_version: str
    """The last migration; empty where no service has ever opened the database."""
    made_at: AwareDatetime
    seconds: Measure
    """How long it took."""
    paused_seconds: Measure
    """How long Neo4j stood still for it."""
    home: str
    counts: BackupCounts
    counts_exact: bool
    """Whether nothing changed them while it was made."""
    settings: list[str]
    """Names of the variables that were set: they are needed again."""
    left_out: list[str]
    files: list[BackedUpFile]

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.files)


def write(folder: Path, manifest: BackupManifest) -> None:
    """Write the manifest, with which the backup is whole.

    Raises:
        OSError: the folder cannot be written.
    """
    content = manifest.model_dump_json(indent=1).encode()
    write_whole(folder / MANIFEST, content, prefix=f".{MANIFEST}")


def read(folder: Path) -> BackupManifest:
    """Read what a backup says of itself.

    Raises:
        Conflict: there is none, it is damaged, or of a kg that writes others.
    """
    try:
        manifest = BackupManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise Conflict(
            f"there is no backup in {folder}: it has no {MANIFEST}, which is written last"
        ) from None
    except (OSError, ValidationError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged, or of a newer kg"
        raise Conflict(f"{folder / MANIFEST} cannot be read: {reason}") from None
    if manifest.format != FORMAT:
        raise Conflict(
            f"{folder} was written by kg {manifest.kg_version}, in a form that this kg does not know"
        )
    return manifest

"""Synced folders."""

from __future__ import annotations

import hmac
from datetime import datetime
from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from kg_api.schemas.base import Answer, Body, Flag, OntologyName, Text, compute_digest
from kg_api.schemas.vocabulary import JobState

SCAN_KIND = "folder_sync"
MAX_DUPLICATES_KEPT = 100
MAX_REFUSALS_KEPT = 1000
MAX_REFUSALS_SHOWN = 100
MIN_SCAN_SECONDS, MAX_SCAN_SECONDS = 10, 31 * 86_400


def _require_absolute(path: str) -> str:
    """Return the normalized path. Raise ValueError for a relative path."""
    if not PurePath(path).is_absolute() or ".." in PurePath(path).parts:
        raise ValueError("must be an absolute path without '..'")
    return str(PurePath("/", path.lstrip("/")) if path.startswith("//") else PurePath(path))


FolderPath = Annotated[
    Text, StringConstraints(min_length=1, max_length=2000), AfterValidator(_require_absolute)
]


class NewFolder(Body):
    path: FolderPath
    """Path on the machine of the worker."""
    ontology: OntologyName
    every_seconds: Annotated[int, Field(strict=True, ge=MIN_SCAN_SECONDS, le=MAX_SCAN_SECONDS)] = 300
    """Seconds between the end of a scan and the start of the next. kg checks every minute."""
    prefix: Annotated[Text, StringConstraints(max_length=200)] = ""
    """Prefix of document names. It separates the files of two folders."""
    review: Flag = False


class ScanRequest(Body):
    allow_empty: bool = False
    """Whether to delete documents if the folder is empty or a file system in it is not mounted."""


class RefusedFile(BaseModel):
    document: str
    reason: str
    stamp: str = ""
    """Fingerprint of the file. A scan skips a file with the same fingerprint."""


class DuplicateFile(BaseModel):
    document: str
    duplicate_of: str


class Tally(BaseModel):
    """Numbers of files in a scan."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    refused: int = 0
    postponed: int = 0
    """Number of files during a write. The next scan reads them."""
    waiting: int = 0
    moved: int = 0
    """Number of added files with the text of a missing file. They were renamed."""
    duplicates: int = 0
    duplicate_files: list[DuplicateFile] = Field(default_factory=list[DuplicateFile])
    left_out: dict[str, int] = Field(default_factory=dict[str, int])


class ScanTally(Tally):
    refusals: list[RefusedFile] = Field(default_factory=list[RefusedFile])
    mounts: dict[str, str] = Field(default_factory=dict[str, str])
    """Mount points in the folder with an id of the file system. Only complete scans store them."""


class Refusal(Answer):
    document: str
    reason: str


class FolderScan(Tally, Answer):
    """Result of the last complete scan."""

    finished_at: datetime
    refusals: list[Refusal]


class Folder(Answer):
    folder_id: str
    path: str
    ontology: str
    prefix: str
    every_seconds: int
    review: bool = False
    right: Literal["roots", "owner"] = "roots"
    """Permission to read the folder: it is in KG_SYNC__ROOTS, or the user of this home added it."""
    created_at: datetime
    next_scan_at: datetime
    documents: int
    job_id: str | None
    state: JobState | None
    done: int
    total: int
    removing: bool = False
    error: str | None
    """Error of the last scan. A failed scan removes nothing."""
    last_scan: FolderScan | None


class FolderList(Answer):
    folders: list[Folder]


class FolderRemoved(Answer):
    folder_id: str
    path: str
    ontology: str
    kept_documents: int
    deleted_documents: int
    deleted_sources: int


def build_folder_id(path: str, ontology: str) -> str:
    return compute_digest("folder", ontology, path)


def build_folder_grant(key: str, path: str, ontology: str) -> str:
    """Build the permission to sync a folder. Only a reader of the home's key can create it."""
    message = f"follow\0{ontology}\0{path}"
    return hmac.digest(key.encode(), message.encode("utf-8", "surrogatepass"), "sha256").hex()


def overlap(path: str, other: str) -> bool:
    one, two = PurePath(path), PurePath(other)
    return one.is_relative_to(two) or two.is_relative_to(one)

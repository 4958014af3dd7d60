"""Folders that are kept in step with an ontology."""

from __future__ import annotations

import hmac
from datetime import datetime
from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from kg_api.schemas.base import Answer, Body, Flag, OntologyName, Text, digest
from kg_api.schemas.vocabulary import JobState

SCAN_KIND = "folder_sync"
MAX_DUPLICATES_KEPT = 100
MAX_REFUSALS_KEPT = 1000
MAX_REFUSALS_SHOWN = 100
MIN_SCAN_SECONDS, MAX_SCAN_SECONDS = 10, 31 * 86_400


def _absolute(path: str) -> str:
    """Return the path in its shortest form; raise ValueError if it depends on where one stands."""
    if not PurePath(path).is_absolute() or ".." in PurePath(path).parts:
        raise ValueError("must be an absolute path without '..' in it")
    return str(PurePath("/", path.lstrip("/")) if path.startswith("//") else PurePath(path))


FolderPath = Annotated[Text, StringConstraints(min_length=1, max_length=2000), AfterValidator(_absolute)]


class NewFolder(Body):
    path: FolderPath
    """Where it is on the machine of the worker."""
    ontology: OntologyName
    every_seconds: Annotated[int, Field(strict=True, ge=MIN_SCAN_SECONDS, le=MAX_SCAN_SECONDS)] = 300
    """How long after a scan the next one begins; the schedule looks every minute."""
    prefix: Annotated[Text, StringConstraints(max_length=200)] = ""
    """Put before each document's name, to tell apart the files of two folders."""
    review: Flag = False


class ScanRequest(Body):
    allow_empty: bool = False
    """Whether documents are deleted even if the folder is empty, or a file system of it is not mounted."""


class RefusedFile(BaseModel):
    document: str
    reason: str
    stamp: str = ""
    """What the file looked like; the same is not read again."""


class DuplicateFile(BaseModel):
    document: str
    duplicate_of: str


class Tally(BaseModel):
    """How many files a scan added, changed, and so on."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    refused: int = 0
    postponed: int = 0
    """Files that were being written; the next scan looks at them again."""
    waiting: int = 0
    moved: int = 0
    """Of those added, files that say what one says that has gone: they have another name now."""
    duplicates: int = 0
    duplicate_files: list[DuplicateFile] = Field(default_factory=list[DuplicateFile])
    left_out: dict[str, int] = Field(default_factory=dict[str, int])


class ScanTally(Tally):
    """What a scan has done so far, as it is stored."""

    refusals: list[RefusedFile] = Field(default_factory=list[RefusedFile])
    mounts: dict[str, str] = Field(default_factory=dict[str, str])
    """Mount points of the folder and below it, each with what tells its file system; of whole scans alone."""


class Refusal(Answer):
    document: str
    reason: str


class FolderScan(Tally, Answer):
    """What the last complete scan did."""

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
    """Why it may be read: it lies below KG_SYNC__ROOTS, or this home's own user asked for it."""
    created_at: datetime
    next_scan_at: datetime
    documents: int
    job_id: str | None
    state: JobState | None
    done: int
    total: int
    removing: bool = False
    error: str | None
    """Why its last scan could not be done; nothing was removed then."""
    looks_emptied: bool = False
    """Whether that is because it held no file though documents came from it: a scan with `allow_empty` takes
    it as cleared on purpose, and removes them."""
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


def folder_id(path: str, ontology: str) -> str:
    return digest("folder", ontology, path)


def folder_grant(key: str, path: str, ontology: str) -> str:
    """Return what only a reader of a home's key can make: leave to follow one folder into one ontology."""
    said = f"follow\0{ontology}\0{path}"
    return hmac.digest(key.encode(), said.encode("utf-8", "surrogatepass"), "sha256").hex()


def overlap(path: str, other: str) -> bool:
    one, two = PurePath(path), PurePath(other)
    return one.is_relative_to(two) or two.is_relative_to(one)

"""Files of a synced folder: access checks, mounts, reading, images, and results."""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import stat
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, get_args

import psutil

from kg_api import __version__
from kg_api.errors import FolderEmptied, FolderUnusable, TooLarge, UnreadableDocument
from kg_api.graph.folders import FileMark
from kg_api.schemas.base import normalize_document_name
from kg_api.schemas.documents import DocumentRecord, StoredChange
from kg_api.schemas.folders import (
    MAX_DUPLICATES_KEPT,
    MAX_REFUSALS_KEPT,
    DuplicateFile,
    RefusedFile,
    ScanTally,
    build_folder_grant,
)
from kg_api.schemas.metadata import format_file_time
from kg_api.text.documents import SUFFIXES
from kg_api.text.files import FileProblem, FileToIngest, find_reason_to_skip, select
from kg_api.text.sources import SPLITTER_VERSION

# Folder access: folders below KG_SYNC__ROOTS, and folders granted by the owner of KG_HOME


@dataclass(frozen=True, slots=True)
class FolderAccess:
    """The limits for registration by the service and reading by the worker."""

    roots: Sequence[Path]  # every client of the service may sync folders below these
    private: Sequence[Path]  # KG_HOME and KG_CACHE, which are never read
    key: Callable[[], str | None]  # key of KG_HOME that signs grants. None: no key

    def is_granted(self, path: str, ontology: str, grant: str | None) -> bool:
        """Check if an owner of the home's key granted this folder to this ontology."""
        key = self.key()
        if key is None or grant is None:
            return False
        return hmac.compare_digest(build_folder_grant(key, path, ontology).encode(), grant.encode())

    def find_objection(self, path: str, *, granted: bool, root: Path | None = None) -> str | None:
        """Return the reason why a folder must not be read, or None."""
        leads = f" (it links to {root})" if root not in {None, Path(path)} else ""
        root = root or _resolve(Path(path))
        if _is_hidden(Path(path)) or _is_hidden(root):
            return f"{path}{leads} is hidden, and kg never syncs hidden folders. Choose another folder"
        if any(self.is_private(folder) for folder in (root, *root.parents)):
            return f"{path} is inside KG_HOME or KG_CACHE, which kg never syncs. Choose another folder"
        if granted and root == Path(path):
            return None
        if any(root.is_relative_to(_resolve(allowed)) for allowed in self.roots):
            return None
        return self._describe_outside(path + leads)

    def is_private(self, folder: Path) -> bool:
        """Check if a folder is KG_HOME or KG_CACHE, under any name."""
        return any(folder == private or _is_same(folder, private) for private in self.private)

    def _describe_outside(self, path: str) -> str:
        roots = ", ".join(map(str, self.roots)) or "the variable is not set"
        return (
            f"{path} is outside of the folders that KG_SYNC__ROOTS allows ({roots}). Set "
            "KG_SYNC__ROOTS for service and worker. For your own folder, run `kg folders add` on the "
            "machine of the service with its KG_HOME (if the folder is registered, first run `kg "
            "folders remove`, which keeps its documents)"
        )


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a loop of links, which no worker can read
        return path


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _is_same(folder: Path, other: Path) -> bool:
    try:
        return folder.samefile(other)
    except OSError:
        return False


# Folder contents. An unreadable folder is an error, never an empty folder


@dataclass(frozen=True, slots=True)
class FolderListing:
    """The files of a folder, by document name."""

    root: Path  # with links resolved
    place: tuple[int, int]  # Device and inode. A change means that the folder was mounted or replaced.
    prefix: str
    files: Sequence[FileToIngest]  # in code point order of their names
    problems: Sequence[FileProblem]
    left_out: dict[str, int]
    is_private: Callable[[Path], bool]  # returns whether a folder belongs to kg and must not be read

    def list_gone(self, names: Iterable[str]) -> list[str]:
        """Return names without a file. Files in unreadable folders count as present."""
        there = {file.document for file in self.files}
        unseen = tuple(problem.document for problem in self.problems if problem.document.endswith("/"))
        there |= {problem.document for problem in self.problems}
        return sorted(name for name in set(names) - there if not name.startswith(unseen))

    def is_still_mounted(self) -> bool:
        try:
            return _get_place(self.root.stat()) == self.place
        except OSError:
            return False

    def is_deleted(self, name: str) -> bool:
        """Check that no file with this name exists. Return False if this is unknown.

        A folder, or a link to one, is not a file, even if its name was the name of a file.
        """
        if name != normalize_document_name(name) or not name.startswith(self.prefix):
            return True  # synced with another prefix, or with unnormalized names by an older version
        path = self._locate(name)
        if any(self.is_private(folder) for folder in path.parents):
            return True  # synced by an older version that read such folders
        try:
            if path.parent.resolve() != path.parent:
                return True  # behind a link to a folder, which kg does not follow
            path.lstat()
            return path.is_dir()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, RuntimeError):
            return False

    def explain_kept(self, name: str) -> str | None:
        """Return why the listing skipped an existing file, or None if the file appeared after the listing."""
        if find_reason_to_skip(self._locate(name), SUFFIXES) is None:
            return None
        return (
            "kg no longer reads the file: the extension is not supported, or the file has none and contains "
            "no text. The previous document stays until you delete the file"
        )

    def _locate(self, name: str) -> Path:
        return self.root / name.removeprefix(self.prefix)


def list_folder(path: str, prefix: str, access: FolderAccess, *, granted: bool) -> FolderListing:
    root, seen = _resolve_listing(path)
    if objection := access.find_objection(path, granted=granted, root=root):
        raise FolderUnusable(f"{objection}. Nothing was deleted")
    selection = select([root], SUFFIXES, prefix, passed_over=access.is_private)
    for problem in selection.problems:
        if problem.path == str(root):
            raise FolderUnusable(f"{path} {problem.reason}. Nothing was deleted")
    return FolderListing(
        root=root,
        place=_get_place(seen),
        prefix=normalize_document_name(prefix),
        files=sorted(selection.files, key=lambda file: file.document),
        problems=selection.problems,
        left_out=dict(selection.left_out),
        is_private=access.is_private,
    )


def _resolve_listing(path: str) -> tuple[Path, os.stat_result]:
    try:
        root = Path(path).resolve(strict=True)
        seen = root.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise FolderUnusable(
            f"folder {path} not found on the machine of the worker ({socket.gethostname()}). Mount "
            "the folder, or run a worker on its machine. Nothing was deleted"
        ) from None
    except (OSError, RuntimeError) as error:
        raise FolderUnusable(f"{path} cannot be read: {error}. Nothing was deleted") from error
    if not stat.S_ISDIR(seen.st_mode):
        raise FolderUnusable(f"{path} is not a folder. Nothing was deleted")
    return root, seen


def _get_place(seen: os.stat_result) -> tuple[int, int]:
    return seen.st_dev, seen.st_ino


# Mounts: an unmounted file system must not look like deleted files
#
# A scan stores the mounts. If a file system disappears or is replaced, its documents stay until a user
# confirms the change.

MAX_REMEMBERED = 100
ABSENT = "absent"
"""Identity of a file system that the last scan did not see. A file system mounted there may be new."""


def read_mounts(root: Path) -> dict[str, str]:
    """Read the mount point of a folder and those below it, each with the identity of its file system."""
    points = {Path(each.mountpoint) for each in psutil.disk_partitions(all=True)}
    above = max(filter(root.is_relative_to, points), key=lambda each: len(each.parts), default=root)
    below = sorted(each for each in points if each != root and each.is_relative_to(root))
    return {str(each): _identify(each) for each in (above, *below[:MAX_REMEMBERED])}


class MountCheck:
    """Compares the mounts of a folder with those of its last scan.

    `stored` has the names of all documents of the folder. `before` is empty if the last mounts are unknown.
    """

    def __init__(
        self,
        listing: FolderListing,
        before: Mapping[str, str],
        now: Mapping[str, str],
        stored: Collection[str],
    ) -> None:
        self._listing = listing
        self._before = before
        self._now = now
        self._stored = stored
        self._gone = frozenset(listing.list_gone(stored))

    def require_mounted_root(self) -> None:
        """Raise FolderEmptied if the folder's file system was replaced and documents have no file."""
        before, now = self._find_root_mount(self._before), self._find_root_mount(self._now)
        if before is None or now is None or not self._gone:
            return
        vanished = before != now and Path(before).is_relative_to(now)
        replaced = (before, self._before[before]) != (now, self._now[now])
        if vanished or (replaced and len(self._gone) == len(self._stored)):
            what = (
                f"the file system that was at {before} is not mounted"
                if vanished
                else f"another file system than at the last scan is at {now}"
            )
            raise FolderEmptied(
                f"{self._listing.root}: {what}, and {len(self._gone)} documents have no file. Nothing "
                "was removed"
            )

    def list_absent(self) -> list[FileProblem]:
        """List the mounts below the folder whose documents must stay, each with the reason."""
        return [
            FileProblem(point, reason, self._get_name_prefix(point))
            for point in sorted({*self._before, *self._now})
            if Path(point) != self._listing.root and Path(point).is_relative_to(self._listing.root)
            if self._before and (reason := self._find_reason_to_keep(point))
        ]

    def to_remember(self, absent: Collection[FileProblem]) -> dict[str, str]:
        """Return the mounts for the next scan. Known absent mounts stay known."""
        kept = {problem.path for problem in absent}
        present = {point: identity for point, identity in self._now.items() if point not in kept}
        return present | {point: ABSENT for point in kept if point in self._before}

    def _find_reason_to_keep(self, point: str) -> str | None:
        beginning = self._get_name_prefix(point)
        stored = [name for name in self._stored if name.startswith(beginning)]
        gone = [name for name in stored if name in self._gone]
        if not gone:
            return None
        if point not in self._now:
            return f"the file system there is not mounted: {len(gone)} documents stay without their files"
        changed = self._before.get(point) != self._now[point]
        has_files = any(file.document.startswith(beginning) for file in self._listing.files)
        if len(gone) == len(stored) and (changed or not has_files):
            state = "has other files than before, and none is taken" if has_files else "is empty"
            return f"the file system there {state}: {len(gone)} documents stay without their files"
        return None

    def _get_name_prefix(self, point: str) -> str:
        return normalize_document_name(
            f"{self._listing.prefix}{Path(point).relative_to(self._listing.root).as_posix()}/"
        )

    def _find_root_mount(self, mounts: Mapping[str, str]) -> str | None:
        root = self._listing.root
        return next((point for point in mounts if root.is_relative_to(point)), None)


def _identify(point: Path) -> str:
    try:
        return f"{point.stat().st_dev}:{os.statvfs(point).f_fsid}"
    except OSError:  # mounted, but the server does not respond. The listing reports the problem
        return ABSENT


# Reading a file: only inside the folder, and never during a write

SETTLED_SECONDS = 2.0
"""Minimum age of a change. A later change could fall within the same tick of the file system's clock."""
_FLAGS = (  # O_NONBLOCK: the open of a named pipe must not wait for a writer
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
)


class UnsettledFile(Exception):
    """The file is being written or was just deleted."""


@dataclass(frozen=True, slots=True)
class Content:
    data: bytes
    stamp: str | None  # File fingerprint. None: the last change is too recent to detect another one.
    file_hash: str  # hash of the content and the splitter version
    modified: str | None = None


def resolve_inside(path: Path, root: Path, is_private: Callable[[Path], bool]) -> Path:
    """Return the file behind a path, with links resolved."""
    try:
        resolved = path.resolve(strict=True)
    except FileNotFoundError:
        raise UnsettledFile from None
    if not resolved.is_relative_to(root):
        raise UnreadableDocument(
            "the path is a link that leads out of the folder. kg does not follow such links"
        )
    below = resolved.relative_to(root)
    if any(part.startswith(".") for part in below.parts) or any(map(is_private, resolved.parents)):
        raise UnreadableDocument(
            "the path is a link to a hidden folder or a folder of kg, which kg does not follow"
        )
    return resolved


def compute_file_stamp(seen: os.stat_result) -> str:
    """Return size, modification and change time, and versions. A new splitter makes kg read every file."""
    return f"{SPLITTER_VERSION}:{__version__}:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"


def read_settled(path: Path, max_bytes: int) -> Content:
    """Read a file that does not change during the read."""
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise UnsettledFile from None
    with open(handle, "rb") as file:  # noqa: PTH123 - a handle, not a path
        before = os.fstat(handle)
        _check(before, max_bytes)
        if not _is_that_file(path, before):
            raise UnsettledFile
        data = file.read(max_bytes + 1)
        after = os.fstat(handle)
    if compute_file_stamp(before) != compute_file_stamp(after) or len(data) != after.st_size:
        raise UnsettledFile
    stamp = compute_file_stamp(after) if _is_settled(after) else None
    return Content(
        data,
        stamp,
        f"{SPLITTER_VERSION}:{hashlib.sha256(data).hexdigest()}",
        format_file_time(after.st_mtime),
    )


def _is_that_file(path: Path, opened: os.stat_result) -> bool:
    """Check that the path still leads to the opened file without links: a folder may have been replaced."""
    try:
        return path.resolve(strict=True) == path and os.path.samestat(path.lstat(), opened)
    except OSError:
        return False


def _check(seen: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(seen.st_mode):
        raise UnreadableDocument("the path is a pipe, a socket, or a device, not a file")
    if seen.st_size > max_bytes:
        raise TooLarge(
            f"the file is larger than {max_bytes:,} bytes (KG_API__MAX_DOCUMENT_BYTES). Split the file"
        )


def _is_settled(seen: os.stat_result) -> bool:
    return time.time() - max(seen.st_mtime, seen.st_ctime) > SETTLED_SECONDS


# Scan position: files by name first, then documents without a file

Phase = Literal["file", "gone", "end"]


@dataclass(frozen=True, slots=True)
class ScanPosition:
    phase: Phase = "file"
    name: str = ""

    @classmethod
    def parse(cls, cursor: str) -> Self:
        """Parse the cursor of a job. "" is the start."""
        phase, _, name = cursor.partition(":")
        return cls(phase, name) if phase in {"file", "gone", "end"} else cls()  # pyright: ignore[reportArgumentType]

    def cursor(self) -> str:
        return f"{self.phase}:{self.name}"

    def is_done(self, name: str, phase: Phase = "file") -> bool:
        """Check if a name was processed in a phase. A name without a file may have kept its document."""
        order = get_args(Phase)
        return (order.index(phase), name) <= (order.index(self.phase), self.name)


# Results per file and their totals

Result = Literal["added", "changed", "unchanged", "removed", "refused", "postponed", "waiting"]
RESULT_OF_CHANGE: dict[str, Result] = {
    "created": "added",
    "updated": "changed",
    "unchanged": "unchanged",
    "waiting": "waiting",
}


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The action for one file. `result` is None until the document is stored."""

    document: str
    result: Result | None
    refusal: RefusedFile | None = None
    mark: FileMark | None = None  # file state to store, if it changed
    record: DocumentRecord | None = None


def build_rejection(document: str, reason: str, stamp: str = "") -> FileOutcome:
    return FileOutcome(document, "refused", RefusedFile(document=document, reason=reason, stamp=stamp))


def describe_failure(error: Exception) -> str:
    """Explain that a file caused an internal error."""
    return (
        f"kg failed on the file ({type(error).__name__}). See the log of the worker, and please report "
        "the problem"
    )


def parse_refusals(refusals: Iterable[RefusedFile]) -> dict[str, RefusedFile]:
    """Return rejected files that need no re-read while they are unchanged, by name."""
    return {each.document: each for each in refusals if each.stamp}


def add_results(
    tally: ScanTally, results: Sequence[Result], refusals: Sequence[RefusedFile] = ()
) -> ScanTally:
    """Return a tally with further results. All rejections are counted, but their list is limited."""
    counts = {name: getattr(tally, name) + results.count(name) for name in set(results)}
    kept = [*tally.refusals, *refusals][:MAX_REFUSALS_KEPT]
    return tally.model_copy(update={**counts, "refusals": kept})


def add_same_texts(
    tally: ScanTally, found: Iterable[tuple[str, StoredChange]], gone: Collection[str]
) -> ScanTally:
    """Return a tally with moved files and duplicates of other documents."""
    moved, duplicates = tally.moved, list[DuplicateFile]()
    for document, change in found:
        here = [name for name in change.same_text if name not in gone]
        moved += change.change == "created" and len(here) < len(change.same_text)
        duplicates += [DuplicateFile(document=document, duplicate_of=here[0])] if here else []
    kept = [*tally.duplicate_files, *duplicates][:MAX_DUPLICATES_KEPT]
    count = tally.duplicates + len(duplicates)
    return tally.model_copy(update={"moved": moved, "duplicates": count, "duplicate_files": kept})

"""File systems in a folder: one that is not mounted looks as if somebody had deleted its files.

A scan remembers where file systems were mounted. If one is gone, or another one took its place, its documents
stay until a person says that the change is meant.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

import psutil

from kg_api.errors import FolderEmptied
from kg_api.models.identity import document_name
from kg_api.parse.files import FileProblem
from kg_api.sync.listing import FolderListing

MAX_REMEMBERED = 100
ABSENT = "absent"
"""Of a file system that the last scan did not see: whatever is mounted then can be another one."""


def read_mounts(root: Path) -> dict[str, str]:
    """Return the mount point that a folder is on and those below it, each with what tells its file system."""
    points = {Path(each.mountpoint) for each in psutil.disk_partitions(all=True)}
    above = max(filter(root.is_relative_to, points), key=lambda each: len(each.parts), default=root)
    below = sorted(each for each in points if each != root and each.is_relative_to(root))
    return {str(each): _identify(each) for each in (above, *below[:MAX_REMEMBERED])}


class MountCheck:
    """Compares the mounts of a folder with those of its last scan.

    Args:
        listing: of the folder.
        before: mounts at the last scan; empty if they are unknown.
        now: mounts after the listing.
        stored: names of all documents of the folder.
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
        self._gone = frozenset(listing.gone(stored))

    def refuse_absent_root(self) -> None:
        """Refuse to delete anything if the file system of the folder itself is not the one of the last scan.

        Raises:
            FolderEmptied: it is not mounted, or another one is, and documents would be deleted.
        """
        before, now = self._point_of_root(self._before), self._point_of_root(self._now)
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
        """Return the mounts below the folder whose documents must stay, each with the reason."""
        return [
            FileProblem(point, reason, self._beginning_of(point))
            for point in sorted({*self._before, *self._now})
            if Path(point) != self._listing.root and Path(point).is_relative_to(self._listing.root)
            if self._before and (reason := self._reason_to_keep(point))
        ]

    def to_remember(self, absent: Collection[FileProblem]) -> dict[str, str]:
        """Return what the next scan compares with: an absent mount that it knew stays known."""
        kept = {problem.path for problem in absent}
        present = {point: identity for point, identity in self._now.items() if point not in kept}
        return present | {point: ABSENT for point in kept if point in self._before}

    def _reason_to_keep(self, point: str) -> str | None:
        beginning = self._beginning_of(point)
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

    def _beginning_of(self, point: str) -> str:
        """What the names of the documents of a mount begin with."""
        return document_name(
            f"{self._listing.prefix}{Path(point).relative_to(self._listing.root).as_posix()}/"
        )

    def _point_of_root(self, mounts: Mapping[str, str]) -> str | None:
        root = self._listing.root
        return next((point for point in mounts if root.is_relative_to(point)), None)


def _identify(point: Path) -> str:
    try:
        return f"{point.stat().st_dev}:{os.statvfs(point).f_fsid}"
    except OSError:  # mounted, and its server does not answer: the listing reports it
        return ABSENT

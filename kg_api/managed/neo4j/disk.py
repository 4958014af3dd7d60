"""Room on the disk of the managed Neo4j, which panics when it has none left to write to."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from kg_api.errors import StorageFull

MIB = 1024 * 1024
LITTLE_BYTES = 512 * MIB
"""A person should know when less is left."""
START_BYTES = 32 * MIB
"""Without about this much Neo4j does not even start."""


@dataclass(frozen=True, slots=True)
class DiskRoom:
    """The room on the disk of a folder."""

    folder: Path
    reserve_bytes: int
    """Nothing is written when less is left: it is for what Neo4j writes by itself, such as checkpoints."""

    def free_bytes(self) -> int | None:
        """Give what is left; None when that cannot be told."""
        there = next((path for path in (self.folder, *self.folder.parents) if path.exists()), None)
        try:
            return None if there is None else shutil.disk_usage(there).free
        except OSError:
            return None

    def is_little(self) -> bool:
        """Whether a person should know how little is left."""
        free = self.free_bytes()
        return free is not None and free < max(LITTLE_BYTES, self.reserve_bytes)

    def too_little_to_start(self) -> str | None:
        """Say how much room a start waits for; None when there is enough."""
        free = self.free_bytes()
        if free is None or free >= START_BYTES:
            return None
        return f"{START_BYTES // MIB} MiB of room at {self.folder}: the disk is full, free some space"

    def shortage(self) -> str | None:
        """Say that nothing can be written; None as long as there is room."""
        free = self.free_bytes()
        if free is None or free >= self.reserve_bytes:
            return None
        return (
            f"the disk is full: {free / MIB:.0f} MiB are left at {self.folder}, and writing needs more than "
            f"{self.reserve_bytes // MIB} MiB (KG_NEO4J__DISK_RESERVE_MB). Searches are answered; "
            "free some space, and writing goes on by itself"
        )

    def require(self) -> None:
        """Let writing begin.

        Raises:
            StorageFull: there is no room.
        """
        if shortage := self.shortage():
            raise StorageFull(shortage)

"""Where a scan stands: files first, in the order of their names, then the documents whose files have gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

Phase = Literal["file", "gone", "end"]


@dataclass(frozen=True, slots=True)
class ScanPosition:
    """The last name that was done, and of what."""

    phase: Phase = "file"
    name: str = ""

    @classmethod
    def of(cls, cursor: str) -> Self:
        """Read the cursor of a job; "" is the beginning."""
        phase, _, name = cursor.partition(":")
        return cls(phase, name) if phase in {"file", "gone", "end"} else cls()  # pyright: ignore[reportArgumentType]

    def cursor(self) -> str:
        return f"{self.phase}:{self.name}"

    def is_done(self, name: str) -> bool:
        """Whether a file of that name has been looked at."""
        return self.phase != "file" or name <= self.name

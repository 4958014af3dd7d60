"""What `kg doctor` finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The outcome of one check."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""
    """What to do about it, when something is to be done."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

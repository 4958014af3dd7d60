from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Status:
    status: int
    retry_after: str | None = None
    message: str = "told to"
    code: str | None = None
    param: str | None = None


@dataclass(frozen=True)
class Hang:
    seconds: float = 60


@dataclass(frozen=True)
class Drop:
    """Break the connection off: before the answer, or in the middle of its body."""

    mid_body: bool = True


@dataclass(frozen=True)
class Raw:
    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True)
class Spoil:
    """Change the right answer before it is sent: a function of the JSON object."""

    how: Callable[[dict[str, Any]], None]

    def __repr__(self) -> str:
        """Without an address, for it names a test that several processes collect."""
        return f"Spoil({self.how.__name__})"


Behaviour = Status | Hang | Drop | Raw | Spoil

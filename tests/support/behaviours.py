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
class Drip:
    """Send the response one byte at a time, from the headers or the body, and do not stop."""

    head: bool = False
    every: float = 0.05


@dataclass(frozen=True)
class Drop:
    """Close the connection before the response, or in the middle of it."""

    mid_body: bool = True


@dataclass(frozen=True)
class Raw:
    body: bytes
    content_type: str = "application/json"


@dataclass(frozen=True)
class Spoil:
    """Function to change the JSON before it is sent."""

    how: Callable[[Any], Any]

    def __repr__(self) -> str:
        """Return a name without an address, because it is used as the name of a test in several
        processes."""
        return f"Spoil({self.how.__name__})"


Behaviour = Status | Hang | Drip | Drop | Raw | Spoil

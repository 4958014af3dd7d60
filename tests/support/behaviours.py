import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


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


def read_vectors(reply: dict[str, Any]) -> list[Any]:
    """Return the vectors of a reply as lists, which a test can change."""
    if "embeddings" in reply:
        return reply["embeddings"]
    for item in reply["data"]:
        if isinstance(item["embedding"], str):
            item["embedding"] = np.frombuffer(base64.b64decode(item["embedding"]), "<f4").tolist()
    return [item["embedding"] for item in reply["data"]]


def fill_last(value: Any) -> Callable[[dict[str, Any]], None]:
    def spoil(reply: dict[str, Any]) -> None:
        row = read_vectors(reply)[-1]
        row[:] = [value] * len(row)

    return spoil


def shorten(reply: dict[str, Any]) -> None:
    for vector in read_vectors(reply):
        del vector[-1]


def add_one(reply: dict[str, Any]) -> None:
    rows = reply.get("data") or reply["embeddings"]
    rows.append({**rows[0], "index": len(rows)} if isinstance(rows[0], dict) else rows[0])

"""How many tokens a call has cost, told by the embedder that knows to the caller that asks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class TokenTally:
    """The tokens read so far within `counting`."""

    tokens: int = 0


_current: ContextVar[TokenTally | None] = ContextVar("tally", default=None)


@contextmanager
def counting() -> Generator[TokenTally]:
    """Count the tokens that embedders read for the calling thread; nothing is tokenised a second time."""
    tally = TokenTally()
    token = _current.set(tally)
    try:
        yield tally
    finally:
        _current.reset(token)


def spend(tokens: int) -> None:
    """Tell that so many tokens were read; to be called in the thread of the embedder's caller."""
    tally = _current.get()
    if tally is not None:
        tally.tokens += tokens

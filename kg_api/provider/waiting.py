"""Waiting for a provider, as long as somebody waits for what is asked of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_given_up: ContextVar[threading.Event | None] = ContextVar("given_up", default=None)


class Abandoned(Exception):
    """Nobody waits any more for what was to be asked; no fault of anybody."""


@contextmanager
def waiting_unless(given_up: threading.Event) -> Generator[None]:
    """Within, the calling thread's waits for a provider end as soon as the event is set."""
    token = _given_up.set(given_up)
    try:
        yield
    finally:
        _given_up.reset(token)


def wait(seconds: float) -> None:
    """Sleep.

    Raises:
        Abandoned: what the thread asks for is given up.
    """
    given_up = _given_up.get()
    if given_up is None:
        time.sleep(seconds)
    elif given_up.wait(seconds):
        raise Abandoned

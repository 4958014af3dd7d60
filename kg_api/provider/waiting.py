"""Asking and waiting for a provider, as long as somebody waits for what is asked of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

T = TypeVar("T")

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


def ask_at_once(questions: Iterable[Callable[[], T]], at_once: int) -> list[T]:
    """Ask so many questions at a time; give the answers in the order of the questions.

    None is begun any more when one has failed, or when what this thread asks for is given up: each may cost
    money. What was begun is waited for.

    Raises:
        Abandoned: it is given up.
        As the first of those that failed.
    """
    with ThreadPoolExecutor(at_once) as pool:
        asked = [pool.submit(copy_context().run, _ask, each) for each in questions]
        try:
            futures.wait(asked, return_when=futures.FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return [each.result() for each in asked]  # what was cancelled stands behind what failed


def _ask(question: Callable[[], T]) -> T:
    wait(0)
    return question()

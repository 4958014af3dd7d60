"""Asking again while a part of kg is away for a moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from kg_api.errors import KgError

T = TypeVar("T")


def ask_again(
    call: Callable[[], T],
    errors: tuple[type[KgError], ...],
    seconds: float,
    pause: float,
    before: Callable[[RetryCallState], None] | None = None,
) -> T:
    """Call, again and again while it fails in a way that passes; the call must be safe to repeat.

    Args:
        call: what is done.
        errors: that may pass.
        seconds: after so many it is not tried again.
        pause: seconds between two tries.
        before: called before each new try.

    Raises:
        KgError: it fails for longer, or in another way.
    """
    again, stop, wait = retry_if_exception_type(errors), stop_after_delay(seconds), wait_fixed(pause)
    return Retrying(retry=again, stop=stop, wait=wait, before_sleep=before, reraise=True)(call)

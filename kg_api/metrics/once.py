"""One set of metrics for each process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import TypeVar

T = TypeVar("T")

_MAKING = threading.RLock()


def once_per_process(make: Callable[[], T]) -> Callable[[], T]:
    """Call a function once and keep its result, even if several threads call it first.

    `functools.cache` alone lets both threads run the function. A registry accepts each metric only once.
    """
    made = cache(make)

    @wraps(make)
    def get() -> T:
        with _MAKING:
            return made()

    return get

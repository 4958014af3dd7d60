"""Whether time grows with a text, and not with its square. Processor time: a busy machine changes nothing."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager

TIMES = 8


def assert_linear(seconds: Callable[[int], float], size: int, slack: float) -> None:
    """A text that is `TIMES` as long takes less than 30 times as long; quadratic is 64.

    Args:
        seconds: how long a text of a size takes.
        size: of the small text.
        slack: seconds that the large one may take longer whatever the small one takes.
    """
    with _no_collection():
        bound = 30 * min(seconds(size) for _ in range(2)) + slack
        assert any(seconds(TIMES * size) <= bound for _ in range(3))


@contextmanager
def _no_collection() -> Generator[None]:
    """A collection of garbage takes as long as the objects of the whole run are many."""
    gc.collect(0)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

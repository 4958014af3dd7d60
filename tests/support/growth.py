import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager

TIMES = 8


def assert_linear(seconds: Callable[[int], float], size: int, slack: float) -> None:
    """Assert that a text `TIMES` as long takes less than 30 times as long. Quadratic time is 64 times.

    Args:
        seconds: Measures the time for a size.
        size: Size of the small text.
        slack: Additional seconds for the large text.
    """
    with _no_collection():
        bound = 30 * min(seconds(size) for _ in range(2)) + slack
        assert any(seconds(TIMES * size) <= bound for _ in range(3))


@contextmanager
def _no_collection() -> Generator[None]:
    """Disable garbage collection, because it depends on the objects from all tests."""
    gc.collect(0)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

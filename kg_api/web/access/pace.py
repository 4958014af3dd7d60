"""How many requests a key may send."""

from __future__ import annotations

import math
import time

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from kg_api.access.check import Access
from kg_api.errors import RateExceeded


class RequestRate:
    """Counts the requests of each key within the last minute, as this process of the service gets them.

    Args:
        most: so many a minute; None: any number.
    """

    def __init__(self, most: int | None) -> None:
        self._limit = None if most is None else RateLimitItemPerMinute(most)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def count(self, access: Access) -> None:
        """Count one request of a key; those of this machine's own user, and without a key, are not.

        Raises:
            RateExceeded: saying when another may be sent.
        """
        if self._limit is None or not access.is_key or self._limiter.hit(self._limit, access.key_id):
            return
        reset_at, _ = self._limiter.get_window_stats(self._limit, access.key_id)
        wait = max(1, math.ceil(reset_at - time.time()))
        raise RateExceeded(
            f"the key {access.key_id} may send {self._limit.amount} requests a minute: try again in {wait} s",
            retry_after_seconds=wait,
        )

"""How many requests a key may send, and how often keys may be tried."""

from __future__ import annotations

import ipaddress
import math
import time
from typing import Final

from limits import RateLimitItem, RateLimitItemPerDay, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from kg_api.access.check import Access
from kg_api.errors import RateExceeded

MAX_FAILED_SIGN_INS: Final = 10
"""A minute, of an address."""
MAX_WRONG_KEYS: Final = 100
"""A minute, of an address, that REST and MCP look up in vain; what needs no look-up is not counted."""
_NETWORK_BITS: Final = 64
"""Of IPv6: who has one address has all of these."""


class _MinuteCount:
    """What each of many did within the last minute, as this process of the service sees it."""

    def __init__(self, most: int) -> None:
        self.most = RateLimitItemPerMinute(most)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def wait(self, who: str, *, counted: bool = True) -> int | None:
        """Count one, or only look; of one too many, in how many seconds it may be."""
        look = self._limiter.hit if counted else self._limiter.test
        if look(self.most, who):
            return None
        reset_at, _ = self._limiter.get_window_stats(self.most, who)
        return max(1, math.ceil(reset_at - time.time()))

    def forget(self, who: str) -> None:
        """Begin anew."""
        self._limiter.clear(self.most, who)


class RequestRate:
    """Counts the requests of each key within the last minute, as this process of the service gets them.

    Args:
        most: so many a minute; None: any number.
    """

    def __init__(self, most: int | None) -> None:
        self._count = None if most is None else _MinuteCount(most)

    def count(self, access: Access) -> None:
        """Count one request of a key; those of this machine's own user, and without a key, are not.

        Raises:
            RateExceeded: saying when another may be sent.
        """
        if self._count is None or not access.is_key or (wait := self._count.wait(access.key_id)) is None:
            return
        raise RateExceeded(
            f"the key {access.key_id} may send {self._count.most.amount} requests a minute: try again in "
            f"{wait} s",
            retry_after_seconds=wait,
        )


class TokenRate:
    """Counts the tokens that providers read and write for each key within the last day, in this process.

    Args:
        most: so many a day; None: any number.
    """

    def __init__(self, most: int | None) -> None:
        self._most: RateLimitItem | None = None if most is None else RateLimitItemPerDay(most)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def budget_of(self, access: Access) -> KeyBudget | None:
        """What a key may spend; none of this machine's own user, and where there is no bound."""
        return (
            None if self._most is None or not access.is_key else KeyBudget(self._limiter, self._most, access)
        )


class KeyBudget:
    """Tokens of one key."""

    def __init__(self, limiter: SlidingWindowCounterRateLimiter, most: RateLimitItem, access: Access) -> None:
        self._limiter, self._most, self._key = limiter, most, access.key_id

    def require(self) -> None:
        """See that something is left.

        Raises:
            RateExceeded: saying when there will be.
        """
        reset_at, left = self._limiter.get_window_stats(self._most, self._key)
        if left > 0:
            return
        wait = max(1, math.ceil(reset_at - time.time()))
        raise RateExceeded(
            f"searches and questions with the key {self._key} may have providers read and write "
            f"{self._most.amount:,} tokens a day, and have: try again in {wait} s, or ask an administrator "
            "for more (KG_API__PROVIDER_TOKENS_PER_DAY); mode `text` of searches asks no provider",
            retry_after_seconds=wait,
        )

    def spend(self, tokens: int) -> None:
        """Count what was spent; of what goes beyond the bound no more than up to it, which ends it too."""
        _, left = self._limiter.get_window_stats(self._most, self._key)
        if cost := min(tokens, left):
            self._limiter.hit(self._most, self._key, cost=cost)


class SignInRate:
    """Counts the keys that were tried in vain from each address."""

    def __init__(self) -> None:
        self._count = _MinuteCount(MAX_FAILED_SIGN_INS)

    def begin(self, address: str) -> None:
        """Count one as if it failed, before it is tried: also of many at once no more are tried.

        Raises:
            RateExceeded: saying when another may be tried.
        """
        if (wait := self._count.wait(_network(address))) is not None:
            raise RateExceeded(
                f"too many keys were tried that are none: try again in {wait} s", retry_after_seconds=wait
            )

    def succeed(self, address: str) -> None:
        """Somebody there has a key."""
        self._count.forget(_network(address))


class WrongKeyRate:
    """Counts the keys that each address sent with requests, and that are none.

    Beyond the bound, a key that this process has never found good is not looked up any more, so that whoever
    guesses costs the database nothing; one that was good before is, so that who has it waits for nobody.
    """

    def __init__(self) -> None:
        self._count = _MinuteCount(MAX_WRONG_KEYS)

    def check(self, address: str) -> None:
        """Before a key is looked up.

        Raises:
            RateExceeded: saying when another may be tried.
        """
        self._refuse(self._count.wait(_network(address), counted=False))

    def fail(self, address: str) -> None:
        """One was none.

        Raises:
            RateExceeded: of many that were tried at once, this one is too many.
        """
        self._refuse(self._count.wait(_network(address)))

    def _refuse(self, wait: int | None) -> None:
        if wait is not None:
            raise RateExceeded(
                f"too many wrong keys came from this address: try again in {wait} s", retry_after_seconds=wait
            )


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if found.version == 4 else str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False))  # noqa: PLR2004 - of IP

"""How many requests a key may send, and how often keys may be tried."""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from kg_api.access.check import Access
from kg_api.errors import RateExceeded

MAX_FAILED_SIGN_INS: Final = 10
"""A minute, of an address."""
MAX_WRONG_KEYS: Final = 100
"""A minute, of an address, that REST and MCP look up in vain; what needs no look-up is not counted."""
DAY_SECONDS: Final = 24 * 3600
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
    """Counts the tokens that providers read and write for each key in a day of UTC, in this process.

    A library of rate limits refuses what does not fit; what a provider has read is spent, fit or not, and the
    next request has to wait for it.

    Args:
        most: so many a day; None: any number.
        clock: seconds since 1970.
    """

    def __init__(self, most: int | None, clock: Callable[[], float] = time.time) -> None:
        self.most = most
        self._clock = clock
        self._day = 0
        self._spent: Counter[str] = Counter()
        self._lock = threading.Lock()

    def budget_of(self, access: Access) -> KeyBudget | None:
        """What a key may spend; none of this machine's own user, and where there is no bound."""
        return KeyBudget(self, access.key_id) if self.most is not None and access.is_key else None

    def count(self, key: str, tokens: int) -> int:
        """Count what was spent with a key; how much it is today."""
        with self._lock:
            if self._day != (today := int(self._clock() // DAY_SECONDS)):
                self._day, self._spent = today, Counter()
            self._spent[key] += tokens
            return self._spent[key]

    def seconds_left(self) -> int:
        """Until the day ends."""
        return max(1, math.ceil(DAY_SECONDS - self._clock() % DAY_SECONDS))


class KeyBudget:
    def __init__(self, rate: TokenRate, key: str) -> None:
        self._rate, self._key = rate, key

    def require(self) -> None:
        """See that something is left.

        Raises:
            RateExceeded: saying when there will be.
        """
        most = self._rate.most or 0
        if self._rate.count(self._key, 0) < most:
            return
        wait = self._rate.seconds_left()
        raise RateExceeded(
            f"with the key {self._key} providers were given the {most:,} tokens of today: try again in "
            f"{wait} s, at midnight UTC, or ask an administrator for more (KG_API__PROVIDER_TOKENS_PER_DAY)",
            retry_after_seconds=wait,
        )

    def spend(self, tokens: int) -> None:
        """Count what was spent, be it more than there was."""
        self._rate.count(self._key, tokens)


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

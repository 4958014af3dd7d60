from __future__ import annotations

import pytest

from kg_api.access.keys import Access
from kg_api.errors import RateExceeded
from kg_api.web.shared.security import MAX_WRONG_KEYS, request_limit, wrong_key_limit

ADA, EVE = Access("0123abcd", "read"), Access("4567cdef", "admin")


def test_each_key_has_its_own_rate_limit() -> None:
    rate = request_limit(3)
    for _ in range(3):
        rate.hit(ADA.key_id)
    with pytest.raises(
        RateExceeded, match=r"0123abcd may send 3 requests a minute: try again in \d+ s"
    ) as told:
        rate.hit(ADA.key_id)
    assert 1 <= told.value.retry_after_seconds <= 60
    rate.hit(EVE.key_id)


def test_without_a_limit_any_number_may_be_sent() -> None:
    rate = request_limit(None)
    for _ in range(5):
        rate.hit(ADA.key_id)


def test_wrong_keys_are_counted_by_address() -> None:
    rate = wrong_key_limit()
    for _ in range(MAX_WRONG_KEYS):
        rate.check("2001:db8::1")
        rate.hit("2001:db8::2")
    for refused in (rate.check, rate.hit):
        with pytest.raises(RateExceeded, match=r"wrong keys .* try again in \d+ s") as told:
            refused("2001:db8::ffff")
        assert 1 <= told.value.retry_after_seconds <= 60
    rate.check("192.0.2.1")

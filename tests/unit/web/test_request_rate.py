"""How many requests a key may send within a minute, and how many wrong keys an address."""

from __future__ import annotations

import pytest

from kg_api.access.keys import ANYONE, LOCAL, Access
from kg_api.errors import RateExceeded
from kg_api.web.shared.security import MAX_WRONG_KEYS, TokenRate, request_limit, wrong_key_limit

ADA, EVE = Access("0123abcd", "read"), Access("4567cdef", "admin")


def test_each_key_has_a_number_of_its_own_and_is_told_when_to_come_again() -> None:
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


DAY = 24 * 3600.0


@pytest.mark.parametrize("spent", [(100,), (60, 60), (1000,), (99, 1)], ids=str)
def test_a_key_spends_as_many_tokens_a_day_as_it_may_and_begins_anew_on_the_next(
    spent: tuple[int, ...],
) -> None:
    now = [20_000 * DAY + 3600]
    rate = TokenRate(100, lambda: now[0])
    ada, eve = rate.get_budget(ADA), rate.get_budget(EVE)
    assert ada
    assert eve
    for _ in range(2):
        for tokens in spent:
            ada.require()
            ada.spend(tokens)
        for seconds in (0, 60, 12 * 3600):
            now[0] += seconds
            with pytest.raises(RateExceeded, match=r"0123abcd .* 100 tokens of today: try again in") as told:
                ada.require()
            assert told.value.retry_after_seconds == DAY - now[0] % DAY
        eve.require()
        now[0] += DAY - now[0] % DAY + 3600


def test_who_was_given_no_key_may_spend_any_number_of_tokens() -> None:
    assert TokenRate(1).get_budget(LOCAL) is None
    assert TokenRate(1).get_budget(ANYONE) is None
    assert TokenRate(None).get_budget(ADA) is None


def test_wrong_keys_are_counted_by_address_and_looking_counts_nothing() -> None:
    rate = wrong_key_limit()
    for _ in range(MAX_WRONG_KEYS):
        rate.check("2001:db8::1")
        rate.hit("2001:db8::2")
    for refused in (rate.check, rate.hit):
        with pytest.raises(RateExceeded, match=r"wrong keys .* try again in \d+ s") as told:
            refused("2001:db8::ffff")
        assert 1 <= told.value.retry_after_seconds <= 60
    rate.check("192.0.2.1")

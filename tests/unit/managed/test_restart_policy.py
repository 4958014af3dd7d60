from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from kg_api.managed.supervisor import Policy

POLICIES = st.builds(
    Policy, first_pause=st.floats(0.01, 10), max_pause=st.floats(0.01, 100), give_up_after=st.integers(1, 9)
)


@given(POLICIES, st.integers(1, 10_000))
def test_pauses_grow_to_their_limit_and_never_overflow(policy: Policy, deaths: int) -> None:
    assert 0 < policy.pause(deaths) <= policy.pause(deaths + 1) <= policy.max_pause


def test_the_usual_pauses() -> None:
    assert [Policy().pause(deaths) for deaths in range(1, 9)] == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_a_process_that_never_works_is_given_up_within_seconds_of_pauses() -> None:
    policy = Policy()
    assert sum(itertools.islice(map(policy.pause, itertools.count(1)), policy.give_up_after - 1)) < 5

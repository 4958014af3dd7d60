from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.local.supervisor import Policy, describe_exit

POLICIES = st.builds(Policy, first_pause=st.floats(0.01, 10), max_pause=st.floats(0.01, 100))


@given(POLICIES, st.integers(1, 10_000))
def test_pauses_grow_to_their_limit_and_never_overflow(policy: Policy, deaths: int) -> None:
    assert 0 < policy.pause(deaths) <= policy.pause(deaths + 1) <= policy.max_pause


def test_the_usual_pauses() -> None:
    assert [Policy().pause(deaths) for deaths in range(1, 10)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert Policy().pause(1_000_000) == 60


@pytest.mark.parametrize(
    ("code", "told"), [(0, "exit code 0"), (78, "exit code 78"), (-9, "SIGKILL"), (-200, "signal 200")]
)
def test_exit_status_is_described(code: int, told: str) -> None:
    assert describe_exit(code) == told
    assert "unknown" in describe_exit(None)

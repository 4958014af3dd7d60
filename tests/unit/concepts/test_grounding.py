from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.concepts.grounding import Opinion

EVIDENCE = st.floats(0, 1e6)


@given(EVIDENCE, EVIDENCE)
def test_it_is_an_opinion(supporting: float, contradicting: float) -> None:
    opinion = Opinion(supporting, contradicting)
    parts = (opinion.belief, opinion.disbelief, opinion.uncertainty)
    assert all(0 <= each <= 1 for each in parts)
    assert sum(parts) == pytest.approx(1)
    assert opinion.expectation == pytest.approx((supporting + 1) / (supporting + contradicting + 2))


def test_seven_for_and_one_against() -> None:
    opinion = Opinion(7, 1)
    assert (opinion.belief, opinion.disbelief, opinion.uncertainty) == (0.7, 0.1, 0.2)
    assert opinion.expectation == pytest.approx(0.8)
    assert Opinion(0, 0).expectation == 0.5

"""Questions that cost money are asked several at a time, and no longer than somebody waits for them."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from kg_api.errors import LlmUnavailable
from kg_api.providers.retrying import Abandoned, ask_at_once, wait, waiting_unless

PATIENCE = 20.0


def test_answers_come_in_the_order_of_the_questions() -> None:
    assert ask_at_once([partial(pow, 2, number) for number in (5, 3, 4)], 3) == [32, 8, 16]
    assert ask_at_once(list[partial[int]](), 3) == []


def test_they_are_given_up_with_who_asked() -> None:
    given_up, begun = threading.Event(), list[int]()

    def question(number: int) -> None:
        begun.append(number)
        if number == 1:
            given_up.set()
        wait(PATIENCE)

    with waiting_unless(given_up), pytest.raises(Abandoned):
        ask_at_once([partial(question, number) for number in range(40)], 2)
    assert set(begun) == {0, 1}


def test_after_the_first_fault_what_waits_is_not_begun() -> None:
    begun, over = list[int](), threading.Event()
    timer = threading.Timer(2, over.set)  # long after the fault is seen
    timer.start()

    def question(number: int) -> None:
        begun.append(number)
        if number == 1:
            raise LlmUnavailable("503")
        assert over.wait(PATIENCE)

    with pytest.raises(LlmUnavailable, match="503"):
        ask_at_once([partial(question, number) for number in range(40)], 2)
    assert set(begun) <= {0, 1, 2}

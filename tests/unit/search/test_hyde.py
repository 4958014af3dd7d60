"""A language model that failed is left alone; each search gets an error of its own."""

from __future__ import annotations

import pytest

from kg_api.errors import BudgetSpent, ConfigurationError, KgError, LlmUnavailable
from kg_api.providers.chat import Prompt
from kg_api.schemas.search import SourceSearch
from kg_api.search.question import Hyde


@pytest.mark.parametrize(
    "fault",
    [LlmUnavailable("down", retry_after_seconds=60), ConfigurationError("no key"), BudgetSpent("spent")],
)
def test_an_error_is_raised_anew_each_time(fault: KgError) -> None:
    asked: list[Prompt] = []

    def fail(question: Prompt) -> str:
        asked.append(question)
        raise fault

    hyde = Hyde(fail)
    again: list[KgError] = []
    for _ in range(4):
        with pytest.raises(type(fault)) as raised:
            hyde._write_answers("why", 1)
        again.append(raised.value)
    assert len(asked) == 1
    assert len({id(each) for each in again}) == 4, "none is shared by threads"
    assert {(type(each), str(each)) for each in again} == {(type(fault), str(fault))}
    assert hyde.generate(SourceSearch(query_text="why", hyde=1)) == ([], str(fault))

"""A language model that failed is left alone; each search is told why."""

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
def test_a_failed_language_model_is_asked_once(fault: KgError) -> None:
    asked: list[Prompt] = []

    def fail(question: Prompt) -> str:
        asked.append(question)
        raise fault

    hyde = Hyde(fail)
    for _ in range(4):
        assert hyde.generate(SourceSearch(query_text="why", hyde=1)) == ([], str(fault))
    assert len(asked) == 1

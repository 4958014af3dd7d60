"""What full text is asked for a question: its own words first."""

from __future__ import annotations

import re

import pytest

from kg_api.graph.fulltext import MAX_TERMS
from kg_api.schemas.search import Respelling
from kg_api.search.plan import Wording

ADDED = [f"synonym{number}" for number in range(16)]


def asked(wording: Wording) -> list[str]:
    (query,) = wording.queries
    said = re.findall(r'"(\w+)"', query[query.index("full_text:(") : query.index(")")])
    return list(dict.fromkeys(said))


@pytest.mark.parametrize("count", [1, 48, 60, MAX_TERMS, 70])
def test_what_is_added_takes_no_word_of_the_question(count: int) -> None:
    words = [f"word{number}" for number in range(count)]
    respelt = (Respelling(word="word0", meant=["meant0", "meant1"]),)
    found = asked(Wording(words, synonyms=ADDED, respelt=respelt))
    assert found == [*words, "meant0", "meant1", *ADDED][:MAX_TERMS]

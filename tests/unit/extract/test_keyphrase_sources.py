"""Keyphrases of many small sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kg_api.extraction import keyphrases
from kg_api.extraction.phrases import Mention
from kg_api.graph.vectors import SourceText


def test_mentions_are_gone_through_once_however_many_sources_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Counted(tuple[Mention, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[Mention]:
            read.append(len(self))
            return super().__iter__()

    read: list[int] = []
    real = keyphrases.rank_phrases

    def rank(*args: Any) -> list[Any]:
        return [replace(each, mentions=Counted(each.mentions)) for each in real(*args)]

    monkeypatch.setattr(keyphrases, "rank_phrases", rank)
    texts = [f"Grace Hopper met Alan Turing{'' if at % 2 else ' in Silver Springs'}." for at in range(50)]
    document = [SourceText(f"s{at}", "d", at, (), 0, text, "h") for at, text in enumerate(texts)]
    found = keyphrases.find(document, 6)
    assert {concept.label for concept in found["s0"]} >= {"Grace Hopper", "Silver Springs"}
    assert "Silver Springs" not in {concept.label for concept in found["s1"]}
    assert len(read) <= 5

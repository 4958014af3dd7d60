"""Words of a question that no text has: those that may be meant are looked for as well, and it is said.

What full text finds tells which words are there: nothing is asked where all are. Only words that none of
the best texts has are looked up, and only of those that are nowhere texts with words like them are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kg_api.graph.database import Graph
from kg_api.graph.fulltext.spelling import meant_by
from kg_api.graph.search.words import known_words, texts_near
from kg_api.models.queries.search import Degradation, Respelling
from kg_api.search.plan.wording import Wording

MAX_RETRIED = 5
"""Words of one question that are looked for otherwise; each costs half a dozen fuzzy clauses."""


def respell(graph: Graph, wording: Wording, seen: Iterable[str]) -> Wording:
    """With what may be meant by words that no text has; the same where all are known.

    Args:
        graph: where the texts are.
        wording: what was looked for.
        seen: words that were found.
    """
    there = frozenset(seen)
    doubted = [word for word in wording.watched if word not in there]
    if not (doubted and wording.room):
        return wording
    known = known_words(graph, {word: wording.queries_for(word) for word in doubted})
    missing = [word for word in doubted if word not in known][:MAX_RETRIED]
    if not missing:
        return wording
    texts = texts_near(graph, {word: wording.queries_near(word) for word in missing})
    found = ((word, meant_by(word, texts.get(word, ()))) for word in missing)
    respelt = [Respelling(word=word, meant=meant) for word, meant in found if meant]
    return replace(wording, respelt=_as_many_as_fit(respelt, wording.room))


def _as_many_as_fit(respelt: Iterable[Respelling], room: int) -> tuple[Respelling, ...]:
    """Those that are asked for: no answer tells of another."""
    kept = list[Respelling]()
    for each in respelt:
        room -= len(each.meant)
        if room >= 0:
            kept.append(each)
    return tuple(kept)


def describe_respelling(respelt: Iterable[Respelling]) -> list[Degradation]:
    """What an answer says of it."""
    return [
        Degradation(
            part="spelling", effect=f"no text has {each.word!r}: searched for {_either(each)} as well"
        )
        for each in respelt
    ]


def _either(each: Respelling) -> str:
    return " and ".join(map(repr, each.meant))

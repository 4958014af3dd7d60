"""The lane of words: what full text is asked, and what its answer says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from kg_api.graph.database import Graph, Lookup, Row
from kg_api.graph.filters.sources import SourceFilter
from kg_api.graph.search.passages import LaneHit, LaneHits, SpaceVectors, to_lane_hit

FIRST_LOOK = 20
"""Sources that words find are looked at for each that is wanted, where a filter stands behind them..."""
FURTHER_LOOK = 8
"""... and so many times more where they are not enough."""
SAID_ALIKE = 2
"""Sources that words find are looked at for each that is wanted, for those that say it in the same words."""
NEAR_TEXTS = 20
"""So many texts are read for words that may be meant by one that none has."""
PAIRS_WEIGHT = 0.5
"""A source that has all pairs of neighbouring words counts so much more (ADR 51 has what others give)..."""
FEW_PAIRS = 3
"""... and twice so where they are few: in `who is on call` only `call` tells passages apart by itself."""


@dataclass(frozen=True, slots=True)
class WordedPassages:
    """The sources that a full-text query (in Lucene syntax, filters included) finds.

    Their similarity to the question's vector comes along, so that a fused list can show a measure for all.
    """

    query: str
    asked: SpaceVectors
    limit: int
    pairs: Sequence[str] = ()
    """Words that stand beside each other in the question: sources that have them so count more."""
    watched: Sequence[str] = ()
    """Words, in lower case, of which it is told whether a source that is found has them."""

    @property
    def lookup(self) -> Lookup:
        candidates = SAID_ALIKE * self.limit if self.pairs else self.limit
        given: Row = {"query": self.query, "limit": self.limit, "candidates": candidates}
        given |= {"watched": list(self.watched), **_alike(self.pairs)}
        return Lookup("search/by_text", {**given, **self.asked.parameters()})

    def hits(self, graph: Graph, found: Sequence[Row]) -> LaneHits:
        del graph  # one look is all
        hits = [
            to_lane_hit(row, row["score"], without_vector=row["asked"] and row["similarity"] is None)
            for row in found
        ]
        seen: list[list[str]] = [row["seen"] for row in found]
        return LaneHits(hits, cut=len(hits) >= self.limit, seen=frozenset(chain.from_iterable(seen)))


@dataclass(frozen=True, slots=True)
class WordedAmong:
    """The sources that a full-text query finds in documents, too many for the query itself, or by conditions.

    What is found is filtered, and more is asked for until it is enough or all has been looked at.
    """

    query: str
    asked: SpaceVectors
    limit: int
    document_ids: Sequence[str] | None
    """None: all."""
    pairs: Sequence[str] = ()
    watched: Sequence[str] = ()
    sources: SourceFilter = field(default_factory=SourceFilter)

    @property
    def lookup(self) -> Lookup:
        return self._lookup(FIRST_LOOK * self.limit)

    def hits(self, graph: Graph, found: Sequence[Row]) -> LaneHits:
        """What it found, and more where that is too few."""
        candidates = FIRST_LOOK * self.limit
        while len(found) - 1 < self.limit and found[0]["looked"] >= candidates:
            candidates *= FURTHER_LOOK
            (found,) = graph.look_up([self._lookup(candidates)])
        worded = WordedPassages(self.query, self.asked, self.limit, self.pairs, self.watched)
        return worded.hits(graph, found[1:])

    def _lookup(self, candidates: int) -> Lookup:
        given: Row = {"query": self.query, "limit": self.limit, "candidates": candidates}
        given["document_ids"] = None if self.document_ids is None else list(self.document_ids)
        given |= {**self.sources.parameters(), "watched": list(self.watched)}
        given |= {**_alike(self.pairs), **self.asked.parameters()}
        return Lookup("search/by_text_in_documents", given)


def _alike(pairs: Sequence[str]) -> Row:
    few = max(1, len(pairs))
    weight = PAIRS_WEIGHT * min(2, max(1, 2 * FEW_PAIRS / few))
    return {"pairs": list(pairs), "weight": weight / few}


def by_text(graph: Graph, query: str, asked: SpaceVectors, limit: int) -> list[LaneHit]:
    """Find the sources with the words of a full-text query."""
    worded = WordedPassages(query, asked, limit)
    (found,) = graph.look_up([worded.lookup])
    return worded.hits(graph, found).found


def known_words(graph: Graph, queries: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Which words full text finds at all, each by queries for it alone."""
    (found,) = graph.look_up([Lookup("search/known_words", {"queries": _one_by_one(queries)})])
    return frozenset(str(each) for each in found)


def texts_near(graph: Graph, queries: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """What sources say that have words like some, by word."""
    given: Row = {"queries": _one_by_one(queries), "limit": NEAR_TEXTS}
    (found,) = graph.look_up([Lookup("search/near_words", given)])
    texts: dict[str, list[str]] = {}
    for each in found:
        texts.setdefault(each["word"], []).extend(each["texts"])
    return texts


def _one_by_one(queries: Mapping[str, Sequence[str]]) -> list[Row]:
    return [{"word": word, "query": query} for word, every in queries.items() for query in every]

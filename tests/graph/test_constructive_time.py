from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import neo4j
import pytest

from kg_api.discovery.constructive import ConstructiveService
from kg_api.errors import TookTooLong
from kg_api.graph import client
from kg_api.graph.client import Graph, limit_time
from kg_api.graph.statements import statement, together
from tests.support.constructive import ALL, ask, cuts, expand, names, seed

ENDLESS = "UNWIND range(1, 20000000000) AS n WITH n WHERE n % 7 = 8 RETURN n"
GIVEN, WITHIN = 3, 8
"""Time limit for the query, and for the response on a busy machine, in seconds."""

Slow = Callable[[str], None]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    def make(name: str) -> None:
        def one(asked: str, space: str) -> str:
            return ENDLESS if asked == name else statement(asked, space)  # pyright: ignore[reportArgumentType]

        def several(*asked: tuple[str, str]) -> str:
            return ENDLESS if name in (each for each, _ in asked) else together(*asked)

        monkeypatch.setattr(client, "statement", one)
        monkeypatch.setattr(client, "together", several)

    return make


def test_slow_hop_returns_partial_filtered_result(
    constructive: ConstructiveService, ids: dict[str, str], slow: Slow
) -> None:
    assert ids
    slow("constructive/sources_of_concepts")
    begun = time.monotonic()
    found = ask(
        constructive,
        seed("Ada Lovelace"),
        expand("related_to", "appears_in", hops=2),
        seed("Thames"),
        {"step": "filter", "kinds": ["concept"]},
        {"step": "rank", "by": "pagerank"},
        seconds=GIVEN,
    )
    assert time.monotonic() - begun < WITHIN
    assert {*names(found)} == {"Ada Lovelace", "Analytical Engine"}
    assert len(found.edges) == 1
    assert [each[:2] for each in cuts(found)] == [(2, "time"), (2, "time"), (3, "time")]
    late = [cut.effect for step in found.steps for cut in step.cut]
    assert late[:2] == [
        "not all edges followed: the query's 3 s were over",
        "1 of 2 hops followed: the query's 3 s were over",
    ]


@pytest.mark.parametrize(
    ("name", "by"), [("search/by_text", "text"), ("relations/search_by_vector", "relationship")]
)
def test_slow_seed_ends_with_an_error(
    constructive: ConstructiveService, ids: dict[str, str], slow: Slow, name: str, by: str
) -> None:
    assert ids
    slow(name)
    begun = time.monotonic()
    found = ask(constructive, seed("Thames"), seed("the Thames", by), expand("related_to"), seconds=GIVEN)
    assert time.monotonic() - begun < WITHIN
    assert names(found) == ["Thames"]
    assert [each[:2] for each in cuts(found)] == [(2, "time"), (3, "time")]
    first = ask(constructive, seed("the Thames", by), seconds=1)
    assert first.nodes == []
    assert first.note == "the time limit ended before a seed was found. Raise seconds, or request less"


def test_slow_ranking_keeps_order_and_is_reported(
    constructive: ConstructiveService, ids: dict[str, str], slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ids
    slow("constructive/nearness_of_concepts")
    monkeypatch.setattr(client, "SEARCH_SECONDS", 0.5)
    found = ask(constructive, seed("Ada Lovelace"), {"step": "rank", "by": "text", "text": "engine"})
    assert names(found) == ["Ada Lovelace"]
    (cut,) = found.steps[1].cut
    assert cut.by == "time"
    assert cut.effect.startswith("not ranked, the order is the one before: Neo4j at")


def test_every_statement_has_a_time_limit(
    constructive: ConstructiveService, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ids
    limits = list[tuple[str, float | None]]()
    real: Any = Graph._read  # pyright: ignore[reportPrivateUsage]

    def noting(graph: Graph, query: neo4j.Query, parameters: dict[str, Any]) -> Any:
        if threading.current_thread() is threading.main_thread():  # others calibrate a model meanwhile
            limits.append((query.text, query.timeout))
        return real(graph, query, parameters)

    monkeypatch.setattr(Graph, "_read", noting)
    ask(
        constructive,
        seed("London"),
        seed("who designed the engine", "relationship"),
        seed("the Thames", "text"),
        expand(*ALL, hops=2, types=["designed"]),
        {"step": "filter", "where": ["document=lives.md"]},
        {"step": "rank", "by": "text"},
        where=["document=lives.md"],
        seconds=7,
    )
    assert len(limits) > 10
    most = 7 + client.SEARCH_SECONDS
    assert [each for each, limit in limits if limit is None or not 0 < limit <= most] == []


def test_expired_limit_stops_queries_and_bounds_inner_limits(graph: Graph) -> None:
    with limit_time(time.monotonic() - 1), pytest.raises(TookTooLong):
        graph.read("ontologies/names")
    with limit_time(time.monotonic() - 1), limit_time(time.monotonic() + 9), pytest.raises(TookTooLong):
        graph.read("ontologies/names")
    assert graph.read("ontologies/names") == []

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from tests.conftest import Stored
from tests.service.asking import Json, problem
from tests.support.concept_graph import store_lives
from tests.support.embedding import run_jobs

PATH = "/queries/constructive"
SEED = {"step": "seed", "by": "concept", "value": "Ada Lovelace"}
EXPAND = {"step": "expand", "along": ["related_to", "appears_in"], "hops": 2}


@contextmanager
def store_found(graph: Graph, driver: neo4j.Driver) -> Generator[dict[str, str]]:
    found = store_lives(graph, driver)
    run_jobs(graph)
    yield found


@pytest.fixture
def shared(stored: Stored, migrated_graph: Graph, driver: neo4j.Driver) -> dict[str, str]:
    return stored.give(store_found, migrated_graph, driver)


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"steps": [SEED, {**EXPAND, "along": []}]}, 422, "step 2, expand.along: give at least one"),
        ({"steps": [{**SEED, "value": "no such thing"}]}, 404, "no concept matches 'no such thing'"),
        ({"steps": [{"step": "seed", "by": "source", "value": "a.md#9"}]}, 404, "a.md"),
        ({"steps": [SEED], "ontology": "gone"}, 404, "gone"),
        ({"steps": [SEED], "ontology": "private"}, 404, "private"),
    ],
)
def test_invalid_query_names_the_problem(
    http: httpx.Client, ids: dict[str, str], body: Json, status: int, told: str
) -> None:
    assert ids
    assert told in problem(http.post(PATH, json=body), status)


def test_words_of_cypher_and_lucene_are_only_words(http: httpx.Client, ids: dict[str, str]) -> None:
    assert ids
    for value in ("'}) DETACH DELETE n //", "title:* AND (", "`RELATED_TO`]-()"):
        seed = {"step": "seed", "by": "text", "value": value}
        body = {"steps": [seed, {"step": "expand", "along": ["related_to"], "types": [value]}]}
        assert http.post(PATH, json=body).status_code == 200
    assert http.post(PATH, json={"steps": [SEED]}).json()["nodes"]

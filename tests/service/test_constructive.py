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


def test_a_subgraph_is_built(http: httpx.Client, ids: dict[str, str]) -> None:
    body = {"ontology": "notes", "steps": [SEED, EXPAND, {"step": "rank", "by": "pagerank"}]}
    response = http.post(PATH, json=body)
    assert response.status_code == 200, response.text
    found: Json = response.json()
    (seed,) = [node for node in found["nodes"] if node["reached"][0]["hops"] == 0]
    assert (seed["id"], seed["kind"], seed["concept"]["label"]) == (
        ids["Ada Lovelace"],
        "concept",
        "Ada Lovelace",
    )
    assert [node["rank"] for node in found["nodes"]] == list(range(1, len(found["nodes"]) + 1))
    there = {node["id"]: node for node in found["nodes"]}
    assert len(there) == len(found["nodes"])
    assert all(edge["subject"] in there and edge["object"] in there for edge in found["edges"])
    for node in found["nodes"]:
        if node["kind"] == "passage":
            assert node["source"]["full_text"]
            assert node["source"]["end"] - node["source"]["start"] == len(node["source"]["full_text"])
    for edge in found["edges"]:
        for quote in edge["quotes"]:
            place = http.get(f"/sources/{quote['source_id']}/context").json()
            own = next(each for each in place["sources"] if each["source_id"] == quote["source_id"])
            begin = quote["start"] - own["start"]
            assert own["full_text"][begin : begin + len(quote["quote"])] == quote["quote"]
    assert [each["step"] for each in found["steps"]] == ["seed", "expand", "rank"]
    assert found["timings_ms"].keys() >= {"scope", "steps", "present", "total"}


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


def test_openapi_contains_the_query_schema(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    body = document["paths"][PATH]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"]["$ref"] == "#/components/schemas/ConstructiveQuery"
    steps = document["components"]["schemas"]["ConstructiveQuery"]["properties"]["steps"]["items"]
    assert steps["discriminator"]["propertyName"] == "step"
    assert len(steps["oneOf"]) == 5
    assert len(body["examples"]) == 1

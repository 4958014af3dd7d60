from __future__ import annotations

from collections.abc import Iterator

import httpx
import neo4j
import pytest

from kg_api.access import keys
from kg_api.graph.client import Graph
from kg_api.graph.schema import migrate
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.operations import KeyRotation, NewKey
from kg_api.schemas.vocabulary import KeyScope
from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer
from tests.service.asking import knock
from tests.support.embedders import small_embedder
from tests.support.routes import PUBLIC, ROUTES

SCOPES: tuple[KeyScope, ...] = ("read", "write", "admin")
REFUSED = (401, 403)
NOT_SET_UP = frozenset({"POST /queries/answer"})
"""Routes that are not supported by this service."""


@pytest.fixture(scope="module")
def good(server: Neo4jServer, driver: neo4j.Driver) -> Iterator[dict[str, str]]:
    wipe(driver)
    with Graph(server.uri, server.user, server.password) as graph:
        migrate(graph)
        ensure_space(graph, small_embedder().identity)
        made = {each: keys.create_key(graph, NewKey(name=each, scope=each), "local").key for each in SCOPES}
        for name in ("expired", "revoked"):
            made[name] = keys.create_key(graph, NewKey(name=name, scope="admin"), "local").key
        keys.rotate_key(graph, "expired", KeyRotation(overlap_hours=0), "local")
        keys.revoke_key(graph, "revoked")
    yield made
    wipe(driver)


def test_the_table_has_every_route(door: httpx.Client) -> None:
    """If you add a route, add it to the table as well."""
    described = door.get("/openapi.json").json()["paths"]
    there = {f"{method.upper()} {path}" for path, methods in described.items() for method in methods}
    assert there | {"POST /mcp"} == {*ROUTES, *(each for each in PUBLIC if each in there)}


def test_request_without_valid_key_is_unauthorized(door: httpx.Client, good: dict[str, str]) -> None:
    guessed = good["admin"][:20] + good["admin"][20:].swapcase()
    sent = (None, "kg_wrong", "kg_00000000_" + "a" * 43, guessed, good["expired"], good["revoked"])
    for route in ROUTES:
        answers = [knock(door, route, key) for key in sent]
        assert [each.status_code for each in answers] == [401] * 6, route
        assert len({each.text for each in answers[1:]}) == 1, "it tells nobody how near they were"
        assert all(each.headers["www-authenticate"].startswith("Bearer") for each in answers), route


@pytest.mark.parametrize("at", range(len(SCOPES)), ids=SCOPES)
def test_key_covers_its_scope_and_lower_scopes(door: httpx.Client, good: dict[str, str], at: int) -> None:
    for route, needed in ROUTES.items():
        answer = knock(door, route, good[SCOPES[at]])
        if at < SCOPES.index(needed):
            assert (answer.status_code, repr(needed) in answer.text) == (403, True), (route, answer.text)
        else:
            assert answer.status_code not in REFUSED, (route, answer.text)
            assert answer.status_code < 500 or route in NOT_SET_UP, (route, answer.text)


def test_public_routes_need_no_key(door: httpx.Client) -> None:
    for route in PUBLIC:
        for key in (None, "kg_wrong"):
            assert knock(door, route, key).status_code in {200, 303, 503}, "whoever watches is answered"

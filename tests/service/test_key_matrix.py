import httpx
import pytest

from tests.service.asking import knock
from tests.service.conftest import SCOPES, Made
from tests.support.routes import PUBLIC, ROUTES

REFUSED = (401, 403)
NOT_SET_UP = frozenset({"POST /queries/answer"})
"""Routes that are not supported by this service."""


def test_the_table_has_every_route(door: httpx.Client) -> None:
    """If you add a route, add it to the table as well."""
    described = door.get("/openapi.json").json()["paths"]
    there = {f"{method.upper()} {path}" for path, methods in described.items() for method in methods}
    assert there | {"POST /mcp"} == {*ROUTES, *(each for each in PUBLIC if each in there)}


def test_request_without_valid_key_is_unauthorized(door: httpx.Client, made: Made) -> None:
    guessed = made.keys["admin"][:20] + made.keys["admin"][20:].swapcase()
    sent = (None, "kg_wrong", "kg_00000000_" + "a" * 43, guessed, made.keys["expired"], made.keys["revoked"])
    for route in ROUTES:
        answers = [knock(door, route, key) for key in sent]
        assert [each.status_code for each in answers] == [401] * 6, route
        assert len({each.text for each in answers[1:]}) == 1, "it tells nobody how near they were"
        assert all(each.headers["www-authenticate"].startswith("Bearer") for each in answers), route


@pytest.mark.parametrize("at", range(len(SCOPES)), ids=SCOPES)
def test_key_covers_its_scope_and_lower_scopes(door: httpx.Client, made: Made, at: int) -> None:
    for route, needed in ROUTES.items():
        answer = knock(door, route, made.keys[SCOPES[at]])
        if at < SCOPES.index(needed):
            assert (answer.status_code, repr(needed) in answer.text) == (403, True), (route, answer.text)
        else:
            assert answer.status_code not in REFUSED, (route, answer.text)
            assert answer.status_code < 500 or route in NOT_SET_UP, (route, answer.text)


def test_public_routes_need_no_key(door: httpx.Client) -> None:
    for route in PUBLIC:
        for key in (None, "kg_wrong"):
            assert knock(door, route, key).status_code in {200, 303, 503}, "whoever watches is answered"

"""What may be kept of answers, by whom."""

from __future__ import annotations

import httpx

from tests.support.routes import PAGES, PUBLIC, PUBLIC_PAGES, ROUTES


def kept(http: httpx.Client, route: str) -> str:
    """What the answer to somebody says of that."""
    path = route.removeprefix("GET ").replace("{", "no-").replace("}", "")
    with http.stream("GET", path) as answer:
        return answer.headers.get("cache-control", "")


def test_no_cache_that_is_shared_keeps_what_a_key_is_needed_for(http: httpx.Client) -> None:
    """A key in a header would do that, the cookie of a page does not."""
    asked = [each for each in (*ROUTES, *PAGES) if each.startswith("GET ")]
    assert len(asked) > 60
    for route in asked:
        told = kept(http, route)
        assert told.startswith("private") or told == "no-store", (route, told)


def test_what_is_public_may_be_kept(http: httpx.Client) -> None:
    for route in (each for each in (*PUBLIC, *PUBLIC_PAGES) if each.startswith("GET ")):
        assert "private" not in kept(http, route), route

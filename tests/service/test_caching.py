import httpx

from kg_api.web.shared.security import OWN as KEPT_BY_ONE
from kg_api.web.ui.rendering import PREFIX, get_asset_url
from tests.support.routes import PUBLIC, PUBLIC_PAGES, ROUTES


def kept(http: httpx.Client, path: str) -> tuple[int, str]:
    with http.stream("GET", path) as answer:
        return answer.status_code, answer.headers.get("cache-control", "")


def test_shared_caches_store_no_authenticated_response(everything: httpx.Client) -> None:
    assert KEPT_BY_ONE.startswith("private")
    for route in (each for each in ROUTES if each.startswith("GET ") and "{" in each):
        _, keeping = kept(everything, route.removeprefix("GET ").replace("{", "no-").replace("}", ""))
        assert keeping == KEPT_BY_ONE, route


def test_public_responses_may_be_cached(door: httpx.Client) -> None:
    asset = dict(
        zip(("digest", "name"), get_asset_url("page.css").removeprefix(PREFIX).split("/"), strict=True)
    )
    for route in (each for each in (*PUBLIC, *PUBLIC_PAGES) if each.startswith("GET ")):
        status, keeping = kept(door, route.removeprefix("GET ").format(**asset))
        assert status < 400, route
        assert ("private" in keeping) == (route == "GET /ready"), route

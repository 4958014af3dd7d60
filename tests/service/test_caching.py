"""What may be kept of answers, by whom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

import httpx
import pytest

from kg_api.web.shared.security import OWN as KEPT_BY_ONE
from kg_api.web.ui.rendering import PREFIX, get_asset_url
from tests.support.browsing import signed_in, token_in
from tests.support.routes import PAGES, PUBLIC, PUBLIC_PAGES, ROUTES
from tests.support.running import Service
from tests.support.two_libraries import OWN, Libraries

BOTH_RUNS: Final = "name={evaluation}&name={evaluation}"
ASKED: Final = {
    "GET /concepts/paths": "from={concept}&to={concept}",
    "GET /concepts/search": "query_text=ferry",
    "GET /evaluations/compare": BOTH_RUNS,
    "GET /embedding/spaces/{slug}/check": f"ontology={OWN}",
    "GET /ui/evaluations/compare": BOTH_RUNS,
    "GET /ui/judgements/question": f"ontology={OWN}&question=ferry",
    "GET /ui/judgements/delete": f"ontology={OWN}&question=ferry",
    "GET /ui/map/passages": "ids={source}",
    "GET /ui/review/approve": f"ontology={OWN}",
    "GET /ui/review/reject": f"ontology={OWN}",
    "GET /ui/spaces/{slug}/check": f"ontology={OWN}",
    "GET /ui/spaces/{slug}/rollback": f"ontology={OWN}",
}
"""What a route is asked besides its path."""
PICTURES: Final = frozenset({"GET /images/{source_id}", "GET /images/{source_id}/thumbnail"})
"""Whose id is that of a picture."""
NO_PAGES: Final = {
    "GET /ui": 303,
    "GET /ui/": 303,
    "GET /ui/communities/{ontology}/detect": 303,
    "GET /ui/folders/{folder_id}/scan": 303,
    "GET /ui/spaces/{slug}/rollback": 409,
}
"""What leads elsewhere, and the one that has nothing to go back to."""


@pytest.fixture
def ids(
    guarded: Service, libraries: Libraries, everything: httpx.Client, tmp_path: Path
) -> Iterator[dict[str, str]]:
    """One of each kind that is there, by its name in paths."""
    with signed_in(guarded, libraries.keys["all"]) as pages:
        form = {"path": str(tmp_path), "ontology": OWN, "csrf_token": token_in(pages.get("/ui/folders"))}
        folder = pages.post("/ui/folders", data=form).headers["location"].rpartition("/")[2]
    own = asdict(libraries.own)
    exported = everything.get(f"/export/ontologies/{OWN}").text
    (blob, *_) = re.findall('"storage_key":"([0-9a-f]{64})"', exported)
    yield {
        **own,
        **{f"{name}_id": identity for name, identity in own.items()},
        "name": own["evaluation"],
        "folder_id": folder,
        "slug": everything.get("/embedding/spaces").json()["spaces"][0]["slug"],
        "key_id": everything.get("/keys").json()["keys"][0]["key_id"],
        "key": blob,
        "page": "1",
    }
    everything.delete(f"/folders/{folder}")


def address(route: str, ids: dict[str, str]) -> str:
    """Of something that is there."""
    if route in PICTURES:
        ids = {**ids, "source_id": ids["image"]}
    if "/pages/" in route:
        ids = {**ids, "document_id": ids["pdf"]}
    path, asked = route.removeprefix("GET "), ASKED.get(route, "")
    return f"{path}?{asked}".rstrip("?").format(**ids)


def kept(http: httpx.Client, path: str) -> tuple[int, str]:
    """The status of an answer, and what it says of keeping it."""
    with http.stream("GET", path) as answer:
        return answer.status_code, answer.headers.get("cache-control", "")


def test_no_cache_that_is_shared_keeps_what_a_key_is_needed_for(
    guarded: Service, libraries: Libraries, everything: httpx.Client, ids: dict[str, str]
) -> None:
    """A key in a header would do that, the cookie of a page does not."""
    told = dict[str, tuple[int, str]]()
    with signed_in(guarded, libraries.keys["all"]) as pages:
        for http, routes in ((everything, ROUTES), (pages, PAGES)):
            got = [each for each in routes if each.startswith("GET ")]
            told |= {each: kept(http, address(each, ids)) for each in got}
    assert len(told) > 60
    assert {route: status for route, (status, _) in told.items() if status != 200} == NO_PAGES
    assert {keeping for _, keeping in told.values()} == {KEPT_BY_ONE, "no-store"}
    assert KEPT_BY_ONE.startswith("private")


def test_what_is_not_there_is_kept_by_nobody_else_either(everything: httpx.Client) -> None:
    for route in (each for each in ROUTES if each.startswith("GET ") and "{" in each):
        _, keeping = kept(everything, route.removeprefix("GET ").replace("{", "no-").replace("}", ""))
        assert keeping == KEPT_BY_ONE, route


def test_what_is_public_may_be_kept(door: httpx.Client) -> None:
    asset = dict(
        zip(("digest", "name"), get_asset_url("page.css").removeprefix(PREFIX).split("/"), strict=True)
    )
    for route in (each for each in (*PUBLIC, *PUBLIC_PAGES) if each.startswith("GET ")):
        status, keeping = kept(door, route.removeprefix("GET ").format(**asset))
        assert status < 400, route
        describing = route.removeprefix("GET ") in {"/", "/ready"}
        assert ("private" in keeping) == describing, route

"""A key of one ontology: what is of another is, by its id or name, as what is nowhere."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import httpx
import pytest

from tests.support.two_libraries import (
    OWN,
    SECRET,
    Ids,
    Libraries,
    ask,
    fill_in,
    state_of_other,
)

READ_BY_ID = (
    "GET /documents/{document}",
    "GET /reading/{document}",
    "GET /reading/{source}",
    "GET /documents/{pdf}/pages/1.png",
    "POST /queries/documents/{document}/similar",
    "POST /queries/sources/{source}/similar",
    "POST /queries/sources/{source}/related",
    "POST /queries/sources/{image}/related",
    "GET /sources/{source}",
    "GET /sources/{source}/context",
    "GET /sources/{document}/context",
    "GET /images/{image}",
    "GET /images/{image}/thumbnail",
    "GET /concepts/{concept}",
    "GET /concepts/{concept}/context",
    "GET /concepts/{concept}/related",
    "GET /concepts/{concept}/neighbourhood",
    "GET /concepts/paths?from={own_concept}&to={concept}",
    "GET /jobs/{job}",
    "GET /jobs/{job}/events",
    "GET /proposals/{proposal}",
    "GET /evaluations/{evaluation}",
    "GET /evaluations/compare?name={own_evaluation}&name={evaluation}",
    "GET /ontologies/heronry/communities/{community}",
    "GET /ontologies/heronry/communities?parent={community}",
    "GET /ontologies/heronry/concept-merges?concept_id={concept}",
)
READ_BESIDES: tuple[tuple[str, Any], ...] = (
    ("GET /documents/{own_pdf}/pages/1.png?source_id={source}", None),
    ("GET /evaluations/compare?name={own_evaluation}&name={evaluation}", None),
    ("GET /ontologies/heronry/communities?parent={community}", None),
    ("POST /queries/images/search", {"source_id": "{image}"}),
    ("POST /queries/constructive", {"steps": [{"step": "seed", "by": "source", "value": "{source}"}]}),
    ("POST /queries/constructive", {"steps": [{"step": "seed", "by": "image", "value": "{image}"}]}),
    ("POST /queries/constructive", {"steps": [{"step": "seed", "by": "concept", "value": "{concept}"}]}),
)
"""Places that `test_every_place.py` does not find in the description, or tries with ids of other kinds."""
CHANGED_BESIDES: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "POST /ontologies/heronry/concepts",
        {"rows": [{"source_id": "{source}", "concepts": [{"label": "ferry"}]}]},
    ),
    (
        "POST /ontologies/heronry/concepts",
        {"rows": [{"document": "{document}", "concepts": [{"label": "ferry"}]}]},
    ),
)


@pytest.mark.parametrize(("route", "body"), READ_BESIDES, ids=str)
def test_what_is_of_another_is_read_as_what_is_nowhere(
    own: httpx.Client, libraries: Libraries, route: str, body: Any
) -> None:
    compare_with_nowhere(own, libraries, route, body)


@pytest.mark.parametrize(("route", "body"), CHANGED_BESIDES, ids=str)
def test_what_is_of_another_is_changed_as_what_is_nowhere(
    own: httpx.Client,
    everything: httpx.Client,
    libraries: Libraries,
    route: str,
    body: dict[str, Any],
) -> None:
    before = state_of_other(everything)
    compare_with_nowhere(own, libraries, route, body)
    assert state_of_other(everything) == before


def test_beginnings_of_ids_are_no_way_in(own: httpx.Client, libraries: Libraries) -> None:
    other = libraries.other
    asked = {"documents": other.document, "sources": other.source, "concepts": other.concept}
    for kind, identity in {**asked, "jobs": other.job, "proposals": other.proposal}.items():
        answer = own.get(f"/{kind}/{identity[:12]}")
        assert answer.status_code == 404, (kind, answer.text)


def test_what_is_ones_own_is_there(own: httpx.Client, libraries: Libraries) -> None:
    ids = libraries.own
    for route in READ_BY_ID:
        if "/events" not in route:
            path = fill_in((route, None), ids, ids)[0]
            assert ask(own, path, {}).status_code == 200, path
    assert own.get(f"/jobs/{ids.job}").json()["ontology"] == OWN
    assert (
        own.get("/documents", params={"ontology": OWN}).json()["total"]
        == own.get("/documents").json()["total"]
    )


def compare_with_nowhere(
    client: httpx.Client, libraries: Libraries, route: str, body: Any, *, is_first: bool = True
) -> None:
    """Check that a request with ids of the other gets the answer of one with ids that are nowhere."""
    ids, other = libraries.own, libraries.other
    nowhere = Ids(**{each.name: _turned(getattr(other, each.name)) for each in fields(Ids)})
    if is_first:  # the first question may start work, and says so
        ask(client, *fill_in((route, body), ids, nowhere))
    answers = [ask(client, *fill_in((route, body), ids, each)) for each in (other, nowhere)]
    assert answers[0].status_code == answers[1].status_code
    told = [_plain(answer, each) for answer, each in zip(answers, (other, nowhere), strict=True)]
    assert told[0] == told[1]
    assert SECRET not in told[0]


def _plain(answer: httpx.Response, ids: Ids) -> str:
    told = re.sub(r'"timings_ms":\{[^}]*\}|"milliseconds":[0-9.e-]+', "", answer.text)
    for each in fields(Ids):
        told = told.replace(getattr(ids, each.name), "*")
    return told


def _turned(identity: str) -> str:
    """Another id of the same form, which is nowhere."""
    return identity.translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))

"""A key of one ontology: to whoever sends it, there is no other in all that they ask."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from tests.service.test_ids_of_other_ontologies import CHANGED_BESIDES, READ_BESIDES
from tests.support.routes import FILTERED, ROUTES, admits_some
from tests.support.running import Service
from tests.support.two_libraries import (
    ASKED,
    NEARLY,
    NOWHERE,
    OTHER,
    OWN,
    SAME_NAME,
    SECRET,
    SEED,
    Libraries,
    ask,
    fill_in,
    replace_in,
    sending,
    state_of_other,
)

OF_EVERYTHING: tuple[tuple[str, dict[str, Any] | None], ...] = (
    ("GET /ontologies", None),
    ("GET /documents", None),
    ("GET /documents?where=author%20exists", None),
    ("GET /images", None),
    ("GET /jobs", None),
    ("GET /proposals", None),
    ("GET /evaluations", None),
    ("GET /waiting", None),
    ("GET /embedding-status", None),
    ("GET /concepts/search?query_text=oven%20harbour", None),
    ("GET /concepts/paths?from=oven&to=harbour", None),
    ("POST /queries/facets", {"fields": ["ontology", "author", "tags", "document"]}),
    ("POST /queries/facets", {"fields": [SECRET[:-1]]}),
    ("POST /queries/sources/search", ASKED),
    ("POST /queries/sources/search", {**ASKED, "mode": "text"}),
    ("POST /queries/sources/search", {**ASKED, "mode": "vector"}),
    ("POST /queries/sources/search", {**ASKED, "graph": True, "expand_context": True}),
    ("POST /queries/sources/search", {"query_text": "zanzibr", "mode": "text"}),
    ("POST /queries/sources/search", {**ASKED, "where": [f"{SECRET}x=true"]}),
    ("POST /queries/hybrid", ASKED),
    ("POST /queries/hybrid", {"query_text": "oven", "mode": "concept"}),
    ("POST /queries/augment", {"text": "When does the common ferry leave?"}),
    (
        "POST /queries/augment",
        {"text": "The ferry", "documents": ["zanziba/notes.md", "zanzibar one"]},
    ),
    ("POST /queries/answer", {"question": "When does the common ferry leave?"}),
    ("POST /queries/images/search", {"query_text": "boat"}),
    ("POST /queries/sources/graph", {}),
    ("POST /queries/constructive", {"steps": [SEED, {"step": "expand", "along": ["appears_in", "part_of"]}]}),
    ("POST /relationships/search", {"query_text": "ferry"}),
    ("POST /queries/documents/{own_document}/similar", {}),
    ("POST /queries/sources/{own_source}/similar", {}),
    ("POST /queries/sources/{own_source}/similar", {"exact": True}),
    ("POST /queries/sources/{own_source}/related", {"kinds": ["passage", "image"]}),
    ("POST /queries/sources/{own_image}/related", {"kinds": ["passage", "image"]}),
    ("POST /queries/images/search", {"source_id": "{own_image}"}),
    ("GET /sources/{own_source}/context?window_size=5", None),
    ("GET /concepts/{own_concept}/related?hops=3", None),
    ("GET /ontologies/heronry/communities", None),
    ("GET /ontologies/heronry/map", None),
    ("POST /documents/delete", {"where": ["author exists"]}),
    (f"GET /documents/{SAME_NAME}", None),
    (f"GET /reading/{SAME_NAME}", None),
    ("GET /documents/zanzi", None),
    ("GET /documents/zanzibar%20one", None),
    ("GET /sources/zanziba", None),
    ("GET /reading/zanzibr%2Fnotes.md", None),
    ("POST /queries/sources/search", {**ASKED, "documents": ["zanziba/notes.md"]}),
    ("POST /documents/preview", {"ontology": OWN, "document": "new.md", "text": "The common ferry."}),
    ("GET /jobs/00000000", None),
)
"""What is asked names nothing that its key does not see, or a word that is not quite the other one's."""
VARYING = {"score", "timings_ms", "milliseconds", "next_cursor", "waits_for"}
"""Weights of words and load are shared (docs/operations/security.md)."""


@pytest.mark.parametrize(("route", "body"), OF_EVERYTHING, ids=str)
def test_what_is_asked_of_everything_is_of_ones_own(
    guarded: Service, libraries: Libraries, route: str, body: dict[str, Any] | None
) -> None:
    asked = fill_in((route, body), libraries.own, libraries.other)
    for key in ("own", "near", "empty"):
        with sending(guarded, libraries.keys[key]) as client:
            answer = ask(client, *asked)
        told = answer.text.lower()
        for word in re.findall(r"zanz\w*", f"{route} {body}".lower()):
            told = re.sub(rf"\b{word}\b", "", told)
        told = re.sub(rf"\b{NEARLY}\b", "", told)
        assert SECRET not in told, key
        assert libraries.other.document not in told
        assert answer.status_code != 403 or key != "own"


def test_answers_stay_the_same_while_another_ontology_grows(
    own: httpx.Client, everything: httpx.Client, libraries: Libraries
) -> None:
    """Only full text weighs words by all of kg (docs/operations/security.md)."""
    asked = [
        fill_in(each, libraries.own, libraries.other) for each in OF_EVERYTHING if "x=true" not in str(each)
    ]
    asked += [
        (each, None)
        for each in ROUTES
        if each.startswith("GET /ontologies/{ontology}/") and each.count("{") == 1
    ]

    def answers() -> list[object]:
        sent = [ask(own, route.replace("{ontology}", OWN), body) for route, body in asked]
        return [
            _without_weights(each.json()) if "json" in each.headers["content-type"] else each.status_code
            for each in sent
        ]

    answers()  # the first questions may start work
    before = answers()
    for number in range(12):
        about = {"metadata": {"author": f"grown {number}", "tags": ["grown"]}, "title": "ferry"}
        grown = {"ontology": OTHER, "document": f"grown {number}.md", "text": f"Grown {number}.", **about}
        assert everything.post("/documents", json=grown).status_code in {200, 202}
    assert answers() == before
    everything.post("/documents/delete", json={"ontology": OTHER, "where": ["tags=grown"]})


def test_the_names_in_what_is_asked_of_everything_are_worth_asking(
    everything: httpx.Client, libraries: Libraries
) -> None:
    """Most of those questions bring the other ontology to whoever sees it: else they would prove nothing."""
    asked = [fill_in(each, libraries.own, libraries.other) for each in OF_EVERYTHING]
    told = [ask(everything, route, body).text.lower() for route, body in asked]
    silent = [each for each, text in zip(OF_EVERYTHING, told, strict=True) if SECRET not in text]
    assert len(silent) < len(OF_EVERYTHING) // 3, silent


@pytest.mark.parametrize("named", [OTHER, NOWHERE])
@pytest.mark.parametrize("route", [each for each in ROUTES if "{ontology}" in each and admits_some(each)])
def test_an_ontology_of_others_is_refused_whether_it_is_there_or_not(
    own: httpx.Client, route: str, named: str
) -> None:
    answer = ask(own, re.sub("{[^}]*}", "none", route.replace("{ontology}", named)), {})
    assert answer.status_code == 403
    assert answer.json()["detail"].startswith(f"this key is for {OWN!r} alone, and not for {named!r}:")


@pytest.mark.parametrize("named", [OTHER, NOWHERE])
@pytest.mark.parametrize(
    ("route", "body"),
    [
        *(
            (f"GET /{each}?ontology=%s", None)
            for each in ("documents", "images", "jobs", "proposals", "waiting", "evaluations")
        ),
        ("GET /jobs/events?ontology=%s", None),
        ("GET /concepts/search?query_text=oven&ontology=%s", None),
        ("GET /concepts/search?query_text=oven&ontologies=%s", None),
        ("GET /concepts/paths?from=oven&to=harbour&ontology=%s", None),
        (f"GET /documents/{SAME_NAME}?ontology=%s", None),
        ("POST /queries/facets", {"fields": ["author"], "ontology": "%s"}),
        ("POST /queries/sources/search", {**ASKED, "ontology": "%s"}),
        ("POST /queries/sources/search", {**ASKED, "ontology": [OWN, "%s"]}),
        ("POST /queries/hybrid", {**ASKED, "ontology": "%s"}),
        ("POST /queries/augment", {"text": "ferry", "ontology": "%s"}),
        ("POST /queries/answer", {"question": "ferry?", "ontology": "%s"}),
        ("POST /queries/answer", {"question": "ferry?", "ontology": "%s", "stream": True}),
        ("POST /queries/images/search", {"query_text": "boat", "ontology": "%s"}),
        ("POST /queries/sources/graph", {"ontology": "%s"}),
        ("POST /queries/constructive", {"ontology": "%s", "steps": [SEED]}),
        ("POST /relationships/search", {"query_text": "ferry", "ontologies": ["%s"]}),
        ("POST /documents", {"ontology": "%s", "document": "a.md", "text": "mine"}),
        ("POST /documents/preview", {"ontology": "%s", "document": "a.md", "text": "mine"}),
        (
            "POST /documents/conversation",
            {"ontology": "%s", "title": "t", "messages": [{"author": "Ada", "text": "mine"}]},
        ),
        ("POST /documents/delete", {"ontology": "%s", "where": ["author exists"]}),
        ("POST /waiting/approve", {"ontology": "%s", "all": True}),
        ("POST /waiting/reject", {"ontology": "%s", "all": True}),
    ],
    ids=str,
)
def test_naming_an_ontology_of_others_is_refused(
    own: httpx.Client, everything: httpx.Client, route: str, body: Any, named: str
) -> None:
    before = state_of_other(everything)
    answer = ask(own, route.replace("%s", named), replace_in(body, "%s", named))
    assert answer.status_code == 403, answer.text
    assert repr(named) in answer.json()["detail"]
    assert state_of_other(everything) == before


def test_of_a_batch_only_ones_own_is_stored(own: httpx.Client, everything: httpx.Client) -> None:
    documents = [
        {"ontology": each, "document": "batch.md", "text": f"of {each}"} for each in (OWN, OTHER, NOWHERE)
    ]
    outcomes = own.post("/documents/batch", json={"documents": documents}).json()["outcomes"]
    assert [each["problem"] and each["problem"]["status"] for each in outcomes] == [None, 403, 403]
    stored = everything.get("/documents", params={"where": "document=batch.md"}).json()["documents"]
    assert [each["ontology"] for each in stored] == [OWN]
    assert own.delete("/documents/batch.md").json()["documents"] == 1


def test_routes_that_concern_all_are_refused(own: httpx.Client) -> None:
    """Every route is held to a key's ontologies, or is refused: one that nobody has thought of, too."""
    for route in ROUTES:
        if admits_some(route) or route == "POST /mcp":
            continue
        answer = ask(own, re.sub("{[^}]*}", "none", route), {})
        assert answer.status_code == 403, (route, answer.text)
        assert "concerns all of kg" in answer.json()["detail"]


def test_import_by_key_of_one_ontology_is_denied(guarded: Service, everything: httpx.Client) -> None:
    """A line may name the file of any ontology by its hash: imports need a key for all of kg."""
    new = {"name": "admin of one", "scope": "admin", "ontologies": [OWN]}
    key = everything.post("/keys", json=new).json()["key"]
    kind = {"Content-Type": "application/x-ndjson"}
    with sending(guarded, key) as client:
        answer = client.post(f"/import/ontologies/{OWN}/lines", content=b"{}\n", headers=kind)
    assert answer.status_code == 403
    assert "concerns all of kg" in answer.json()["detail"]


def test_every_route_that_can_be_held_to_ontologies_is_tried_here() -> None:
    """Ids in paths are, each with ids of every kind, in `test_every_place.py`."""
    tried = {_form(each) for each, _ in (*READ_BESIDES, *CHANGED_BESIDES, *OF_EVERYTHING)}
    beside = {"POST /documents", "POST /documents/batch", "POST /documents/conversation", "GET /jobs/events"}
    beside |= {"POST /waiting/approve", "POST /waiting/reject"}
    named = {each for each in FILTERED if " /ui" not in each and not re.search("{(?!ontology)", each)}
    assert {_form(each) for each in named} <= tried | beside


def test_events_are_of_jobs_of_ones_own(own: httpx.Client, everything: httpx.Client) -> None:
    text = {"document": "job.md", "text": "A new job."}
    for ontology in (OTHER, OWN):
        assert everything.post("/documents", json={"ontology": ontology, **text}).status_code == 202
    with own.stream("GET", "/jobs/events") as stream:
        for line in stream.iter_lines():
            assert SECRET not in line
            if OWN in line:
                break
    for ontology in (OTHER, OWN):
        everything.delete("/documents/job.md", params={"ontology": ontology})


def test_a_key_of_several_sees_them_all_and_no_more(
    libraries: Libraries, guarded: Service, everything: httpx.Client
) -> None:
    about = {"ontology": NOWHERE, "document": "peak.md", "text": "The common ferry does not climb.\n"}
    with sending(guarded, libraries.keys["two"]) as two:
        assert [each["ontology"] for each in two.get("/ontologies").json()["ontologies"]] == [OWN]
        everything.post("/documents", json=about)
        assert [each["ontology"] for each in two.get("/ontologies").json()["ontologies"]] == [OWN, NOWHERE]
        found = two.get("/documents").json()["documents"]
        assert {each["ontology"] for each in found} == {OWN, NOWHERE}
        hits = two.post("/queries/sources/search", json={**ASKED, "mode": "text"}).json()["sources"]
        assert {each["ontology"] for each in hits} == {OWN, NOWHERE}
        assert two.get("/documents", params={"ontology": NOWHERE}).json()["total"] == 1
        assert two.post("/documents", json=about).status_code == 403, "it only reads"
    everything.delete(f"/ontologies/{NOWHERE}")


def _without_weights(told: Any) -> object:
    if isinstance(told, dict):
        fields: dict[str, Any] = told
        return {name: _without_weights(each) for name, each in fields.items() if name not in VARYING}
    if isinstance(told, list):
        items: list[Any] = told
        return [_without_weights(each) for each in items]
    return told


def _form(route: str) -> str:
    """Its parameters without their names."""
    route = re.sub(r"/(same\.md|zanz[^/?]*|0{8})", "/{}", route.partition("?")[0])
    return re.sub("{[^}]*}", "{}", route)

"""Tests that a key for one ontology cannot see others using REST or MCP. Routes are taken from the
OpenAPI document, so that new routes are tested as well."""

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from typing import Any

import httpx
import pytest

from kg_api.mcp.server import TOOLS
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
    Ids,
    Libraries,
    ask,
    fill_in,
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
    ("POST /queries/augment", {"text": "The ferry", "documents": ["zanziba/notes.md", "zanzibar one"]}),
    ("POST /queries/answer", {"question": "When does the common ferry leave?"}),
    ("POST /queries/images/search", {"query_text": "boat"}),
    ("POST /queries/sources/graph", {}),
    ("POST /queries/constructive", {"steps": [SEED, {"step": "expand", "along": ["appears_in", "part_of"]}]}),
    ("POST /relationships/search", {"query_text": "ferry"}),
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
"""Routes with requests that do not use the name of a hidden ontology or a similar word."""
VARYING = {"score", "timings_ms", "milliseconds", "next_cursor"}
"""Fields that depend on all ontologies: weights of words and load (docs/operations/security.md)."""


@pytest.mark.parametrize("key", ["own", "near", "empty"])
def test_unscoped_requests_show_only_visible_ontologies(
    guarded: Service, libraries: Libraries, key: str
) -> None:
    with sending(guarded, libraries.keys[key]) as client:
        for route, body in OF_EVERYTHING:
            answer = ask(client, *fill_in((route, body), libraries.own, libraries.other))
            told = answer.text.lower()
            for word in (*re.findall(r"zanz\w*", f"{route} {body}".lower()), NEARLY):
                told = re.sub(rf"\b{word}\b", "", told)
            assert SECRET not in told, (route, body)
            assert libraries.other.document not in told, (route, body)
            assert answer.status_code != 403 or key != "own", (route, body)


def test_answers_stay_the_same_while_another_ontology_grows(
    own: httpx.Client, everything: httpx.Client, libraries: Libraries
) -> None:
    """Only full-text search uses weights that depend on all ontologies (docs/operations/security.md)."""
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


def test_unscoped_requests_would_reveal_hidden_names(everything: httpx.Client, libraries: Libraries) -> None:
    """If you use a key for all ontologies, most responses should contain the other ontology. If not, the
    test would not prove anything."""
    asked = [fill_in(each, libraries.own, libraries.other) for each in OF_EVERYTHING]
    told = [ask(everything, route, body).text.lower() for route, body in asked]
    silent = [each for each, text in zip(OF_EVERYTHING, told, strict=True) if SECRET not in text]
    assert len(silent) < len(OF_EVERYTHING) // 3, silent


@pytest.mark.parametrize("named", [OTHER, NOWHERE])
def test_hidden_and_missing_ontologies_are_denied_equally(own: httpx.Client, named: str) -> None:
    told = f"this key is limited to {OWN!r} and cannot see {named!r}. "
    for route in (each for each in ROUTES if "{ontology}" in each and admits_some(each)):
        answer = ask(own, re.sub("{[^}]*}", "none", route.replace("{ontology}", named)), {})
        assert (answer.status_code, answer.json()["detail"].startswith(told)) == (403, True), route


@pytest.mark.parametrize("named", [OTHER, NOWHERE])
def test_naming_a_hidden_ontology_is_denied(
    own: httpx.Client, everything: httpx.Client, libraries: Libraries, described: dict[str, Any], named: str
) -> None:
    before, values = state_of_other(everything), partial(ontologies, named)
    tried = [each for route in filter(admits_some, ROUTES) for each in requests_of(described, route, values)]
    tried.append(("POST /queries/answer", {"question": "ferry?", "ontology": named, "stream": True}))
    for asked, body in tried:
        answer = ask(own, *fill_in((asked, body), libraries.own, libraries.other))
        assert answer.status_code == 403, (asked, body, answer.text)
        assert repr(named) in answer.json()["detail"], (asked, body)
    assert len(tried) > 40
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


def test_routes_for_all_of_kg_are_denied(own: httpx.Client) -> None:
    """Each route has to filter by ontology or reject the key. An import reads files by their hash, so it
    could open those of others."""
    assert not admits_some("POST /import/ontologies/{ontology}/lines")
    for route in ROUTES:
        if admits_some(route) or route == "POST /mcp":
            continue
        answer = ask(own, re.sub("{[^}]*}", "none", route), {})
        assert answer.status_code == 403, (route, answer.text)
        assert "concerns all of kg" in answer.json()["detail"]


def test_every_restrictable_route_is_tested_here() -> None:
    """Ids in paths are tested below, using ids of each kind."""
    tried = {_form(each) for each, _ in (*NESTED, *OF_EVERYTHING)}
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


def test_key_of_several_ontologies_sees_exactly_them(
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
    route = re.sub(r"/(same\.md|zanz[^/?]*|0{8})", "/{}", route.partition("?")[0])
    return re.sub("{[^}]*}", "{}", route)


NESTED: tuple[tuple[str, Any], ...] = (
    ("POST /queries/images/search", {"source_id": "{image}"}),
    *(
        ("POST /queries/constructive", {"steps": [{"step": "seed", "by": by, "value": f"{{{by}}}"}]})
        for by in ("source", "image", "concept")
    ),
    *(
        ("POST /ontologies/heronry/concepts", {"rows": [{by: id_, "concepts": [{"label": "ferry"}]}]})
        for by, id_ in (("source_id", "{source}"), ("document", "{document}"))
    ),
)
"""Requests with ids that are not at the top of the body, or that are of an image."""


def test_hidden_and_missing_data_looks_equal(
    own: httpx.Client, everything: httpx.Client, libraries: Libraries
) -> None:
    before = state_of_other(everything)
    for route, body in NESTED:
        compare_with_nowhere(own, libraries, route, body)
    assert state_of_other(everything) == before


def test_beginnings_of_ids_are_no_way_in(own: httpx.Client, libraries: Libraries) -> None:
    other = libraries.other
    asked = {"documents": other.document, "sources": other.source, "concepts": other.concept}
    for kind, identity in {**asked, "jobs": other.job, "proposals": other.proposal}.items():
        answer = own.get(f"/{kind}/{identity[:12]}")
        assert answer.status_code == 404, (kind, answer.text)


def test_visible_data_is_found(own: httpx.Client, libraries: Libraries) -> None:
    """Otherwise, the tests would not show that only other data is hidden."""
    for route in (each for each in ROUTES if each.startswith("GET ") and admits_some(each)):
        if "{" in route and "/events" not in route:
            filled = {**OWN_PATH, **({"source_id": "{own_image}"} if "/images" in route else {})}
            path = _written("GET", route.removeprefix("GET "), filled, LEAST.get(route, {}))
            assert ask(own, *fill_in((path, None), libraries.own, libraries.own)).status_code == 200, path
    assert own.get(f"/jobs/{libraries.own.job}").json()["ontology"] == OWN
    listed = [own.get("/documents", params=asked).json()["total"] for asked in ({}, {"ontology": OWN})]
    assert listed[0] == listed[1]


def compare_with_nowhere(
    client: httpx.Client, libraries: Libraries, route: str, body: Any, *, is_first: bool = True
) -> None:
    """Check that you get the same response for ids of the other ontology as for ids that do not exist."""
    ids, other = libraries.own, libraries.other
    nowhere = Ids(**{each.name: _turned(getattr(other, each.name)) for each in fields(Ids)})
    if is_first:  # the first question may start work, and says so
        ask(client, *fill_in((route, body), ids, nowhere))
    answers = [ask(client, *fill_in((route, body), ids, each)) for each in (other, nowhere)]
    assert answers[0].status_code == answers[1].status_code, (route, body)
    told = [_plain(answer, each) for answer, each in zip(answers, (other, nowhere), strict=True)]
    assert told[0] == told[1], (route, body)
    assert SECRET not in told[0], (route, body)


def _plain(answer: httpx.Response, ids: Ids) -> str:
    told = re.sub(r'"timings_ms":\{[^}]*\}|"milliseconds":[0-9.e-]+', "", answer.text)
    for each in fields(Ids):
        told = told.replace(getattr(ids, each.name), "*")
    return told


def _turned(identity: str) -> str:
    return identity.translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))


OWN_PATH = {
    "ontology": OWN,
    "source_id": "{own_source}",
    "document_id": "{own_pdf}",
    "page": "1",
    "concept_id": "{own_concept}",
    "community_id": "{own_community}",
    "proposal_id": "{own_proposal}",
    "job_id": "{own_job}",
    "merge_id": "0" * 32,
}
LEAST: dict[str, dict[str, Any]] = {
    "POST /queries/sources/search": ASKED,
    "POST /queries/hybrid": ASKED,
    "POST /queries/augment": {"text": "When does the common ferry leave?"},
    "POST /queries/answer": {"question": "When does the common ferry leave?"},
    "POST /queries/facets": {"fields": ["author"]},
    "POST /queries/constructive": {"steps": [SEED]},
    "POST /relationships/search": ASKED,
    "POST /documents/preview": {"ontology": OWN, "document": "new.md", "text": "The common ferry."},
    "POST /queries/images/search": {"query_text": "boat"},
    "PATCH /documents/{document_id}": {"title": "Owl"},
    "POST /documents": {"ontology": OWN, "document": "a.md", "text": "mine"},
    "POST /documents/conversation": {
        "ontology": OWN,
        "title": "t",
        "messages": [{"author": "Ada", "text": "mine"}],
    },
    "POST /documents/delete": {"where": ["author=nobody"]},
    "POST /waiting/approve": {"ontology": OWN, "documents": ["none.md"]},
    "POST /waiting/reject": {"ontology": OWN, "documents": ["none.md"]},
    "PUT /ontologies/{ontology}/judgements": {"question": "When?", "source_id": "none", "relevance": 1},
    "PUT /ontologies/{ontology}/relationship-types/stance": {"type": "none", "stance": "neutral"},
    "POST /ontologies/{ontology}/relationship-types/merges": {"into": "none", "merged": ["no such"]},
    "GET /concepts/search": {"query_text": "oven"},
    "GET /concepts/paths": {"from": "{own_concept}", "to": "harbour"},
    "DELETE /ontologies/{ontology}/judgements": {"question": "none?"},
}
"""Requests to use: the query for GET and DELETE, or the body."""
CREATING = {"POST /documents", "POST /documents/batch", "POST /documents/conversation"}
"""Routes that have the names of new documents in the body."""
FREE = {"query_text", "question", "text", "title", "uri", "by", "after", "context_template", "ontology"}
"""Fields for text to search or store. There are other tests for `ontology`."""
OF_PATHS = ("document", "source", "image", "pdf", "concept", "job", "proposal", "community")
OF_OTHERS = ("document", "source", "concept")


@pytest.fixture(scope="module")
def described(door: httpx.Client) -> dict[str, Any]:
    return door.get("/openapi.json").json()


def test_ids_of_another_are_nowhere_in_each_place(
    own: httpx.Client, everything: httpx.Client, libraries: Libraries, described: dict[str, Any]
) -> None:
    before = state_of_other(everything)
    for route in (each for each in ROUTES if admits_some(each) and each not in CREATING):
        for number, (asked, body) in enumerate(requests_of(described, route, ids)):
            compare_with_nowhere(own, libraries, asked, body, is_first=number == 0)
    assert state_of_other(everything) == before


def test_each_kind_of_place_is_found(described: dict[str, Any]) -> None:
    def places(route: str) -> int:
        return len(list(requests_of(described, route, ids)))

    assert places("GET /sources/{source_id}") == len(OF_PATHS)
    assert places("GET /concepts/paths") == 2 * len(OF_OTHERS)
    assert places("POST /queries/images/search") == 2 * len(OF_OTHERS) + 2, "source_id, documents, where"
    assert places("GET /ontologies") == 0


def ids(name: str, forms: set[str], *, in_path: bool) -> list[Any]:
    if in_path:
        return [] if name in {"ontology", "page"} else [f"{{{kind}}}" for kind in OF_PATHS]
    if name in FREE or name == "ontologies":
        return []
    if name == "where":
        return [["document={document}"], ["{source}=1"]]
    kinds = [f"{{{kind}}}" for kind in OF_OTHERS]
    return (kinds if "string" in forms else []) + ([[kind] for kind in kinds] if "strings" in forms else [])


def ontologies(named: str, name: str, forms: set[str], *, in_path: bool) -> list[Any]:
    if in_path or name not in {"ontology", "ontologies"}:
        return []
    return ([named] if "string" in forms else []) + ([[named], [OWN, named]] if "strings" in forms else [])


def requests_of(
    described: dict[str, Any], route: str, values: Callable[..., list[Any]]
) -> Iterator[tuple[str, Any]]:
    """Build a request for each value and each place where it can be used."""
    method, path = route.split(" ")
    operation = described["paths"].get(path, {}).get(method.lower(), {})
    least = LEAST.get(route, {})
    query, body = (least, None) if method in {"GET", "DELETE"} else ({}, least)
    for each in operation.get("parameters", []):
        for value in values(each["name"], _forms(described, each["schema"]), in_path=each["in"] == "path"):
            if each["in"] == "path":
                yield _written(method, path, {**OWN_PATH, each["name"]: value}, query), body
            elif each["in"] == "query":
                yield _written(method, path, OWN_PATH, {**query, each["name"]: value}), body
    if content := operation.get("requestBody", {}).get("content", {}).get("application/json"):
        for name, schema in _resolved(described, content["schema"]).get("properties", {}).items():
            beside = {each: of for each, of in least.items() if {each, name} != {"query_text", "source_id"}}
            for value in values(name, _forms(described, schema), in_path=False):
                yield _written(method, path, OWN_PATH, {}), {**beside, name: value}


def _written(method: str, path: str, filled: dict[str, str], query: dict[str, Any]) -> str:
    for name, value in filled.items():
        path = path.replace(f"{{{name}}}", value)
    values = [(name, each) for name, of in query.items() for each in (of if isinstance(of, list) else [of])]
    return f"{method} {path}" + "".join(
        f"{'&' if at else '?'}{name}={value}" for at, (name, value) in enumerate(values)
    )


def _forms(described: dict[str, Any], schema: dict[str, Any]) -> set[str]:
    """If a schema allows any value, return the names `string` and `strings`."""
    schema = _resolved(described, schema)
    inner = [_forms(described, each) for each in schema.get("anyOf", schema.get("oneOf", []))]
    if schema.get("type") == "string" and not schema.keys() & {"enum", "const"}:
        return {"string"}
    if schema.get("type") == "array" and "string" in _forms(described, schema.get("items", {})):
        return {"strings"}
    return set[str]().union(*inner)


def _resolved(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_sources", {"query": "common ferry"}),
    ("search_sources", {"query": "common ferry", "mode": "text", "all_copies": True}),
    ("hybrid_search", {"query": "common ferry oven"}),
    ("get_source_context", {"citation": "{own_source}"}),
    ("read_document", {"document": SAME_NAME}),
    ("get_concept_context", {"concept": "{own_concept}"}),
    ("get_concept_context", {"concept": "oven"}),
    ("find_similar_sources", {"citation": "{own_source}"}),
    ("search_images", {"query": "boat"}),
    ("list_ontologies", {}),
    ("list_documents", {}),
)
REFUSED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_sources", {"query": "ferry", "ontologies": [OTHER]}),
    ("hybrid_search", {"query": "ferry", "ontologies": [OTHER]}),
    ("get_source_context", {"citation": "{source}"}),
    ("read_document", {"document": "{document}"}),
    ("read_document", {"document": SAME_NAME, "ontology": OTHER}),
    ("read_document", {"document": f"{OTHER}/{SAME_NAME}"}),
    ("get_concept_context", {"concept": "{concept}"}),
    ("get_concept_context", {"concept": "oven", "ontologies": [OTHER]}),
    ("find_similar_sources", {"citation": "{source}"}),
    ("find_similar_sources", {"citation": "{own_source}", "ontologies": [OTHER]}),
    ("search_images", {"like": "{image}"}),
    ("search_images", {"query": "boat", "ontologies": [OTHER]}),
    ("list_documents", {"ontology": OTHER}),
)


def test_tools_show_ones_own(own: httpx.Client, libraries: Libraries) -> None:
    for tool, arguments in CALLS:
        told = _call(own, tool, arguments, libraries)
        assert SECRET not in str(told).lower(), (tool, arguments)
        assert not told["isError"], told


def test_hidden_data_is_not_found_by_agents(own: httpx.Client, libraries: Libraries) -> None:
    for tool, arguments in REFUSED:
        told = _call(own, tool, arguments, libraries)
        assert told["isError"], told
        (text,) = (each["text"] for each in told["content"])
        assert re.search("this key is limited to|not found|has no", text), (tool, arguments, text)
        assert SECRET not in text.lower().replace(OTHER, "", 2), (tool, arguments)


def test_unrestricted_key_sees_hidden_data(everything: httpx.Client, libraries: Libraries) -> None:
    told = [str(_call(everything, *each, libraries)).lower() for each in CALLS]
    assert sum(SECRET in each for each in told) > len(CALLS) // 2


def test_every_tool_is_tried() -> None:
    for calls in (CALLS, REFUSED):
        assert TOOLS.keys() - {each for each, _ in calls} <= {"list_ontologies"}


def _call(client: httpx.Client, tool: str, arguments: dict[str, Any], libraries: Libraries) -> dict[str, Any]:
    filled = fill_in(("", arguments), libraries.own, libraries.other)[1]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": filled}}
    accepting = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    return client.post("/mcp", json=asked, headers=accepting).json()["result"]

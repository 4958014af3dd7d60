"""Each place of a request that takes a name or an id: another ontology's are nowhere in all of them.

Routes and places come from the OpenAPI document, so a new one is tried without a change here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.service.test_ids_of_other_ontologies import compare_with_nowhere
from tests.support.routes import ROUTES, admits_some
from tests.support.two_libraries import ASKED, OWN, SEED, Libraries, state_of_other

OWN_PATH = {
    "ontology": OWN,
    "source_id": "{own_source}",
    "document_id": "{own_document}",
    "page": "1",
    "concept_id": "{own_concept}",
    "community_id": "{own_community}",
    "proposal_id": "{own_proposal}",
    "job_id": "{own_job}",
    "name": "{own_evaluation}",
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
    "POST /documents/delete": {"where": ["author=nobody"]},
    "POST /waiting/approve": {"ontology": OWN, "documents": ["none.md"]},
    "POST /waiting/reject": {"ontology": OWN, "documents": ["none.md"]},
    "PUT /ontologies/{ontology}/judgements": {"question": "When?", "source_id": "none", "relevance": 1},
    "PUT /ontologies/{ontology}/relationship-types/stance": {"type": "none", "stance": "neutral"},
    "POST /ontologies/{ontology}/relationship-types/merges": {"into": "none", "merged": ["no such"]},
    "GET /concepts/search": {"query_text": "oven"},
    "GET /concepts/paths": {"from": "{own_concept}", "to": "harbour"},
    "GET /evaluations/compare": {"name": "{own_evaluation}"},
    "DELETE /ontologies/{ontology}/judgements": {"question": "none?"},
}
"""What a request needs at least: the query of GET and DELETE, or the body."""
CREATING = {"POST /documents", "POST /documents/batch", "POST /documents/conversation"}
"""Names in their bodies are those of new documents of one's own."""
FREE = {"query_text", "question", "text", "title", "uri", "by", "after", "context_template", "ontology"}
"""Texts to search with or to keep; `ontology` has tests of its own."""
OF_PATHS = ("document", "source", "image", "pdf", "concept", "job", "proposal", "community", "evaluation")
OF_OTHERS = ("document", "source", "concept")


@pytest.fixture(scope="module")
def described(door: httpx.Client) -> dict[str, Any]:
    return door.get("/openapi.json").json()


@pytest.mark.parametrize("route", [each for each in ROUTES if admits_some(each)])
def test_ids_of_another_are_nowhere_in_each_place(
    own: httpx.Client, everything: httpx.Client, libraries: Libraries, described: dict[str, Any], route: str
) -> None:
    before = None if route.startswith("GET ") else state_of_other(everything)
    for number, (asked, body) in enumerate(requests_of(described, route)):
        compare_with_nowhere(own, libraries, asked, body, is_first=number == 0)
    assert before is None or state_of_other(everything) == before


def test_each_kind_of_place_is_found(described: dict[str, Any]) -> None:
    def places(route: str) -> int:
        return len(list(requests_of(described, route)))

    assert places("GET /sources/{source_id}") == len(OF_PATHS)
    assert places("GET /concepts/paths") == 2 * len(OF_OTHERS)
    assert places("POST /queries/images/search") == 2 * len(OF_OTHERS) + 2, "source_id, documents, where"
    assert places("GET /ontologies") == 0


def requests_of(described: dict[str, Any], route: str) -> Iterator[tuple[str, Any]]:
    """A request for each place and kind of id: the route with its query, and the body."""
    method, path = route.split(" ")
    operation = described["paths"][path][method.lower()]
    parameters = operation.get("parameters", [])
    least = LEAST.get(route, {})
    query = least if method in {"GET", "DELETE"} else {}
    body = None if method in {"GET", "DELETE"} else least
    for each in parameters:
        if each["in"] == "path" and each["name"] not in {"ontology", "page"}:
            for kind in OF_PATHS:
                yield _written(method, path, {**OWN_PATH, each["name"]: f"{{{kind}}}"}, query), body
        elif each["in"] == "query":
            for value in _values(described, each["name"], each["schema"]):
                yield _written(method, path, OWN_PATH, {**query, each["name"]: value}), body
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content and route not in CREATING:
        for name, schema in _resolved(described, content["schema"]).get("properties", {}).items():
            for value in _values(described, name, schema):
                yield _written(method, path, OWN_PATH, {}), {**least, name: value}


def _written(method: str, path: str, filled: dict[str, str], query: dict[str, Any]) -> str:
    for name, value in filled.items():
        path = path.replace(f"{{{name}}}", value)
    values = [(name, each) for name, of in query.items() for each in (of if isinstance(of, list) else [of])]
    return f"{method} {path}" + "".join(
        f"{'&' if at else '?'}{name}={value}" for at, (name, value) in enumerate(values)
    )


def _values(described: dict[str, Any], name: str, schema: dict[str, Any]) -> list[Any]:
    kinds = [f"{{{kind}}}" for kind in OF_OTHERS]
    if name in FREE or name == "ontologies":
        return []
    if name == "where":
        return [["document={document}"], ["{source}=1"]]
    forms = _forms(described, schema)
    return (kinds if "string" in forms else []) + ([[kind] for kind in kinds] if "strings" in forms else [])


def _forms(described: dict[str, Any], schema: dict[str, Any]) -> set[str]:
    """`string` and `strings` (a list of them), where a schema allows them without naming the values."""
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

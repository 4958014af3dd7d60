from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import APIRouter

from kg_api.web.app import ROUTES as DECLARED
from kg_api.web.shared.routes import GuardedRoute, guarded_routes
from kg_api.web.shared.scopes import Rule, get_route_rule, requires
from tests.support.routes import EARLIER, PAGES, PUBLIC, PUBLIC_PAGES, ROUTES


def endpoint() -> None: ...


def test_route_without_declaration_fails_at_import() -> None:
    router = APIRouter(route_class=GuardedRoute)
    with pytest.raises(TypeError, match=r"@requires or @public of .*endpoint"):
        router.get("/new")(endpoint)


def test_unguarded_route_fails_at_import() -> None:
    router = APIRouter()
    router.get("/new")(requires("read")(endpoint))
    with pytest.raises(TypeError, match="GuardedRoute"):
        guarded_routes([router])


def test_every_route_declares_scope_of_table() -> None:
    declared = {
        f"{method} {route.path_format}": get_route_rule(route.endpoint).scope
        for route in DECLARED
        for method in (route.methods or set()) - {"HEAD"}
    }
    table = {**ROUTES, **EARLIER, **PAGES, **dict.fromkeys([*PUBLIC, *PUBLIC_PAGES])}
    files = {each for each in table if each.startswith("GET /docs/")}
    table = {"GET /docs/start.js": None, "GET /docs/{name}": None} | {
        each: scope for each, scope in table.items() if each not in files
    }
    assert declared == {each: table[each] for each in table if each not in {"POST /mcp", "GET /openapi.json"}}


def test_limited_key_needs_ontology_in_route_or_declaration() -> None:
    def admits(path: str, rule: Rule) -> bool:
        return rule.admits_some(path)

    assert not admits("/queue", Rule("read"))
    assert admits("/ontologies/{ontology}/map", Rule("read"))
    assert admits("/documents", Rule("read", filtered=True))
    assert not admits("/import/ontologies/{ontology}/lines", Rule("admin", filtered=False))


def test_changes_are_audited() -> None:
    assert get_route_rule(requires("write")(lambda: None)).audited
    assert not get_route_rule(requires("read")(lambda: None)).audited


PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "rest.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("operation", "parts"),
    [
        ("POST /documents", ("file", "ontology", "document", "metadata", "review")),
        ("POST /documents/preview", ("file",)),
        ("POST /queries/images/search", ("file", "ontology", "where", "limit", "min_similarity")),
    ],
)
def test_file_operation_documents_its_form_parts(operation: str, parts: tuple[str, ...]) -> None:
    section = PAGE.split(f"**`{operation}`**")[1].split("\n\n")[0]
    form = section.split("Form: ")[1]
    for part in parts:
        assert f"`{part}`" in form or f"`{part}*`" in form

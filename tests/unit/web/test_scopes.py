import pytest
from fastapi import APIRouter

from kg_api.web.app import ROUTES as DECLARED
from kg_api.web.shared.routes import GuardedRoute, list_guarded_routes
from kg_api.web.shared.scopes import Rule, get_route_rule, requires
from tests.support.routes import EARLIER, PAGES, PUBLIC, PUBLIC_PAGES, ROUTES

RULES = {
    f"{method} {route.path_format}": get_route_rule(route.endpoint)
    for route in DECLARED
    for method in route.methods or ()
}


def endpoint() -> None: ...


def test_route_without_declaration_fails_at_import() -> None:
    router = APIRouter(route_class=GuardedRoute)
    with pytest.raises(TypeError, match=r"@requires or @public of .*endpoint"):
        router.get("/new")(endpoint)


def test_unguarded_route_fails_at_import() -> None:
    router = APIRouter()
    router.get("/new")(requires("read")(endpoint))
    with pytest.raises(TypeError, match="GuardedRoute"):
        list_guarded_routes([router])


def test_every_route_declares_scope_of_table() -> None:
    declared = {each: rule.scope for each, rule in RULES.items()}
    table = {**ROUTES, **EARLIER, **PAGES, **dict.fromkeys([*PUBLIC, *PUBLIC_PAGES])}
    files = {each for each in table if each.startswith("GET /docs/")}
    table = {"GET /docs/start.js": None, "GET /docs/{name}": None} | {
        each: scope for each, scope in table.items() if each not in files
    }
    assert declared == {each: table[each] for each in table if each not in {"POST /mcp", "GET /openapi.json"}}


def test_changes_and_sessions_are_audited() -> None:
    audited = {each for each, rule in RULES.items() if rule.audited and not each.startswith("GET ")}
    changing = {each for each, rule in RULES.items() if rule.scope in {"write", "admin"}}
    assert audited == {each for each in changing if not each.startswith("GET ")} | {
        "POST /ui/login",
        "POST /ui/logout",
    }
    assert [each for each, rule in RULES.items() if rule.identified] == ["GET /ready"]


def test_limited_key_needs_ontology_in_route_or_declaration() -> None:
    def admits(path: str, rule: Rule) -> bool:
        return rule.admits_some(path)

    assert not admits("/queue", Rule("read"))
    assert admits("/ontologies/{ontology}/map", Rule("read"))
    assert admits("/documents", Rule("read", filtered=True))
    assert not admits("/import/ontologies/{ontology}/lines", Rule("admin", filtered=False))

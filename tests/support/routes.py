import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from kg_api.schemas.vocabulary import KeyScope
from kg_api.settings import load_settings
from kg_api.web.app import ROUTES as DECLARED
from kg_api.web.app import create_app
from kg_api.web.shared.scopes import get_route_rule

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "rest.md"
EARLIER: dict[str, KeyScope] = {
    "GET /ontologies/{ontology}/extraction-refused": "read",
    "GET /ontologies/{ontology}/refused": "read",
}
"""Paths until 0.2 that still work. They are not in the OpenAPI document."""

PUBLIC: Final = (
    "GET /", "GET /docs", "GET /docs/start.js", "GET /docs/swagger-ui-bundle.js",
    "GET /docs/swagger-ui.css", "GET /health", "GET /openapi.json", "GET /ready",
)  # fmt: skip
ROUTES: Final[dict[str, KeyScope]] = {
    **dict(re.findall(r"(?m)^\*\*`(\w+ \S+)`\*\*.* `(read|write|admin)`", REFERENCE.read_text("utf-8"))),
    "POST /mcp": "read",
}
"""Scopes as the reference states them. If you change one, the page shows it."""
PUBLIC_PAGES: Final = ("GET /ui/assets/{digest}/{name}", "GET /ui/login", "POST /ui/login")
_PAGES: dict[tuple[KeyScope, str], str] = {
    ("read", "GET"): """
        /ui /ui/ /ui/ask /ui/communities /ui/communities/{ontology}/{community_id}
        /ui/communities/{ontology}/detect /ui/concepts /ui/concepts/{concept_id} /ui/documents
        /ui/documents/change /ui/documents/searchable /ui/evaluations /ui/evaluations/compare
        /ui/evaluations/one/{name} /ui/graph/{source_id} /ui/help
        /ui/jobs /ui/ontologies
        /ui/ontologies/{ontology} /ui/map /ui/map/passages /ui/preview/{document_id} /ui/proposals
        /ui/read/{document_id} /ui/review /ui/review/approve /ui/review/reject /ui/search
        /ui/search/facets /ui/search/overview
        """,
    ("read", "POST"): """
        /ui/ask /ui/logout
        """,
    ("write", "POST"): """
        /ui/communities/{ontology}/detect /ui/documents /ui/documents/change /ui/documents/delete
        /ui/documents/tags /ui/jobs/{job_id}/cancel
        /ui/jobs/{job_id}/retry /ui/judgements /ui/ontologies/{ontology}/synonyms
        /ui/proposals/{proposal_id}/{decision} /ui/review/approve /ui/review/reject
        """,
    ("admin", "GET"): """
        /ui/folders /ui/folders/{folder_id} /ui/folders/{folder_id}/remove
        /ui/ontologies/{ontology}/delete
        """,
    ("admin", "POST"): """
        /ui/folders /ui/folders/{folder_id}/remove /ui/folders/{folder_id}/scan
        /ui/ontologies/{ontology}/delete /ui/ontologies/{ontology}/language
        """,
}
PAGES: Final[dict[str, KeyScope]] = {
    f"{method} {path}": scope for (scope, method), paths in _PAGES.items() for path in paths.split()
}
"""Routes for web pages. They are not in the OpenAPI document."""

_RULES = {
    f"{method} {route.path_format}": (get_route_rule(route.endpoint), route.path_format)
    for route in DECLARED
    for method in route.methods or ()
}
FILTERED: Final = {route for route, (rule, _) in _RULES.items() if rule.filtered}
"""Routes that can be used with a limited key and have no ontology in the path."""
PAGED: Final = {
    route.path_format
    for route in DECLARED
    if {"offset", "limit"} <= {*inspect.signature(route.endpoint).parameters}
}
"""Paths of lists, one page at a time."""


@cache
def build_openapi() -> dict[str, Any]:
    """Build the OpenAPI document, which takes a second of CPU."""
    return create_app(load_settings(), lambda _: None).openapi()


def admits_some(route: str) -> bool:
    """Check if you can use a route with a key for some ontologies."""
    return route in _RULES and _RULES[route][0].admits_some(_RULES[route][1])

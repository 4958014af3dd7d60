"""Scope that is needed for each route. If you do not declare a route, the import fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from fastapi.routing import APIRoute

from kg_api.schemas.vocabulary import KeyScope

PAGES: Final = "/ui"
BESIDE_ROUTES: Final = ("/openapi.json", "/.well-known/")
"""Public paths that have no route. MCP clients request the second, and expect to get 404."""
_RULE: Final = "kg_rule"
EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule to access a route."""

    scope: KeyScope | None
    """Scope that is needed. None: the route is public and does not return text, names, or counts."""
    filtered: bool | None = None
    """Whether you can use a key for some ontologies. None: only if the ontology is in the path."""
    audited: bool = True
    """Whether the audit log records changes. GET is never recorded."""
    identified: bool = False
    """Whether a public route checks the key, to show more details to users who can see all ontologies."""

    def admits_some(self, path_format: str) -> bool:
        """Check if you can call the route with a key for some ontologies.

        By default, one has to be in the path.
        """
        return "{ontology}" in path_format if self.filtered is None else self.filtered


def requires(
    scope: KeyScope, *, filtered: bool | None = None, audited: bool | None = None
) -> Callable[[EndpointT], EndpointT]:
    """Declare the scope that is needed for a route.

    Args:
        scope: Required scope. A higher scope includes it.
        filtered: Whether the route uses only the ontologies of the key, although its path names none. False:
            a key for some ontologies never suffices.
        audited: Whether the audit log records changes. None: only above `read`.
    """
    return _declare(Rule(scope, filtered, scope != "read" if audited is None else audited))


def public(*, identified: bool = False) -> Callable[[EndpointT], EndpointT]:
    """Declare a route that can be used without a key."""
    return _declare(Rule(None, identified=identified))


def _declare(rule: Rule) -> Callable[[EndpointT], EndpointT]:
    def declare(endpoint: EndpointT) -> EndpointT:
        setattr(endpoint, _RULE, rule)
        return endpoint

    return declare


def get_route_rule(endpoint: Callable[..., Any]) -> Rule:
    """Get the rule of a route."""
    rule: Rule | None = getattr(endpoint, _RULE, None)
    if rule is None:
        raise TypeError(f"declare @requires or @public of {endpoint.__module__}.{endpoint.__qualname__}")
    return rule


class PublicPaths:
    """Paths that can be used without authentication, known before routing."""

    def __init__(self, routes: Iterable[APIRoute]) -> None:
        rules = [(each.path_format, get_route_rule(each.endpoint)) for each in routes]
        paths = {path.partition("{")[0] for path, rule in rules if rule.scope is None} | {*BESIDE_ROUTES}
        self.identified = {path for path, rule in rules if rule.identified}
        self._exact = {each for each in paths if len(each) == 1 or not each.endswith("/")}
        self._below = tuple(paths - self._exact)

    def __contains__(self, path: str) -> bool:
        return path in self._exact or path.startswith(self._below)


def is_page(path: str) -> bool:
    return path == PAGES or path.startswith(f"{PAGES}/")

"""Required scope of each route. A route without a declaration fails at import."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from fastapi.routing import APIRoute

from kg_api.schemas.vocabulary import KeyScope

PAGES: Final = "/ui"
BESIDE_ROUTES: Final = ("/openapi.json", "/.well-known/")
"""Public paths without a route. MCP clients request the second and expect 404."""
_RULE: Final = "kg_rule"
EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Rule:
    """Access rule of a route."""

    scope: KeyScope | None
    """Required scope. None: the route is public and returns no stored text, name, or count."""
    filtered: bool | None = None
    """Whether a key for some ontologies suffices. None: only if the path contains the ontology."""
    audited: bool = False
    identified: bool = False
    """Whether a public route checks a key. Users with access to all ontologies get more details."""

    def admits_some(self, path_format: str) -> bool:
        """Check if a key for some ontologies may call the route. By default, its path must name one."""
        return "{ontology}" in path_format if self.filtered is None else self.filtered


def requires(
    scope: KeyScope, *, filtered: bool | None = None, audited: bool | None = None
) -> Callable[[EndpointT], EndpointT]:
    """Declare the scope of a route.

    Args:
        scope: Required scope. A higher scope includes it.
        filtered: Whether the route uses only the ontologies of the key, although its path names none. False:
            a key for some ontologies never suffices.
        audited: Whether the audit log records changes. None: only above `read`. GET is never recorded.
    """
    return _declare(Rule(scope, filtered, scope != "read" if audited is None else audited))


def public(*, audited: bool = False, identified: bool = False) -> Callable[[EndpointT], EndpointT]:
    """Declare that a route needs no key."""
    return _declare(Rule(None, None, audited, identified))


def _declare(rule: Rule) -> Callable[[EndpointT], EndpointT]:
    def declare(endpoint: EndpointT) -> EndpointT:
        setattr(endpoint, _RULE, rule)
        return endpoint

    return declare


def get_route_rule(endpoint: Callable[..., Any]) -> Rule:
    """Get the rule of a route.

    Raises:
        TypeError: The route has no declaration.
    """
    rule: Rule | None = getattr(endpoint, _RULE, None)
    if rule is None:
        raise TypeError(f"declare @requires or @public of {endpoint.__module__}.{endpoint.__qualname__}")
    return rule


class PublicPaths:
    """Paths without authentication, known before routing."""

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

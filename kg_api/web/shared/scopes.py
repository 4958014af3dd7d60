"""What a key must be good for, declared at each route: a route without a declaration fails at import."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from fastapi.routing import APIRoute

from kg_api.schemas.vocabulary import KeyScope

PAGES: Final = "/ui"
BESIDE_ROUTES: Final = ("/openapi.json", "/.well-known/")
"""Public paths without a route of ours. A client of MCP looks below the second and expects 404."""
_RULE: Final = "kg_rule"
EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Rule:
    """What a route needs and who is told of it."""

    scope: KeyScope | None
    """Of the key; None: the route is public, for it tells no text, name or count of what is stored."""
    filtered: bool | None = None
    """Whether a key of some ontologies is good for it; None: if its path names the ontology."""
    audited: bool = False
    identified: bool = False
    """Whether a public route looks at the key that is sent, as it tells more to whoever may see all."""

    def admits_some(self, path_format: str) -> bool:
        """Whether a key of some ontologies may call the route. Fail closed: others concern all of kg."""
        return "{ontology}" in path_format if self.filtered is None else self.filtered


def requires(
    scope: KeyScope, *, filtered: bool | None = None, audited: bool | None = None
) -> Callable[[EndpointT], EndpointT]:
    """Declare the scope of a route.

    Args:
        scope: of a key; a higher one is good for it, too.
        filtered: the route shows and changes only the ontologies that a key is for, though its path names
            none; False: not even then.
        audited: whether the audit log records a change; None: if it needs more than the scope `read`. GET is
            never recorded.
    """
    return _declare(Rule(scope, filtered, scope != "read" if audited is None else audited))


def public(*, audited: bool = False, identified: bool = False) -> Callable[[EndpointT], EndpointT]:
    """Declare that a route answers without a key."""
    return _declare(Rule(None, None, audited, identified))


def _declare(rule: Rule) -> Callable[[EndpointT], EndpointT]:
    def declare(endpoint: EndpointT) -> EndpointT:
        setattr(endpoint, _RULE, rule)
        return endpoint

    return declare


def rule_of(endpoint: Callable[..., Any]) -> Rule:
    """The rule of a route.

    Raises:
        TypeError: none was declared.
    """
    rule: Rule | None = getattr(endpoint, _RULE, None)
    if rule is None:
        raise TypeError(f"declare @requires or @public of {endpoint.__module__}.{endpoint.__qualname__}")
    return rule


class PublicPaths:
    """The paths that are answered without a key, before it is known which route has them."""

    def __init__(self, routes: Iterable[APIRoute]) -> None:
        rules = [(each.path_format, rule_of(each.endpoint)) for each in routes]
        paths = {path.partition("{")[0] for path, rule in rules if rule.scope is None} | {*BESIDE_ROUTES}
        self.identified = {path for path, rule in rules if rule.identified}
        self._exact = {each for each in paths if len(each) == 1 or not each.endswith("/")}
        self._below = tuple(paths - self._exact)

    def __contains__(self, path: str) -> bool:
        return path in self._exact or path.startswith(self._below)


def is_page(path: str) -> bool:
    """Whether a path is one of the pages that people see in a browser."""
    return path == PAGES or path.startswith(f"{PAGES}/")

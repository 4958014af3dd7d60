"""Declaration of routes with scopes, and examples of bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter, Body

from kg_api.schemas.vocabulary import KeyScope
from kg_api.web.shared.routes import ApiRoute, GuardedRoute
from kg_api.web.shared.scopes import requires

EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])
Declare = Callable[[EndpointT], EndpointT]


def example(**fields: Any) -> Any:
    """Declare a body with an example."""
    return Body(openapi_examples={"example": {"value": fields}})


class Routes:
    """Routes for a subject: REST routes with a tag, or pages that are not in the OpenAPI document."""

    def __init__(self, tag: str | None = None, route_class: type[GuardedRoute] | None = None) -> None:
        route_class = route_class or (ApiRoute if tag else GuardedRoute)
        self.router = APIRouter(
            tags=[tag] if tag else None, route_class=route_class, include_in_schema=tag is not None
        )

    def get(self, path: str, scope: KeyScope, *summary: str, **options: Any) -> Declare[EndpointT]:
        return self._on("GET", path, scope, *summary, **options)

    def post(self, path: str, scope: KeyScope, *summary: str, **options: Any) -> Declare[EndpointT]:
        return self._on("POST", path, scope, *summary, **options)

    def put(self, path: str, scope: KeyScope, *summary: str, **options: Any) -> Declare[EndpointT]:
        return self._on("PUT", path, scope, *summary, **options)

    def patch(self, path: str, scope: KeyScope, *summary: str, **options: Any) -> Declare[EndpointT]:
        return self._on("PATCH", path, scope, *summary, **options)

    def delete(self, path: str, scope: KeyScope, *summary: str, **options: Any) -> Declare[EndpointT]:
        return self._on("DELETE", path, scope, *summary, **options)

    def _on(
        self,
        method: str,
        path: str,
        scope: KeyScope,
        summary: str | None = None,
        *,
        filtered: bool | None = None,
        audited: bool | None = None,
        head: bool = False,
        earlier_path: str = "",
        **options: Any,
    ) -> Declare[EndpointT]:
        """Declare a route. You can use the options for `requires` and FastAPI. `head` adds a HEAD route.

        Requests to `earlier_path` still work. It is not in the OpenAPI document.
        """

        def declare(endpoint: EndpointT) -> EndpointT:
            requires(scope, filtered=filtered, audited=audited)(endpoint)
            self.router.api_route(path, methods=[method], summary=summary, **options)(endpoint)
            if earlier_path:
                self.router.api_route(earlier_path, methods=[method], include_in_schema=False)(endpoint)
            if head:
                self.router.api_route(path, methods=["HEAD"], include_in_schema=False)(endpoint)
            return endpoint

        return declare

"""Route classes for the API, to check access, parameters, and bodies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable
from functools import partial, wraps
from typing import Any, TypeVar, get_args, get_origin

from fastapi import APIRouter, Body, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from kg_api.errors import InvalidInput, KgError
from kg_api.schemas.vocabulary import KeyScope
from kg_api.web.shared import problems
from kg_api.web.shared.dependencies import get_container, is_container
from kg_api.web.shared.limits import parse, read_body, require_type
from kg_api.web.shared.scopes import get_route_rule, requires
from kg_api.web.shared.security import audit, check_access

NOTHING_ASKED = frozenset({b"", b"{}"})
READING = frozenset({"GET", "HEAD"})
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class GuardedRoute(APIRoute):
    """Route that checks the key before it reads the request. Changes are recorded in the audit log."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self.rule = get_route_rule(endpoint)
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            check_access(request, self.rule, self.path_format)
            return await self._audit(handle, request)

        return guarded

    async def _audit(self, handle: Handler, request: Request) -> Response:
        if not self.rule.audited or request.method in READING:
            return await handle(request)
        try:
            response = await handle(request)
        except KgError as error:
            audit(request, error.status)
            raise
        audit(request, response.status_code, bytes(getattr(response, "body", b"")))
        return response


def list_guarded_routes(routers: Iterable[APIRouter]) -> list[GuardedRoute]:
    """List all routes in the routers."""
    guarded: list[GuardedRoute] = []
    for route in (route for router in routers for route in router.routes):
        if not isinstance(route, GuardedRoute):
            raise TypeError(f"make this a GuardedRoute or an ApiRoute: {route!r}")
        guarded.append(route)
    return guarded


class StrictRequest(Request):
    async def json(self) -> Any:
        return await read_body(self, parse)


class ApiRoute(GuardedRoute):
    """Route that rejects parameters and bodies that it does not know."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        waits = inspect.iscoroutinefunction(endpoint) or "response" in inspect.signature(endpoint).parameters
        super().__init__(path, endpoint if waits else self._encode_in_thread(endpoint), **options)

    def _encode_in_thread(self, endpoint: Callable[..., Any]) -> Callable[..., Any]:
        """Return an endpoint that encodes its response in its own thread.

        FastAPI would validate the response in another thread and encode it in the event loop. That takes a
        fifth of the CPU time of a search.
        """

        @wraps(endpoint)
        def encoded(**given: Any) -> Any:
            answer = endpoint(**given)
            if not isinstance(answer, BaseModel) or self.response_field is None:
                return answer
            content = self.response_field.serialize_json(answer)
            return Response(content, self.status_code or 200, media_type="application/json")

        return encoded

    def get_route_handler(self) -> Handler:
        handle = APIRoute.get_route_handler(self)
        parameters = self.dependant.query_params
        known = {each.alias for each in parameters}
        several = {each.alias for each in parameters if _takes_several(each.field_info.annotation)}
        by_hand = "requestBody" in (self.openapi_extra or {})

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            check_access(strict, self.rule, self.path_format)  # first: an invalid key sends no body
            _check_parameters(strict, known, several)
            if self.body_field is not None:
                require_type(strict, "application/json")
                await strict.body()  # here, because FastAPI turns any error during reading into a 400
            elif not by_hand and (await strict.body()).strip() not in NOTHING_ASKED:
                raise InvalidInput(f"{strict.method} {self.path_format} takes no body. Send none, or {{}}")
            return await self._audit(handle, strict)

        return strictly

    def takes_only_a_body(self) -> bool:
        """Check if `DirectRoutes` can be used for this route."""
        body, parameters = self.body_field, {*inspect.signature(self.endpoint).parameters}
        opened = {each.name for each in self.dependant.dependencies if is_container(each.call)}
        waits = inspect.iscoroutinefunction(self.endpoint)
        return body is not None and parameters == {*opened, body.name} and not waits

    async def answer(self, request: Request) -> Response:
        """Answer a request to a route that only needs a body."""
        check_access(request, self.rule, self.path_format)
        _check_parameters(request, set(), set())
        require_type(request, "application/json")
        if not await request.body():
            raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "Field required"}])
        given = await read_body(request, parse)
        return await self._audit(partial(self._run_in_thread, given=given), request)

    async def _run_in_thread(self, request: Request, *, given: Any) -> Response:
        container = get_container(request)
        return await run_in_threadpool(self._validate_and_run, container, given)

    def _validate_and_run(self, container: Any, given: Any) -> Response:
        (field,) = self.dependant.body_params
        body, errors = field.validate(given, {}, loc=("body",))
        if errors:
            raise RequestValidationError(errors)
        opened = {each.name: container for each in self.dependant.dependencies if each.name}
        return self.endpoint(**opened, **{field.name: body})


class DirectRoutes:
    """Middleware for routes that have a constant path and only need a body.

    Searches are such routes. FastAPI's router, exit stacks, and dependencies take a third of the CPU time of
    a search, and these routes use none of them. FastAPI serves all other requests.
    """

    def __init__(self, app: ASGIApp, routes: Iterable[GuardedRoute]) -> None:
        self.app = app
        self._routes = {
            (method, route.path): route
            for route in routes
            if isinstance(route, ApiRoute) and "{" not in route.path and route.takes_only_a_body()
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if route is None:
            await self.app(scope, receive, send)
            return
        scope.update(route=route, path_params={})
        request = StrictRequest(scope, receive, send)
        try:
            response = await route.answer(request)
        except (KgError, HTTPException, RequestValidationError) as error:
            response = problems.answer_error(request, error)
        await response(scope, receive, send)


class HeadRequests:
    """Middleware that answers HEAD like GET, except for event streams, which may not end."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"].endswith("/events"):
            await self.app(scope, receive, send)
            return
        routed = {**scope, "method": "GET"}  # a copy, because uvicorn omits the body by its own scope
        try:
            await self.app(routed, receive, send)
        finally:
            scope["route"] = routed.get("route")  # for the metrics


def _check_parameters(request: Request, known: set[str], several: set[str]) -> None:
    """Reject query parameters that are unknown or repeated, so that a filter is not ignored."""
    if not request.scope["query_string"]:
        return
    given = [name for name, _ in request.query_params.multi_items()]
    if unknown := sorted({name[:100] for name in given} - known):
        told = ", ".join(sorted(known)) or "none"
        raise InvalidInput(f"unknown query parameters: {', '.join(unknown[:10])}. Known parameters: {told}")
    single = [name for name in given if name not in several]
    if len(single) > len(set(single)):
        raise InvalidInput(f"duplicate query parameter: {', '.join(sorted(single)[:10])}")


def _takes_several(annotation: object) -> bool:
    return get_origin(annotation) is list or any(get_origin(each) is list for each in get_args(annotation))


# Declaration of routes with scopes

EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])
Declare = Callable[[EndpointT], EndpointT]


def declare_example(**fields: Any) -> Any:
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
        earlier_path: str = "",
        **options: Any,
    ) -> Declare[EndpointT]:
        """Declare a route. You can use the options for `requires` and FastAPI.

        Requests to `earlier_path` still work. It is not in the OpenAPI document.
        """

        def declare(endpoint: EndpointT) -> EndpointT:
            requires(scope, filtered=filtered, audited=audited)(endpoint)
            self.router.api_route(path, methods=[method], summary=summary, **options)(endpoint)
            if earlier_path:
                self.router.api_route(earlier_path, methods=[method], include_in_schema=False)(endpoint)
            return endpoint

        return declare

"""JSON as the standard has it: Python's own parser takes NaN, and lets the second of two equal keys win."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, TypeVar

from anyio.to_thread import run_sync
from fastapi import HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from kg_api.web.access.door import check_scope
from kg_api.web.limits.json_bounds import OutOfBounds, check_bounds

LARGE_BYTES = 64 * 1024
"""A longer body is read in a thread, for a short one that would cost more than reading it."""
LARGE_AT_ONCE = 2
MAX_KEYS = 1000
"""Keys in one object."""

ModelT = TypeVar("ModelT", bound=BaseModel)
ReadT = TypeVar("ReadT")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def parse(content: bytes) -> Any:
    """Parse JSON.

    Raises:
        HTTPException: saying what is wrong: 400 for no UTF-8, no JSON, a key twice, NaN or nesting without
            end, 413 for more values than any request needs.
    """
    try:
        check_bounds(content)
        return json.loads(
            content.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_unique_keys
        )
    except UnicodeDecodeError:
        raise HTTPException(400, "the body is not UTF-8") from None
    except OutOfBounds as error:
        raise _out_of_bounds(error) from None
    except ValueError as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_KEYS:
        raise OutOfBounds(f"has an object with more than {MAX_KEYS:,} keys")
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("an object has a duplicate key")
    return result


def valid(model: type[ModelT], given: Any) -> ModelT:
    """Check a body that was read by hand, so that it is answered like any other.

    Raises:
        RequestValidationError: naming each field that is wrong.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


async def read_model(request: Request, model: type[ModelT]) -> ModelT:
    """Read the body of a request as a model.

    Raises:
        HTTPException: 400, when it is not proper JSON.
        RequestValidationError: naming each field that is wrong.
    """
    return await _read(request, lambda body: valid(model, parse(body)))


async def read_bounded(request: Request) -> bytes:
    """Read the body of a request that somebody else parses: only its bounds are checked.

    Raises:
        HTTPException: 400 or 413, when it is out of bounds.
    """
    return await _read(request, _check_bounds)


def _check_bounds(content: bytes) -> bytes:
    try:
        check_bounds(content)
    except OutOfBounds as error:
        raise _out_of_bounds(error) from None
    return content


def _out_of_bounds(error: OutOfBounds) -> HTTPException:
    return HTTPException(error.status, f"the body {error}")


async def _read(request: Request, reading: Callable[[bytes], ReadT]) -> ReadT:
    """Read a large body in a thread, few of them at once; those that wait hold no thread."""
    body = await request.body()
    if len(body) <= LARGE_BYTES:
        return reading(body)
    return await run_sync(reading, body, limiter=request.app.state.large_bodies)


def media_type(request: Request) -> str:
    """What a body says it is, without parameters; empty: nothing."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def require_type(request: Request, kind: str) -> None:
    """Refuse a body that says it is something else.

    Raises:
        HTTPException: 415.
    """
    if media_type(request) != kind:
        raise HTTPException(415, f"send the body as {kind}")


def require_json(request: Request) -> None:
    """Refuse a body that does not say it is JSON.

    Raises:
        HTTPException: 415.
    """
    require_type(request, "application/json")


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        """The body.

        Raises:
            HTTPException: 400, when it is not proper JSON.
        """
        return await _read(self, parse)


class StrictRoute(APIRoute):
    """A route that takes its body as strict JSON."""

    def get_route_handler(self) -> Handler:
        """Check the content type, then hand on a strict request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            if self.body_field is not None:
                await check_scope(strict)  # whose key is not good for it need not send what it asks
                require_json(request)
                await strict.body()  # here, for FastAPI makes a 400 of whatever happens while it reads
            return await handle(strict)

        return strictly

"""JSON as the standard has it: Python's own parser takes NaN, and lets the second of two equal keys win."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def parse(content: bytes) -> Any:
    """Parse JSON.

    Raises:
        HTTPException: 400, saying what is wrong: no UTF-8, no JSON, a key twice, NaN, or nesting without end.
    """
    try:
        return json.loads(
            content.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_unique_keys
        )
    except UnicodeDecodeError:
        raise HTTPException(400, "the body is not UTF-8") from None
    except RecursionError:
        raise HTTPException(400, "the body is nested too deeply") from None
    except ValueError as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return result


def require_json(request: Request) -> None:
    """Refuse a body that does not say it is JSON.

    Raises:
        HTTPException: 415.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "send the body as application/json")


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        """The body.

        Raises:
            HTTPException: 400, when it is not proper JSON.
        """
        return parse(await self.body())


class StrictRoute(APIRoute):
    """A route that takes its body as strict JSON."""

    def get_route_handler(self) -> Handler:
        """Check the content type, then hand on a strict request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            if self.body_field is not None:
                require_json(request)
                await strict.body()  # here, for FastAPI makes a 400 of whatever happens while it reads
            return await handle(strict)

        return strictly

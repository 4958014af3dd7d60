"""Bodies of answers, written where they were made."""

from __future__ import annotations

from fastapi import Response
from pydantic import BaseModel


def written(answer: BaseModel) -> Response:
    """An answer as its JSON.

    FastAPI would hand what a route gives to another thread, to be validated anew. `response_model` of the
    route keeps it in the OpenAPI document.
    """
    return Response(answer.model_dump_json(by_alias=True), media_type="application/json")

"""The service's description of itself: FastAPI's, with the errors as they really look."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from kg_api.models.problems import Problem

MEDIA_TYPE = "application/problem+json"
_SCHEMAS = "#/components/schemas/"

RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem; its detail says what to do.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_SCHEMAS}{Problem.__name__}"}}},
    }
}
"""Said of every operation, in place of FastAPI's own shape of a 422."""


def tell_problems(app: FastAPI) -> None:
    """Put what RESPONSES refers to into the app's OpenAPI document."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        document = plain()
        schema = Problem.model_json_schema(ref_template=_SCHEMAS + "{model}")
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas |= schema.pop("$defs") | {Problem.__name__: schema}
        return document

    app.openapi = openapi  # pyright: ignore[reportAttributeAccessIssue] - the way FastAPI's documentation shows

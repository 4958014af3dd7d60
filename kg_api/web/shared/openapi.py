"""OpenAPI document for the service, with errors, keys, and event streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from kg_api.schemas.answers import Answered, AnswerEvent
from kg_api.schemas.operations import Job
from kg_api.schemas.problems import Problem
from kg_api.web.shared.forwarded import get_path_prefix
from kg_api.web.shared.scopes import get_route_rule

MEDIA_TYPE = "application/problem+json"
_SCHEMAS = "#/components/schemas/"
EXTRA_MODELS: tuple[type[BaseModel], ...] = (Problem, Job, Answered, AnswerEvent)
"""Models that are not used in a response body."""

RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem. Its detail contains the fix.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_SCHEMAS}{Problem.__name__}"}}},
    }
}
"""Response for every operation. It is used instead of the 422 from FastAPI."""
KEYS = {
    "type": "http",
    "scheme": "bearer",
    "description": "An API key (`kg admin keys create`), with the scope an operation names, or a higher.",
}


def _describe_keys(document: dict[str, Any], routes: Iterable[APIRoute]) -> None:
    """Add the scope that is needed to each operation.

    If a service has no keys, the empty alternative is used.
    """
    document["components"]["securitySchemes"] = {"key": KEYS}
    for route in routes:
        rule = get_route_rule(route.endpoint)
        if not route.include_in_schema or rule.scope is None:
            continue
        for method in route.methods or ():
            operation = document["paths"][route.path_format][method.lower()]
            operation["security"] = [{"key": [rule.scope]}, {}]
            operation["x-key-of-some-ontologies"] = rule.admits_some(route.path_format)


BINARY: Final = {"type": "string", "format": "binary"}


def build_openapi_schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template=_SCHEMAS + "{model}")
    return {name: value for name, value in schema.items() if name != "$defs"}


def request_body(
    model: type[BaseModel],
    example: object,
    *,
    form: type[BaseModel] | None = None,
    required: Sequence[str] = (),
    parts: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the OpenAPI description for a body that is parsed by hand."""
    content: dict[str, Any] = {
        "application/json": {"schema": build_openapi_schema(model), "example": example}
    }
    if form is not None:
        properties = {**(parts or {}), **build_openapi_schema(form)["properties"]}
        of_form = {"type": "object", "required": [*required], "properties": properties}
        content["multipart/form-data"] = {"schema": of_form}
    return {"requestBody": {"required": True, "content": content}}


def complete_description(app: FastAPI, routes: Sequence[APIRoute]) -> None:
    """Add models for errors and events to the OpenAPI document, and the scopes that you need."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        document = plain()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        modes = [(model, "serialization") for model in EXTRA_MODELS]
        _, extra = models_json_schema(modes, ref_template=_SCHEMAS + "{model}")  # pyright: ignore[reportArgumentType]
        for name, schema in extra["$defs"].items():
            schemas.setdefault(name, schema)
        _describe_keys(document, routes)
        return {**document, "servers": [{"url": prefix}]} if (prefix := get_path_prefix()) else document

    app.openapi = openapi  # pyright: ignore[reportAttributeAccessIssue] - as in FastAPI's documentation

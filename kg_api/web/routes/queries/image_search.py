"""Searching for pictures: by words or a stored picture as JSON, or by a picture that is sent as a file."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel
from starlette.datastructures import FormData, UploadFile

from kg_api.access.narrowing import narrowed
from kg_api.bootstrap import Container
from kg_api.errors import InvalidInput
from kg_api.models.pictures.search import ImageHits, ImageScope, ImageSearch
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import media_type, parse, read_model, valid

router = APIRouter(tags=["search"])

PATH: Final = "/queries/images/search"
MAX_FIELDS = 100
MAX_FIELD_BYTES = 64 * 1024
LISTS: Final = frozenset({"ontology", "documents", "where"})
"""Fields that may stand several times in a form."""
NUMBERS: Final = frozenset({"limit", "min_similarity"})


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return {name: value for name, value in schema.items() if name != "$defs"}


BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": _schema(ImageSearch),
                "example": {"query_text": "a red boat", "ontology": "holidays", "limit": 5},
            },
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "The picture whose like is looked for.",
                        },
                        **_schema(ImageScope)["properties"],
                    },
                }
            },
        },
    }
}


@router.post(PATH, summary="Search pictures by words or by a picture", openapi_extra=BODY)
async def search_images(container: Open, request: Request) -> ImageHits:
    """Find pictures by `query_text`, or those like a stored one (`source_id`) or one that is sent (`file`).

    A picture is compared in the space of pictures of each ontology; what has no vector there by its looks and
    words, which `degraded` says. A file is read as one that is ingested: 422 says why it is refused.
    """
    kind = media_type(request)
    if kind == "application/json":
        asked = await read_model(request, ImageSearch)
        return await run_in_threadpool(_search, container, asked)
    if kind == "multipart/form-data":
        content, scope = await _read_form(request)
        return await run_in_threadpool(_search_like, container, content, scope)
    raise HTTPException(415, "send application/json, or a picture as multipart/form-data")


def _search(container: Container, asked: ImageSearch) -> ImageHits:
    return container.image_search.search(narrowed(container.graph, asked))


def _search_like(container: Container, content: bytes, scope: ImageScope) -> ImageHits:
    return container.image_search.search_like(content, narrowed(container.graph, scope))


async def _read_form(request: Request) -> tuple[bytes, ImageScope]:
    async with request.form(max_files=1, max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES) as form:
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise HTTPException(422, "file: the part with the picture is missing")
        return await file.read(), valid(ImageScope, _fields(form))


def _fields(form: FormData) -> dict[str, Any]:
    """What stands beside the file; lists are fields that stand several times."""
    fields: dict[str, Any] = {}
    for name, value in form.multi_items():
        if name in LISTS:
            fields.setdefault(name, []).append(_condition(value) if name == "where" else value)
        elif name in fields:
            raise InvalidInput(f"duplicate field in the form: {name[:100]}")
        elif name != "file":
            fields[name] = _number(name, value) if name in NUMBERS else value
    return fields


def _condition(value: object) -> Any:
    """A condition as a text, or as JSON."""
    text = str(value)
    return parse(text.encode("utf-8", "surrogatepass")) if text.startswith("{") else text


def _number(name: str, value: object) -> Any:
    try:
        return parse(str(value).encode("utf-8", "surrogatepass"))
    except HTTPException:
        raise InvalidInput(f"{name}: {str(value)[:100]!r} is not a number") from None

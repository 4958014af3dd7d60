"""What routes ask for."""

from __future__ import annotations

from typing import Annotated, get_args, get_origin

from fastapi import Depends, Header, Path, Query, Request
from fastapi.routing import APIRoute
from pydantic import StringConstraints

from kg_api.container import Container
from kg_api.errors import InvalidInput
from kg_api.evaluation.measuring import Measuring
from kg_api.evaluation.saved import SavedResults
from kg_api.schemas.base import Called, NodeId, OntologyName
from kg_api.schemas.filters import MAX_CONDITIONS
from kg_api.schemas.vocabulary import MAX_OFFSET, MAX_PAGE
from kg_api.web.shared.opening import Opening
from kg_api.web.shared.security import asking

# What waits for nothing is no work for a thread: going to one and back is much of a small request.


async def _container(request: Request) -> Container:
    opening: Opening = request.app.state.opening
    return opening.container()


NOTHING_ASKED = frozenset({b"", b"{}"})


async def check_parameters(request: Request) -> None:
    """Refuse a query parameter that is unknown or stands twice: no filter is ignored silently.

    Raises:
        InvalidInput: naming it.
    """
    route: APIRoute = request.scope["route"]
    known = {parameter.alias for parameter in route.dependant.query_params}
    given = [name for name, _ in request.query_params.multi_items()]
    if unknown := sorted({name[:100] for name in given} - known):
        told = ", ".join(sorted(known)) or "none"
        raise InvalidInput(f"unknown query parameters: {', '.join(unknown[:10])}; those known here: {told}")
    several = {
        each.alias for each in route.dependant.query_params if _takes_several(each.field_info.annotation)
    }
    single = [name for name in given if name not in several]
    if len(single) > len(set(single)):
        raise InvalidInput(f"duplicate query parameter: {', '.join(sorted(single)[:10])}")


def _takes_several(annotation: object) -> bool:
    return get_origin(annotation) is list or any(get_origin(each) is list for each in get_args(annotation))


async def check_body(request: Request) -> None:
    """Refuse a body where none is read: what it asks for would be ignored silently. `{}` asks for nothing.

    Raises:
        InvalidInput: there is one.
    """
    route: APIRoute = request.scope["route"]
    if route.body_field is not None or "requestBody" in (route.openapi_extra or {}):
        return
    if (await request.body()).strip() not in NOTHING_ASKED:
        raise InvalidInput(f"{request.method} {route.path_format} takes no body; send none, or {{}}")


async def _results(request: Request) -> SavedResults:
    return request.app.state.results


async def _measuring(request: Request) -> Measuring:
    return request.app.state.measuring


Open = Annotated[Container, Depends(_container)]
"""The container; 503 while it is not open."""
Results = Annotated[SavedResults, Depends(_results)]
"""Saved results of evaluations."""
Measures = Annotated[Measuring, Depends(_measuring)]
"""What adds to them."""

CalledDocument = Annotated[
    Called,
    Path(description="Id of a document, at least 8 digits it begins with, its name, or ONTOLOGY/NAME."),
]
_SOURCE = "Id of a source, at least 8 digits it begins with, or ONTOLOGY/DOCUMENT#PARAGRAPH, counted from 0"
CalledRead = Annotated[
    Called,
    Path(
        description="Id of a document, at least 8 digits it begins with, its name, or ONTOLOGY/NAME; or a "
        "source, such as ONTOLOGY/DOCUMENT#PARAGRAPH, to begin there."
    ),
]
SourceId = Annotated[Called, Path(description=f"{_SOURCE}.")]
CalledSource = Annotated[Called, Path(description=f"{_SOURCE}; a document: its beginning.")]
ConceptId = Annotated[NodeId, Path(description="Id of a concept, or at least 8 digits it begins with.")]
JobId = Annotated[NodeId, Path(description="Id of a job, or at least 8 digits it begins with.")]
Ontology = Annotated[OntologyName, Path(description="Name of an ontology.")]
OntologyFilter = Annotated[OntologyName | None, Query(description="Only this ontology; unset: all.")]
WhereFilter = Annotated[
    list[Annotated[str, StringConstraints(max_length=2000)]] | None,
    Query(
        max_length=MAX_CONDITIONS,
        description="Only documents for which this holds, such as `date>=2025-01-01`; all, if several.",
    ),
]


def _own_idempotency_key(
    request: Request,
    key: Annotated[
        str | None,
        Header(
            alias="Idempotency-Key",
            min_length=1,
            max_length=255,
            description=(
                "Requests with the same key are executed once and get the same response; kept for 24 hours."
            ),
        ),
    ] = None,
) -> str | None:
    """What a caller sent, apart from what others send: nobody is given somebody else's answer."""
    return None if key is None else f"{asking(request).key_id}/{key}"


IdempotencyKey = Annotated[str | None, Depends(_own_idempotency_key)]
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET, description="Number of items to skip.")]
PageSize = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of items.")]

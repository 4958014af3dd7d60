"""Dependencies and parameters of routes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Path, Query, Request
from pydantic import StringConstraints

from kg_api.container import Container
from kg_api.evaluation.saved import SavedResults
from kg_api.schemas.base import Called, NodeId, OntologyName
from kg_api.schemas.filters import MAX_CONDITIONS
from kg_api.schemas.vocabulary import MAX_OFFSET, MAX_PAGE
from kg_api.web.shared.opening import StartUp
from kg_api.web.shared.security import get_current_access

# These are async, because a thread switch would take much of the time of a small request


def get_container(request: Request) -> Container:
    """Get the container. Raise Unavailable if it is not open yet."""
    opening: StartUp = request.app.state.opening
    return opening.container()


async def _get_open_container(request: Request) -> Container:
    return get_container(request)


def is_container(dependency: object) -> bool:
    return dependency is _get_open_container


async def _get_results(request: Request) -> SavedResults:
    return request.app.state.results


Open = Annotated[Container, Depends(_get_open_container)]
"""Container. 503 if it is not open."""
Results = Annotated[SavedResults, Depends(_get_results)]
"""Saved results of evaluations."""

CalledDocument = Annotated[
    Called,
    Path(description="Id of a document, at least 8 digits it begins with, its name, or ONTOLOGY/NAME."),
]
_SOURCE = "Id of a source, at least 8 digits it begins with, or ONTOLOGY/DOCUMENT#PARAGRAPH, counted from 0"
CalledRead = Annotated[
    Called,
    Path(
        description="Id of a document, at least 8 digits it begins with, its name, or ONTOLOGY/NAME. Or a "
        "source, such as ONTOLOGY/DOCUMENT#PARAGRAPH, to start there."
    ),
]
SourceId = Annotated[Called, Path(description=f"{_SOURCE}.")]
CalledSource = Annotated[Called, Path(description=f"{_SOURCE}. A document selects its first source.")]
ConceptId = Annotated[NodeId, Path(description="Id of a concept, or at least 8 digits it begins with.")]
JobId = Annotated[NodeId, Path(description="Id of a job, or at least 8 digits it begins with.")]
Ontology = Annotated[OntologyName, Path(description="Name of an ontology.")]
OntologyFilter = Annotated[OntologyName | None, Query(description="Only this ontology. Default: all.")]
WhereFilter = Annotated[
    list[Annotated[str, StringConstraints(max_length=2000)]] | None,
    Query(
        max_length=MAX_CONDITIONS,
        description="Only documents that match this condition, such as `date>=2025-01-01`. If "
        "repeated, all must match.",
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
            description=("Requests with the same key run once and get the same response, for 24 hours."),
        ),
    ] = None,
) -> str | None:
    """Add the key id to the Idempotency-Key, so that you cannot get the response to another key."""
    return None if key is None else f"{get_current_access(request).key_id}/{key}"


IdempotencyKey = Annotated[str | None, Depends(_own_idempotency_key)]
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET, description="Number of items to skip.")]
PageSize = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of items.")]

"""What routes ask for."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from kg_api.bootstrap import Container
from kg_api.models.base import NodeId, OntologyName
from kg_api.web.opening import Opening


def _container(request: Request) -> Container:
    opening: Opening = request.app.state.opening
    return opening.container()


Open = Annotated[Container, Depends(_container)]
"""The container; 503 while it is not open."""

DocumentId = Annotated[NodeId, Path(description="Id of a document.")]
SourceId = Annotated[NodeId, Path(description="Id of a source.")]
JobId = Annotated[NodeId, Path(description="Id of a job.")]
Ontology = Annotated[OntologyName, Path(description="Name of an ontology.")]
OntologyFilter = Annotated[OntologyName | None, Query(description="Only this ontology; unset: all.")]
Offset = Annotated[int, Query(ge=0, le=1_000_000, description="How many to pass over.")]
PageSize = Annotated[int, Query(ge=1, le=1000, description="How many to give.")]

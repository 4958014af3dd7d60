"""Every call of the REST service, described once for the sync and the async client. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from kg_api.models.documents import (
    Deleted,
    DocumentContent,
    DocumentPage,
    DocumentText,
    EmbeddingStatus,
    Ingested,
    MetadataValue,
    OntologyList,
)
from kg_api.models.health import Health, Readiness
from kg_api.models.jobs import Job, JobPage
from kg_api.models.search import Place, SourceContext, SourceHits, SourceSearch

T = TypeVar("T", bound=BaseModel)
Metadata = dict[str, MetadataValue]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request and the type of its answer."""

    method: str
    path: str
    answer: type[T]
    params: dict[str, Any] = field(default_factory=dict[str, Any])
    json: Any = None
    data: dict[str, str] | None = None
    files: dict[str, tuple[str, bytes]] | None = None
    accepted: frozenset[int] = frozenset()
    """Error statuses whose body is the answer all the same."""


def search_sources(search: SourceSearch) -> Call[SourceHits]:
    """Find sources."""
    body = search.model_dump(exclude_unset=True)
    return Call("POST", "/queries/sources/search", SourceHits, json=body)


def ingest_text(document: DocumentText) -> Call[Ingested]:
    """Store a document that is text."""
    return Call("POST", "/documents", Ingested, json=document.model_dump(exclude_unset=True))


def ingest_bytes(
    content: bytes, *, ontology: str, document: str, uri: str | None, metadata: Metadata | None
) -> Call[Ingested]:
    """Store a file's content."""
    given = {"ontology": ontology, "document": document, "uri": uri}
    data = {name: value for name, value in given.items() if value is not None}
    if metadata:
        data["metadata"] = json.dumps(metadata)
    return Call("POST", "/documents", Ingested, data=data, files={"file": ("file", content)})


def ontologies() -> Call[OntologyList]:
    """List ontologies."""
    return Call("GET", "/ontologies", OntologyList)


def delete_ontology(ontology: str) -> Call[Deleted]:
    """Delete an ontology."""
    return Call("DELETE", _path("ontologies", ontology), Deleted)


def documents(ontology: str | None, offset: int, limit: int) -> Call[DocumentPage]:
    """List documents."""
    return Call(
        "GET", "/documents", DocumentPage, params=_given(ontology=ontology, offset=offset, limit=limit)
    )


def document(document_id: str) -> Call[DocumentContent]:
    """Read a document."""
    return Call("GET", _path("documents", document_id), DocumentContent)


def delete_document(document_id: str) -> Call[Deleted]:
    """Delete a document."""
    return Call("DELETE", _path("documents", document_id), Deleted)


def source(source_id: str) -> Call[Place]:
    """Read a source."""
    return Call("GET", _path("sources", source_id), Place)


def source_context(source_id: str, window_size: int) -> Call[SourceContext]:
    """Read around a source."""
    return Call(
        "GET", _path("sources", source_id, "context"), SourceContext, params={"window_size": window_size}
    )


def embedding_status(ontology: str | None) -> Call[EmbeddingStatus]:
    """Count what is embedded."""
    path = "/embedding-status" if ontology is None else _path("ontologies", ontology, "embedding-status")
    return Call("GET", path, EmbeddingStatus)


def jobs(state: str | None, kind: str | None, ontology: str | None, offset: int, limit: int) -> Call[JobPage]:
    """List jobs."""
    params = _given(state=state, kind=kind, ontology=ontology, offset=offset, limit=limit)
    return Call("GET", "/jobs", JobPage, params=params)


def job(job_id: str) -> Call[Job]:
    """Read a job."""
    return Call("GET", _path("jobs", job_id), Job)


def health() -> Call[Health]:
    """Ask whether the process lives."""
    return Call("GET", "/health", Health)


def readiness() -> Call[Readiness]:
    """Ask whether the service can do its work."""
    return Call("GET", "/ready", Readiness, accepted=frozenset({503}))


def _path(*parts: str) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _given(**params: Any) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def search_of(query: str | None, options: dict[str, Any]) -> SourceSearch:
    """A search from a question and the fields of SourceSearch by name."""
    asked = {} if query is None else {"query_text": query}
    return SourceSearch.model_validate({**asked, **options})


def names(ontology: str | Sequence[str] | None) -> str | list[str] | None:
    """An ontology or several, as the request takes them."""
    return ontology if ontology is None or isinstance(ontology, str) else list(ontology)

"""Every call of the REST service, described once for the sync and the async client. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from kg_api.errors import InvalidInput
from kg_api.models.configuration import (
    DocumentPreview,
    EmbeddingConfig,
    EmbeddingConfiguration,
    EmbeddingStarted,
)
from kg_api.models.documents import (
    Deleted,
    DocumentContent,
    DocumentPage,
    DocumentText,
    DocumentUpload,
    EmbeddingStatus,
    Ingested,
    MetadataValue,
    OntologyList,
)
from kg_api.models.health import Health, Readiness
from kg_api.models.jobs import Job, JobPage
from kg_api.models.problems import field_problems
from kg_api.models.search import Place, SourceContext, SourceHits, SourceSearch
from kg_api.models.spaces import EmbeddingHealth, NewSpace, SpaceInfo, SpaceList

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


def search_sources(query_text: str | None, **options: Any) -> Call[SourceHits]:
    """Find sources; `options` are the fields of SourceSearch, None for unset."""
    search = _valid(SourceSearch, _given({"query_text": query_text, **options}))
    return Call("POST", "/queries/sources/search", SourceHits, json=search.model_dump(exclude_unset=True))


def ingest_text(text: str, **about: Any) -> Call[Ingested]:
    """Store a document that is text; `about` are the fields of DocumentUpload, None for unset."""
    document = _valid(DocumentText, {"text": text, **_given(about)})
    return Call("POST", "/documents", Ingested, json=document.model_dump(exclude_unset=True))


def ingest_bytes(content: bytes, **about: Any) -> Call[Ingested]:
    """Store a file's content; `about` are the fields of DocumentUpload, None for unset."""
    data = _valid(DocumentUpload, _given(about)).model_dump(exclude_unset=True)
    if "metadata" in data:
        data["metadata"] = json.dumps(data["metadata"])
    return Call("POST", "/documents", Ingested, data=data, files={"file": ("file", content)})


def preview_text(text: str, **about: Any) -> Call[DocumentPreview]:
    """Say what storing a text would make and cost; `about` as for `ingest_text`."""
    return replace(ingest_text(text, **about), path="/documents/preview", answer=DocumentPreview)  # pyright: ignore[reportReturnType]


def preview_bytes(content: bytes, **about: Any) -> Call[DocumentPreview]:
    """Say what storing a file's content would make and cost; `about` as for `ingest_bytes`."""
    return replace(ingest_bytes(content, **about), path="/documents/preview", answer=DocumentPreview)  # pyright: ignore[reportReturnType]


def ontologies() -> Call[OntologyList]:
    """List ontologies."""
    return Call("GET", "/ontologies", OntologyList)


def delete_ontology(ontology: str) -> Call[Deleted]:
    """Delete an ontology."""
    return Call("DELETE", _path("ontologies", ontology), Deleted)


def documents(ontology: str | None, offset: int, limit: int) -> Call[DocumentPage]:
    """List documents."""
    return Call(
        "GET", "/documents", DocumentPage, params=_params(ontology=ontology, offset=offset, limit=limit)
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


def embedding_config(ontology: str) -> Call[EmbeddingConfiguration]:
    """Read how an ontology is embedded."""
    return Call("GET", _path("ontologies", ontology, "embedding-config"), EmbeddingConfiguration)


def set_embedding_config(
    ontology: str, *, dry_run: bool = False, **config: Any
) -> Call[EmbeddingConfiguration]:
    """Set how an ontology is embedded; `config` are the fields of EmbeddingConfig, None for the default."""
    return Call(
        "PUT",
        _path("ontologies", ontology, "embedding-config"),
        EmbeddingConfiguration,
        params=_params(dry_run=dry_run or None),
        json=_valid(EmbeddingConfig, _given(config)).model_dump(exclude_unset=True, exclude_none=True),
    )


def embed_ontology(ontology: str) -> Call[EmbeddingStarted]:
    """Have embedded what is missing or stale."""
    return Call("POST", _path("ontologies", ontology, "embeddings"), EmbeddingStarted)


def spaces() -> Call[SpaceList]:
    """List embedding spaces."""
    return Call("GET", "/embedding/spaces", SpaceList)


def add_space(**space: Any) -> Call[SpaceInfo]:
    """Make a further space; `space` are the fields of NewSpace, None for unset."""
    body = _valid(NewSpace, _given(space)).model_dump(exclude_unset=True)
    return Call("POST", "/embedding/spaces", SpaceInfo, json=body)


def embedding_health() -> Call[EmbeddingHealth]:
    """Ask whether the models answer."""
    return Call("GET", "/embedding/health", EmbeddingHealth)


def jobs(state: str | None, kind: str | None, ontology: str | None, offset: int, limit: int) -> Call[JobPage]:
    """List jobs."""
    params = _params(state=state, kind=kind, ontology=ontology, offset=offset, limit=limit)
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
    return "".join(f"/{quote(part, safe='', errors='replace')}" for part in parts)


def _params(**params: Any) -> dict[str, Any]:
    """Query parameters; what is no Unicode is replaced and so not found, like any other name."""
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in _given(params).items()
    }


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _valid(model: type[T], given: dict[str, Any]) -> T:
    """Check a request before it is sent, with the message that the service would give.

    Raises:
        InvalidInput: saying what is wrong with which field.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise InvalidInput("; ".join(map(str, field_problems(error.errors())))) from None


def names(ontology: str | Sequence[str] | None) -> str | list[str] | None:
    """An ontology or several, as the request takes them."""
    return ontology if ontology is None or isinstance(ontology, str) else list(ontology)

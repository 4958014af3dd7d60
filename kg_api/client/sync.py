"""The synchronous client of the REST service."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import BaseModel

from kg_api.client import calls, connection
from kg_api.client.answers import read
from kg_api.client.calls import Call, Metadata
from kg_api.models.configuration import DocumentPreview, EmbeddingConfiguration, EmbeddingStarted
from kg_api.models.documents import (
    Deleted,
    DocumentContent,
    DocumentPage,
    EmbeddingStatus,
    Ingested,
    OntologyList,
)
from kg_api.models.health import Health, Readiness
from kg_api.models.jobs import Job, JobPage
from kg_api.models.search import Place, SourceContext, SourceHits
from kg_api.models.spaces import EmbeddingHealth, SpaceInfo, SpaceList

T = TypeVar("T", bound=BaseModel)

DEFAULT_TIMEOUT_SECONDS = 60.0


class KgClient:
    """Talks to a kg service. Every method raises the errors of kg_api.errors, with the service's own message.

    Example:
        with KgClient("http://127.0.0.1:8420") as kg:
            kg.search_sources("how are retries delayed?", ontology="handbook")
    """

    def __init__(
        self, base_url: str, *, api_key: str | None = None, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> None:
        self._http = httpx.Client(**connection.options(base_url, api_key, timeout_seconds))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def search_sources(
        self,
        query_text: str | None = None,
        *,
        ontology: str | Sequence[str] | None = None,
        limit: int = 10,
        **options: Any,
    ) -> SourceHits:
        """Find sources by meaning, by words, or both; `options` are the further fields of SourceSearch."""
        given = {**options, "limit": limit, "ontology": calls.names(ontology)}
        return self._send(calls.search_sources(query_text, **given))

    def ingest_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> Ingested:
        """Store a document that is text; the same name again replaces it."""
        call = calls.ingest_text(text, ontology=ontology, document=document, uri=uri, metadata=metadata)
        return self._send(call)

    def ingest_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> Ingested:
        """Store a file's content; its encoding and format are found out."""
        call = calls.ingest_bytes(content, ontology=ontology, document=document, uri=uri, metadata=metadata)
        return self._send(call)

    def ontologies(self) -> OntologyList:
        """List ontologies with their counts."""
        return self._send(calls.ontologies())

    def delete_ontology(self, ontology: str) -> Deleted:
        """Delete an ontology with its documents."""
        return self._send(calls.delete_ontology(ontology))

    def documents(self, ontology: str | None = None, *, offset: int = 0, limit: int = 100) -> DocumentPage:
        """List documents, one page at a time."""
        return self._send(calls.documents(ontology, offset, limit))

    def document(self, document_id: str) -> DocumentContent:
        """Read a document with its text."""
        return self._send(calls.document(document_id))

    def delete_document(self, document_id: str) -> Deleted:
        """Delete a document with its sources."""
        return self._send(calls.delete_document(document_id))

    def source(self, source_id: str) -> Place:
        """Read a source."""
        return self._send(calls.source(source_id))

    def source_context(self, source_id: str, *, window_size: int = 2) -> SourceContext:
        """Read a source among its neighbours."""
        return self._send(calls.source_context(source_id, window_size))

    def embedding_status(self, ontology: str | None = None) -> EmbeddingStatus:
        """Count what is embedded and what is not."""
        return self._send(calls.embedding_status(ontology))

    def embedding_config(self, ontology: str) -> EmbeddingConfiguration:
        """Read how an ontology is embedded, what is stale, and what making it anew takes."""
        return self._send(calls.embedding_config(ontology))

    def set_embedding_config(
        self, ontology: str, *, dry_run: bool = False, **config: Any
    ) -> EmbeddingConfiguration:
        """Set how an ontology is embedded; `config` are the fields of EmbeddingConfig."""
        return self._send(calls.set_embedding_config(ontology, dry_run=dry_run, **config))

    def embed_ontology(self, ontology: str) -> EmbeddingStarted:
        """Have embedded what is missing or stale, now."""
        return self._send(calls.embed_ontology(ontology))

    def embedding_spaces(self) -> SpaceList:
        """List the embedding spaces and their models."""
        return self._send(calls.spaces())

    def add_embedding_space(
        self, slug: str, *, provider: str, model: str | None = None, dimensions: int | None = None
    ) -> SpaceInfo:
        """Make a further embedding space beside those there are."""
        call = calls.add_space(slug=slug, provider=provider, model=model, dimensions=dimensions)
        return self._send(call)

    def embedding_health(self) -> EmbeddingHealth:
        """Ask each space's model for an answer."""
        return self._send(calls.embedding_health())

    def preview_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> DocumentPreview:
        """Say what storing a text would make and cost; nothing is stored or paid."""
        call = calls.preview_text(text, ontology=ontology, document=document, uri=uri, metadata=metadata)
        return self._send(call)

    def preview_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> DocumentPreview:
        """Say what storing a file's content would make and cost; nothing is stored or paid."""
        call = calls.preview_bytes(content, ontology=ontology, document=document, uri=uri, metadata=metadata)
        return self._send(call)

    def jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        ontology: str | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> JobPage:
        """List jobs, the newest first."""
        return self._send(calls.jobs(state, kind, ontology, offset, limit))

    def job(self, job_id: str) -> Job:
        """Read a job."""
        return self._send(calls.job(job_id))

    def health(self) -> Health:
        """Ask whether the process lives."""
        return self._send(calls.health())

    def readiness(self) -> Readiness:
        """Ask whether the service can do its work, and what it waits for."""
        return self._send(calls.readiness())

    def _send(self, call: Call[T]) -> T:
        try:
            response = self._http.request(
                call.method,
                call.path,
                params=call.params,
                json=call.json,
                data=call.data,
                files=call.files,
            )
        except httpx.RequestError as error:
            raise connection.unreachable(self._http.base_url, error) from error
        return read(call, response)

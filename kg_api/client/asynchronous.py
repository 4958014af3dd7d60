"""The asynchronous client of the REST service."""

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


class AsyncKgClient:
    """Talks to a kg service. Every method raises the errors of kg_api.errors, with the service's own message.

    Example:
        async with AsyncKgClient("http://127.0.0.1:8420") as kg:
            await kg.search_sources("how are retries delayed?", ontology="handbook")
    """

    def __init__(
        self, base_url: str, *, api_key: str | None = None, timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    ) -> None:
        self._http = httpx.AsyncClient(**connection.options(base_url, api_key, timeout_seconds))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def search_sources(
        self,
        query_text: str | None = None,
        *,
        ontology: str | Sequence[str] | None = None,
        limit: int = 10,
        **options: Any,
    ) -> SourceHits:
        """Find sources by meaning, by words, or both; `options` are the further fields of SourceSearch."""
        given = {**options, "limit": limit, "ontology": calls.names(ontology)}
        return await self._send(calls.search_sources(query_text, **given))

    async def ingest_text(
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
        return await self._send(call)

    async def ingest_bytes(
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
        return await self._send(call)

    async def ontologies(self) -> OntologyList:
        """List ontologies with their counts."""
        return await self._send(calls.ontologies())

    async def delete_ontology(self, ontology: str) -> Deleted:
        """Delete an ontology with its documents."""
        return await self._send(calls.delete_ontology(ontology))

    async def documents(
        self, ontology: str | None = None, *, offset: int = 0, limit: int = 100
    ) -> DocumentPage:
        """List documents, one page at a time."""
        return await self._send(calls.documents(ontology, offset, limit))

    async def document(self, document_id: str) -> DocumentContent:
        """Read a document with its text."""
        return await self._send(calls.document(document_id))

    async def delete_document(self, document_id: str) -> Deleted:
        """Delete a document with its sources."""
        return await self._send(calls.delete_document(document_id))

    async def source(self, source_id: str) -> Place:
        """Read a source."""
        return await self._send(calls.source(source_id))

    async def source_context(self, source_id: str, *, window_size: int = 2) -> SourceContext:
        """Read a source among its neighbours."""
        return await self._send(calls.source_context(source_id, window_size))

    async def embedding_status(self, ontology: str | None = None) -> EmbeddingStatus:
        """Count what is embedded and what is not."""
        return await self._send(calls.embedding_status(ontology))

    async def embedding_config(self, ontology: str) -> EmbeddingConfiguration:
        """Read how an ontology is embedded, what is stale, and what making it anew takes."""
        return await self._send(calls.embedding_config(ontology))

    async def set_embedding_config(
        self, ontology: str, *, dry_run: bool = False, **config: Any
    ) -> EmbeddingConfiguration:
        """Set how an ontology is embedded; `config` are the fields of EmbeddingConfig."""
        return await self._send(calls.set_embedding_config(ontology, dry_run=dry_run, **config))

    async def embed_ontology(self, ontology: str) -> EmbeddingStarted:
        """Have embedded what is missing or stale, now."""
        return await self._send(calls.embed_ontology(ontology))

    async def embedding_spaces(self) -> SpaceList:
        """List the embedding spaces and their models."""
        return await self._send(calls.spaces())

    async def add_embedding_space(
        self, slug: str, *, provider: str, model: str | None = None, dimensions: int | None = None
    ) -> SpaceInfo:
        """Make a further embedding space beside those there are."""
        call = calls.add_space(slug=slug, provider=provider, model=model, dimensions=dimensions)
        return await self._send(call)

    async def embedding_health(self) -> EmbeddingHealth:
        """Ask each space's model for an answer."""
        return await self._send(calls.embedding_health())

    async def preview_text(
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
        return await self._send(call)

    async def preview_bytes(
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
        return await self._send(call)

    async def jobs(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        ontology: str | None = None,
        offset: int = 0,
        limit: int = 50,
    ) -> JobPage:
        """List jobs, the newest first."""
        return await self._send(calls.jobs(state, kind, ontology, offset, limit))

    async def job(self, job_id: str) -> Job:
        """Read a job."""
        return await self._send(calls.job(job_id))

    async def health(self) -> Health:
        """Ask whether the process lives."""
        return await self._send(calls.health())

    async def readiness(self) -> Readiness:
        """Ask whether the service can do its work, and what it waits for."""
        return await self._send(calls.readiness())

    async def _send(self, call: Call[T]) -> T:
        try:
            response = await self._http.request(
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

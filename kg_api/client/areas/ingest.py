"""Storing documents."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from kg_api.client.call import Call, drop_unset, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.embedding.configuration import DocumentPreview
from kg_api.models.library.documents import DocumentText, DocumentUpload, Ingested, MetadataValue
from kg_api.models.library.parsing import Format

Metadata = dict[str, MetadataValue]


def ingest_text(text: str, **about: Any) -> Call[Ingested]:
    """Store a document that is text; `about` are the fields of DocumentUpload, None for unset."""
    document = valid(DocumentText, {"text": text, **drop_unset(about)})
    return Call("POST", "/documents", Ingested, json=document.model_dump(exclude_unset=True))


def ingest_bytes(content: bytes, **about: Any) -> Call[Ingested]:
    """Store a file's content; `about` are the fields of DocumentUpload, None for unset."""
    data = valid(DocumentUpload, drop_unset(about)).model_dump(exclude_unset=True)
    if "metadata" in data:
        data["metadata"] = json.dumps(data["metadata"])
    return Call("POST", "/documents", Ingested, data=data, files={"file": ("file", content)})


def preview_text(text: str, **about: Any) -> Call[DocumentPreview]:
    """Say what storing a text would make and cost; `about` as for `ingest_text`."""
    return replace(ingest_text(text, **about), path="/documents/preview", answer=DocumentPreview)  # pyright: ignore[reportReturnType]


def preview_bytes(content: bytes, **about: Any) -> Call[DocumentPreview]:
    """Say what storing a file's content would make and cost; `about` as for `ingest_bytes`."""
    return replace(ingest_bytes(content, **about), path="/documents/preview", answer=DocumentPreview)  # pyright: ignore[reportReturnType]


class IngestMethods(Sending):
    """Methods of the synchronous client."""

    def ingest_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: Metadata | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
    ) -> Ingested:
        """Store a document that is text; the same name again replaces it."""
        about = {"title": title, "uri": uri, "metadata": metadata, "format": format}
        return self._send(ingest_text(text, ontology=ontology, document=document, **about))

    def ingest_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> Ingested:
        """Store a file's content; its encoding and format are found out."""
        about = {"title": title, "uri": uri, "metadata": metadata}
        call = ingest_bytes(content, ontology=ontology, document=document, **about)
        return self._send(call)

    def preview_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> DocumentPreview:
        """Say what storing a text would make and cost; nothing is stored or paid."""
        about = {"title": title, "uri": uri, "metadata": metadata}
        call = preview_text(text, ontology=ontology, document=document, **about)
        return self._send(call)

    def preview_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> DocumentPreview:
        """Say what storing a file's content would make and cost; nothing is stored or paid."""
        about = {"title": title, "uri": uri, "metadata": metadata}
        call = preview_bytes(content, ontology=ontology, document=document, **about)
        return self._send(call)


class AsyncIngestMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def ingest_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: Metadata | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
    ) -> Ingested:
        """Store a document that is text; the same name again replaces it."""
        about = {"title": title, "uri": uri, "metadata": metadata, "format": format}
        return await self._send(ingest_text(text, ontology=ontology, document=document, **about))

    async def ingest_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> Ingested:
        """Store a file's content; its encoding and format are found out."""
        about = {"title": title, "uri": uri, "metadata": metadata}
        call = ingest_bytes(content, ontology=ontology, document=document, **about)
        return await self._send(call)

    async def preview_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> DocumentPreview:
        """Say what storing a text would make and cost; nothing is stored or paid."""
        about = {"title": title, "uri": uri, "metadata": metadata}
        call = preview_text(text, ontology=ontology, document=document, **about)
        return await self._send(call)

    async def preview_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: Metadata | None = None,
    ) -> DocumentPreview:
        """Say what storing a file's content would make and cost; nothing is stored or paid."""
        about = {"title": title, "uri": uri, "metadata": metadata}
        call = preview_bytes(content, ontology=ontology, document=document, **about)
        return await self._send(call)

# Written by scripts/unasync.py from ../asynchronous/documents.py; change that, not this.
"""Storing documents, reading and deleting them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kg_api.client.call import Call, body_of, form_of, params_of, path_of
from kg_api.client.sync.sending import Sending
from kg_api.models.embedding.configuration import DocumentPreview
from kg_api.models.library.conversations import Conversation, Message
from kg_api.models.library.documents import (
    Deleted,
    DocumentContent,
    DocumentPage,
    DocumentText,
    Ingested,
    MetadataValue,
)
from kg_api.models.library.parsing import Format


class DocumentMethods(Sending):
    """Documents."""

    def ingest_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
    ) -> Ingested:
        """Store a document that is text; the same name again replaces it."""
        about = {"title": title, "uri": uri, "metadata": metadata, "format": format}
        body = body_of(DocumentText, text=text, ontology=ontology, document=document, **about)
        return self._send(Call("POST", "/documents", Ingested, json=body))

    def ingest_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
    ) -> Ingested:
        """Store a file's content; its encoding is found out, and its format, if it is not given."""
        about = {"title": title, "uri": uri, "metadata": metadata, "format": format}
        form = form_of(ontology=ontology, document=document, **about)
        files = {"file": ("file", content)}
        return self._send(Call("POST", "/documents", Ingested, data=form, files=files))

    def ingest_conversation(
        self,
        messages: Sequence[Message | dict[str, Any]],
        *,
        ontology: str,
        title: str,
        metadata: dict[str, MetadataValue] | None = None,
    ) -> Ingested:
        """Store messages as one Markdown document; the same title again replaces it.

        With more messages than before only the new ones are embedded. Each has author, text and, if known,
        timestamp (ISO 8601 with a zone).
        """
        body = body_of(Conversation, messages=messages, ontology=ontology, title=title, metadata=metadata)
        return self._send(Call("POST", "/documents/conversation", Ingested, json=body))

    def preview_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
    ) -> DocumentPreview:
        """Say what storing a text would make and cost; nothing is stored or paid."""
        about = {"title": title, "uri": uri, "metadata": metadata, "format": format}
        body = body_of(DocumentText, text=text, ontology=ontology, document=document, **about)
        return self._send(Call("POST", "/documents/preview", DocumentPreview, json=body))

    def preview_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
    ) -> DocumentPreview:
        """Say what storing a file's content would make and cost; nothing is stored or paid."""
        about = {"title": title, "uri": uri, "metadata": metadata, "format": format}
        form = form_of(ontology=ontology, document=document, **about)
        files = {"file": ("file", content)}
        return self._send(Call("POST", "/documents/preview", DocumentPreview, data=form, files=files))

    def documents(self, ontology: str | None = None, *, offset: int = 0, limit: int = 100) -> DocumentPage:
        """List documents, one page at a time."""
        params = params_of(ontology=ontology, offset=offset, limit=limit)
        return self._send(Call("GET", "/documents", DocumentPage, params=params))

    def document(self, document_id: str, *, ontology: str | None = None) -> DocumentContent:
        """Read a document with its text, by its id, at least 8 digits of it, or its name."""
        path, params = path_of("documents", document_id), params_of(ontology=ontology)
        return self._send(Call("GET", path, DocumentContent, params=params))

    def delete_document(self, document_id: str, *, ontology: str | None = None) -> Deleted:
        """Delete a document, by its id, at least 8 digits of it, or its name.

        A whole id that is not there is no error: zeros and a note. A name that is not there is NotFound.
        """
        path, params = path_of("documents", document_id), params_of(ontology=ontology)
        return self._send(Call("DELETE", path, Deleted, params=params))

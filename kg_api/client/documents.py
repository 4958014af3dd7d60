"""Storing documents, reading and deleting them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kg_api.client.call import Call, batch_of, body_of, delete, files_of, form_of, get, patch, post
from kg_api.client.sending import request
from kg_api.schemas.documents import (
    Conversation,
    Deleted,
    DocumentChange,
    DocumentChanged,
    DocumentContent,
    DocumentPage,
    DocumentText,
    Duplicates,
    Format,
    Ingested,
    IngestedBatch,
    Message,
)
from kg_api.schemas.embedding import DocumentPreview
from kg_api.schemas.filters import (
    AnyOf,
    Condition,
    DeletedMatching,
    DocumentDeletion,
    Facet,
    FacetRequest,
    Facets,
)
from kg_api.schemas.formats import OcrMode
from kg_api.schemas.metadata import MetadataValue


class DocumentMethods:
    @request
    def ingest_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        modified: str | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
        duplicates: Duplicates = "keep",
        review: bool = False,
    ) -> Call[Ingested]:
        """Store a document that is text; the same name again replaces it."""
        body = body_of(DocumentText, locals())
        return post(Ingested, "documents", json=body)

    @request
    def ingest_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        modified: str | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
        duplicates: Duplicates = "keep",
        review: bool = False,
        ocr: OcrMode = "auto",
        images: Mapping[str, bytes] | None = None,
    ) -> Call[Ingested]:
        """Store a file's content; its encoding is found out, and its format, if it is not given.

        `images` are files that a Markdown text or a page names, by its relative references, such as
        `img/boat.png`. `modified` (ISO 8601) is when the file was last changed; hits show it if the
        document states no date. `ocr` says which pages of a PDF are read by OCR.
        """
        form, files = form_of(locals()), files_of(content, images)
        return post(Ingested, "documents", data=form, files=files)

    @request
    def ingest_batch(
        self,
        documents: Sequence[DocumentText | dict[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> Call[IngestedBatch]:
        """Store up to 1,000 documents as texts; each has its own outcome, in their order.

        One that cannot be stored is refused alone, by the service: nothing of them is checked before. Of two
        that have one ontology and name the later one is refused.
        """
        parts = batch_of(documents)
        if idempotency_key is not None:
            parts["headers"]["Idempotency-Key"] = idempotency_key
        return post(IngestedBatch, "documents", "batch", **parts)

    @request
    def ingest_conversation(
        self,
        messages: Sequence[Message | dict[str, Any]],
        *,
        ontology: str,
        title: str,
        metadata: dict[str, MetadataValue] | None = None,
    ) -> Call[Ingested]:
        """Store messages as one Markdown document; the same title again replaces it.

        With more messages than before only the new ones are embedded. Each has author, text and, if known,
        timestamp (ISO 8601 with a zone).
        """
        return post(Ingested, "documents", "conversation", json=body_of(Conversation, locals()))

    @request
    def preview_text(
        self,
        text: str,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        modified: str | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
        duplicates: Duplicates = "keep",
        review: bool = False,
    ) -> Call[DocumentPreview]:
        """Say what storing a text would make and cost; nothing is stored or paid."""
        body = body_of(DocumentText, locals())
        return post(DocumentPreview, "documents", "preview", json=body)

    @request
    def preview_bytes(
        self,
        content: bytes,
        *,
        ontology: str,
        document: str,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        modified: str | None = None,
        format: Format | None = None,  # noqa: A002 - the field's name
        duplicates: Duplicates = "keep",
        review: bool = False,
        ocr: OcrMode = "auto",
        images: Mapping[str, bytes] | None = None,
    ) -> Call[DocumentPreview]:
        """Say what storing a file's content would make and cost; nothing is stored or paid."""
        form, files = form_of(locals()), files_of(content, images)
        return post(DocumentPreview, "documents", "preview", data=form, files=files)

    @request
    def documents(
        self,
        ontology: str | None = None,
        *,
        where: Sequence[str] | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> Call[DocumentPage]:
        """List documents, one page at a time; those for which conditions hold, such as `date>=2025-01-01`."""
        filtered = {"ontology": ontology, "where": list(where) if where else None}
        return get(DocumentPage, "documents", **filtered, offset=offset, limit=limit)

    @request
    def facets(
        self,
        fields: Sequence[Facet | str | dict[str, Any]],
        *,
        ontology: str | Sequence[str] | None = None,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]] | None = None,
        limit: int = 20,
    ) -> Call[Facets]:
        """Count the values of fields, such as `author` or `date:year`, among the documents that fit."""
        return post(Facets, "queries", "facets", json=body_of(FacetRequest, locals()))

    @request
    def document(self, document_id: str, *, ontology: str | None = None) -> Call[DocumentContent]:
        """Read a document with its text, by its id, at least 8 digits of it, or its name."""
        return get(DocumentContent, "documents", document_id, ontology=ontology)

    @request
    def change_document(
        self,
        document_id: str,
        *,
        title: str | None = None,
        uri: str | None = None,
        metadata: dict[str, MetadataValue] | None = None,
        ontology: str | None = None,
    ) -> Call[DocumentChanged]:
        """Change what is said of a document: its metadata key by key, where None deletes one.

        It is embedded anew only where the contexts of its chunks use what changed.
        """
        body = body_of(DocumentChange, locals())
        return patch(DocumentChanged, "documents", document_id, json=body, ontology=ontology)

    @request
    def delete_document(self, document_id: str, *, ontology: str | None = None) -> Call[Deleted]:
        """Delete a document, by its id, at least 8 digits of it, or its name.

        A whole id that is not there is no error: zeros and a note. A name that is not there is NotFound.
        """
        return delete(Deleted, "documents", document_id, ontology=ontology)

    @request
    def delete_documents(
        self,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]],
        *,
        ontology: str | Sequence[str] | None = None,
        dry_run: bool = True,
        expected: int | None = None,
        expected_digest: str | None = None,
    ) -> Call[DeletedMatching]:
        """Say which documents fit; or, without `dry_run`, delete them.

        With `expected`, only where so many fit; with `expected_digest`, the `digest` of a dry run, only where
        exactly these do.
        """
        body = body_of(DocumentDeletion, locals())
        return post(DeletedMatching, "documents", "delete", json=body)

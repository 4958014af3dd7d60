"""Client methods to store, preview, list, read, change, and delete documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kg_api.client.call import (
    Call,
    build_batch_body,
    build_body,
    build_form,
    delete,
    get,
    patch,
    post,
)
from kg_api.client.sending import request
from kg_api.schemas.documents import (
    Conversation,
    Deleted,
    DocumentChange,
    DocumentChanged,
    DocumentContent,
    DocumentPage,
    DocumentText,
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
        review: bool = False,
    ) -> Call[Ingested]:
        """Store a text document. This replaces a document that has the same name."""
        body = build_body(DocumentText, locals())
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
        review: bool = False,
        ocr: OcrMode = "auto",
    ) -> Call[Ingested]:
        """Store the content from a file. The service detects the encoding, and the format if you omit it.

        Hits show `modified`, the time of the last change (ISO 8601), if the document states no date. `ocr`
        selects the pages of a PDF to read by OCR.
        """
        return post(Ingested, "documents", data=build_form(locals()), files={"file": ("file", content)})

    @request
    def ingest_batch(
        self,
        documents: Sequence[DocumentText | dict[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> Call[IngestedBatch]:
        """Store up to 1,000 text documents. You get the outcomes in the same order.

        The service validates each document separately and rejects only invalid documents. If two documents
        have the same ontology and name, the service rejects the second.
        """
        parts = build_batch_body(documents)
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
        """Store messages as a Markdown document. This replaces a conversation that has the same title.

        Only new messages are embedded. A message has author, text and an optional timestamp (ISO 8601 with
        time zone).
        """
        return post(Ingested, "documents", "conversation", json=build_body(Conversation, locals()))

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
        review: bool = False,
    ) -> Call[DocumentPreview]:
        """Show chunks and cost for a text. This does not store it, and you do not pay for it."""
        body = build_body(DocumentText, locals())
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
        review: bool = False,
        ocr: OcrMode = "auto",
    ) -> Call[DocumentPreview]:
        """Show chunks and cost for a file. This does not store it, and you do not pay for it."""
        return post(
            DocumentPreview,
            "documents",
            "preview",
            data=build_form(locals()),
            files={"file": ("file", content)},
        )

    @request
    def documents(
        self,
        ontology: str | None = None,
        *,
        where: Sequence[str] | None = None,
        offset: int = 0,
        limit: int = 100,
    ) -> Call[DocumentPage]:
        """List documents, one page at a time.

        You can filter them by conditions such as `date>=2025-01-01`.
        """
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
        """Count the values in fields such as `author` or `date:year`, for the documents that match."""
        return post(Facets, "queries", "facets", json=build_body(FacetRequest, locals()))

    @request
    def document(self, document_id: str, *, ontology: str | None = None) -> Call[DocumentContent]:
        """Get a document with the text. You can use an id, 8 or more digits from an id, or a name."""
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
        """Change title, URI, or metadata for a document. To delete a key from the metadata, use None.

        The document is re-embedded only if the contexts of its chunks use a changed value.
        """
        body = build_body(DocumentChange, locals())
        return patch(DocumentChanged, "documents", document_id, json=body, ontology=ontology)

    @request
    def delete_document(self, document_id: str, *, ontology: str | None = None) -> Call[Deleted]:
        """Delete a document. You can use an id, 8 or more digits from an id, or a name.

        A missing full id returns zero counts and a note. A missing name raises NotFound.
        """
        return delete(Deleted, "documents", document_id, ontology=ontology)

    @request
    def delete_documents(
        self,
        where: Sequence[Condition | AnyOf | str | dict[str, Any]],
        *,
        ontology: str | Sequence[str] | None = None,
        dry_run: bool = True,
        expected_digest: str | None = None,
    ) -> Call[DeletedMatching]:
        """Show the documents that match. To delete them, use `dry_run=False`.

        With `expected_digest`, the `digest` of a dry run, deletion requires the same documents.
        """
        body = build_body(DocumentDeletion, locals())
        return post(DeletedMatching, "documents", "delete", json=body)

"""What is stored: ontologies and documents."""

from __future__ import annotations

from kg_api.client.call import Call, params_of, path_of
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.library.documents import (
    Deleted,
    DocumentContent,
    DocumentPage,
    EmbeddingStatus,
    OntologyList,
)


def ontologies() -> Call[OntologyList]:
    """List ontologies."""
    return Call("GET", "/ontologies", OntologyList)


def delete_ontology(ontology: str) -> Call[Deleted]:
    """Delete an ontology."""
    return Call("DELETE", path_of("ontologies", ontology), Deleted)


def documents(ontology: str | None, offset: int, limit: int) -> Call[DocumentPage]:
    """List documents."""
    return Call(
        "GET", "/documents", DocumentPage, params=params_of(ontology=ontology, offset=offset, limit=limit)
    )


def document(called: str, ontology: str | None = None) -> Call[DocumentContent]:
    """Read a document, called by its id, at least 8 digits of it, or its name."""
    return Call("GET", path_of("documents", called), DocumentContent, params=params_of(ontology=ontology))


def delete_document(called: str, ontology: str | None = None) -> Call[Deleted]:
    """Delete a document, called by its id, at least 8 digits of it, or its name."""
    return Call("DELETE", path_of("documents", called), Deleted, params=params_of(ontology=ontology))


def embedding_status(ontology: str | None) -> Call[EmbeddingStatus]:
    """Count what is embedded."""
    path = "/embedding-status" if ontology is None else path_of("ontologies", ontology, "embedding-status")
    return Call("GET", path, EmbeddingStatus)


class LibraryMethods(Sending):
    """Methods of the synchronous client."""

    def ontologies(self) -> OntologyList:
        """List ontologies with their counts."""
        return self._send(ontologies())

    def delete_ontology(self, ontology: str) -> Deleted:
        """Delete an ontology with its documents."""
        return self._send(delete_ontology(ontology))

    def documents(self, ontology: str | None = None, *, offset: int = 0, limit: int = 100) -> DocumentPage:
        """List documents, one page at a time."""
        return self._send(documents(ontology, offset, limit))

    def document(self, document_id: str, *, ontology: str | None = None) -> DocumentContent:
        """Read a document with its text, by its id, at least 8 digits of it, or its name."""
        return self._send(document(document_id, ontology))

    def delete_document(self, document_id: str, *, ontology: str | None = None) -> Deleted:
        """Delete a document, by its id, at least 8 digits of it, or its name.

        A whole id that is not there is no error: zeros and a note. A name that is not there is NotFound.
        """
        return self._send(delete_document(document_id, ontology))

    def embedding_status(self, ontology: str | None = None) -> EmbeddingStatus:
        """Count what is embedded and what is not."""
        return self._send(embedding_status(ontology))


class AsyncLibraryMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def ontologies(self) -> OntologyList:
        """List ontologies with their counts."""
        return await self._send(ontologies())

    async def delete_ontology(self, ontology: str) -> Deleted:
        """Delete an ontology with its documents."""
        return await self._send(delete_ontology(ontology))

    async def documents(
        self, ontology: str | None = None, *, offset: int = 0, limit: int = 100
    ) -> DocumentPage:
        """List documents, one page at a time."""
        return await self._send(documents(ontology, offset, limit))

    async def document(self, document_id: str, *, ontology: str | None = None) -> DocumentContent:
        """Read a document with its text, by its id, at least 8 digits of it, or its name."""
        return await self._send(document(document_id, ontology))

    async def delete_document(self, document_id: str, *, ontology: str | None = None) -> Deleted:
        """Delete a document, by its id, at least 8 digits of it, or its name.

        A whole id that is not there is no error: zeros and a note. A name that is not there is NotFound.
        """
        return await self._send(delete_document(document_id, ontology))

    async def embedding_status(self, ontology: str | None = None) -> EmbeddingStatus:
        """Count what is embedded and what is not."""
        return await self._send(embedding_status(ontology))

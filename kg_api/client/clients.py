"""The clients of the REST service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator

from kg_api.client.administration import KeyMethods, MovingMethods, SpaceMethods
from kg_api.client.answering import AnsweringMethods, EvaluationMethods
from kg_api.client.call import Call, get
from kg_api.client.concepts import ConceptMethods
from kg_api.client.documents import DocumentMethods
from kg_api.client.folders import FolderMethods
from kg_api.client.images import ImageMethods
from kg_api.client.jobs import JobMethods
from kg_api.client.ontologies import OntologyMethods
from kg_api.client.review import JudgementMethods, ProposalMethods, ReviewMethods
from kg_api.client.search import SearchMethods, get_page
from kg_api.client.sending import AsyncSending, Sending, request
from kg_api.schemas.operations import Health, Readiness
from kg_api.schemas.search import SourceHit, SourceHits, SourceSearch


class Methods(
    SearchMethods,
    AnsweringMethods,
    EvaluationMethods,
    ConceptMethods,
    ProposalMethods,
    DocumentMethods,
    ReviewMethods,
    JudgementMethods,
    ImageMethods,
    OntologyMethods,
    FolderMethods,
    SpaceMethods,
    JobMethods,
    KeyMethods,
    MovingMethods,
):
    """All requests of the service."""

    @request
    def health(self) -> Call[Health]:
        """Ask whether the process lives."""
        return get(Health, "health")

    @request
    def readiness(self) -> Call[Readiness]:
        """Ask whether the service can do its work, and what it waits for."""
        return Call("GET", "/ready", Readiness, accepted=frozenset({503}))


class KgClient(Methods, Sending):
    """Talks to a kg service. Every method raises the errors of kg_api.errors, with the service's own message.

    Options that are fields of a request are described there, in kg_api.schemas, with their bounds.

    Example:
        with KgClient("http://127.0.0.1:8420") as kg:
            kg.search_sources("how are retries delayed?", ontology="handbook")
    """

    def source_pages(self, search: SourceSearch | str) -> Generator[SourceHits]:
        """Give the answers to a search page by page, until there are no more; `limit` is the hits of one.

        Options go into a `SourceSearch`, which `kg_api.client` has too.

        Raises:
            InvalidInput: there are more than 1,000 hits, and so many have been given.
        """
        asked = SourceSearch(query_text=search) if isinstance(search, str) else search
        while True:
            page = self._send(get_page(asked))
            yield page
            if page.next_cursor is None:
                return
            asked = asked.model_copy(update={"cursor": page.next_cursor})

    def iter_sources(self, search: SourceSearch | str, *, most: int | None = None) -> Generator[SourceHit]:
        """Give the hits of a search one by one, all or so many; `source_pages` says what could not be done.

        Raises:
            InvalidInput: there are more than 1,000 hits, and so many have been given.
        """
        given = 0
        for page in self.source_pages(search):
            for hit in page.sources:
                yield hit
                given += 1
                if given == most:
                    return


class AsyncKgClient(Methods, AsyncSending):
    """Talks to a kg service. Every method raises the errors of kg_api.errors, with the service's own message.

    Options that are fields of a request are described there, in kg_api.schemas, with their bounds.

    Example:
        async with AsyncKgClient("http://127.0.0.1:8420") as kg:
            await kg.search_sources("how are retries delayed?", ontology="handbook")
    """

    async def source_pages(self, search: SourceSearch | str) -> AsyncGenerator[SourceHits]:
        """Give the answers to a search page by page, until there are no more; `limit` is the hits of one.

        Options go into a `SourceSearch`, which `kg_api.client` has too.

        Raises:
            InvalidInput: there are more than 1,000 hits, and so many have been given.
        """
        asked = SourceSearch(query_text=search) if isinstance(search, str) else search
        while True:
            page = await self._send(get_page(asked))
            yield page
            if page.next_cursor is None:
                return
            asked = asked.model_copy(update={"cursor": page.next_cursor})

    async def iter_sources(
        self, search: SourceSearch | str, *, most: int | None = None
    ) -> AsyncGenerator[SourceHit]:
        """Give the hits of a search one by one, all or so many; `source_pages` says what could not be done.

        Raises:
            InvalidInput: there are more than 1,000 hits, and so many have been given.
        """
        given = 0
        async for page in self.source_pages(search):
            for hit in page.sources:
                yield hit
                given += 1
                if given == most:
                    return

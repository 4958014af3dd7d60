"""Synchronous and asynchronous client for the REST service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator

from kg_api.client.administration import AdministrationMethods
from kg_api.client.call import Call, get
from kg_api.client.library import LibraryMethods
from kg_api.client.search import SearchMethods, get_page
from kg_api.client.sending import AsyncSending, Sending, request
from kg_api.schemas.operations import Health, Readiness
from kg_api.schemas.search import SourceHits, SourceSearch


class Methods(SearchMethods, LibraryMethods, AdministrationMethods):
    """All requests that you can send to the service."""

    @request
    def health(self) -> Call[Health]:
        """Check if the service process is running."""
        return get(Health, "health")

    @request
    def readiness(self) -> Call[Readiness]:
        """Check if the service is ready. If not, `waiting_for` contains the reason."""
        return Call("GET", "/ready", Readiness, accepted=frozenset({503}))


class KgClient(Methods, Sending):
    """Client for a kg service. Every method can raise the errors from kg_api.errors.

    kg_api.schemas describes the options that are fields of a request, with their limits.

    Example:
        with KgClient("http://127.0.0.1:8420") as kg:
            kg.search_sources("how are retries delayed?", ontology="handbook")
    """

    def source_pages(self, search: SourceSearch | str) -> Generator[SourceHits]:
        """Yield all pages from a search. `limit` is the number of hits on each page.

        To set options, pass a `SourceSearch` (also in `kg_api.client`).

        Raises:
            InvalidInput: The search has more than 1,000 hits, and 1,000 have been returned.
        """
        page_search = SourceSearch(query_text=search) if isinstance(search, str) else search
        while True:
            page = self._send(get_page(page_search))
            yield page
            if page.next_cursor is None:
                return
            page_search = page_search.model_copy(update={"cursor": page.next_cursor})


class AsyncKgClient(Methods, AsyncSending):
    """Client for a kg service. Every method can raise the errors from kg_api.errors.

    kg_api.schemas describes the options that are fields of a request, with their limits.

    Example:
        async with AsyncKgClient("http://127.0.0.1:8420") as kg:
            await kg.search_sources("how are retries delayed?", ontology="handbook")
    """

    async def source_pages(self, search: SourceSearch | str) -> AsyncGenerator[SourceHits]:
        """Yield all pages from a search. `limit` is the number of hits on each page.

        To set options, pass a `SourceSearch` (also in `kg_api.client`).

        Raises:
            InvalidInput: The search has more than 1,000 hits, and 1,000 have been returned.
        """
        page_search = SourceSearch(query_text=search) if isinstance(search, str) else search
        while True:
            page = await self._send(get_page(page_search))
            yield page
            if page.next_cursor is None:
                return
            page_search = page_search.model_copy(update={"cursor": page.next_cursor})

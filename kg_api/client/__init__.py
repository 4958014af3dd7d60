"""Python client: `KgClient`, `AsyncKgClient` with the same methods, and `SourceSearch` for paging."""

from kg_api.client.clients import AsyncKgClient, KgClient
from kg_api.schemas.search import SourceSearch

__all__ = ["AsyncKgClient", "KgClient", "SourceSearch"]

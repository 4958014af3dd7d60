"""The Python client: `KgClient`, `AsyncKgClient` with the same methods, and `SourceSearch` for paging."""

from kg_api.client.asynchronous import AsyncKgClient
from kg_api.client.sync import KgClient
from kg_api.schemas.search import SourceSearch

__all__ = ["AsyncKgClient", "KgClient", "SourceSearch"]

"""The Python client: `KgClient`, and `AsyncKgClient` with the same methods."""

from kg_api.client.asynchronous import AsyncKgClient
from kg_api.client.sync import KgClient

__all__ = ["AsyncKgClient", "KgClient"]

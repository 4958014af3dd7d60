"""The asynchronous client, by what is dealt with."""

from kg_api.client.asynchronous.client import AsyncKgClient

__all__ = ["AsyncKgClient"]

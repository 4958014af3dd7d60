"""Whether the service lives and can do its work."""

from __future__ import annotations

from kg_api.client.call import Call
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.health import Health, Readiness


def health() -> Call[Health]:
    """Ask whether the process lives."""
    return Call("GET", "/health", Health)


def readiness() -> Call[Readiness]:
    """Ask whether the service can do its work."""
    return Call("GET", "/ready", Readiness, accepted=frozenset({503}))


class HealthMethods(Sending):
    """Methods of the synchronous client."""

    def health(self) -> Health:
        """Ask whether the process lives."""
        return self._send(health())

    def readiness(self) -> Readiness:
        """Ask whether the service can do its work, and what it waits for."""
        return self._send(readiness())


class AsyncHealthMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def health(self) -> Health:
        """Ask whether the process lives."""
        return await self._send(health())

    async def readiness(self) -> Readiness:
        """Ask whether the service can do its work, and what it waits for."""
        return await self._send(readiness())

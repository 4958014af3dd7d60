"""The asynchronous client of the REST service."""

from __future__ import annotations

from kg_api.client.asynchronous.administration import AsyncKeyMethods, AsyncMovingMethods, AsyncSpaceMethods
from kg_api.client.asynchronous.answering import AsyncAnsweringMethods, AsyncEvaluationMethods
from kg_api.client.asynchronous.concepts import AsyncConceptMethods
from kg_api.client.asynchronous.documents import AsyncDocumentMethods
from kg_api.client.asynchronous.folders import AsyncFolderMethods
from kg_api.client.asynchronous.images import AsyncImageMethods
from kg_api.client.asynchronous.jobs import AsyncJobMethods
from kg_api.client.asynchronous.ontologies import AsyncOntologyMethods
from kg_api.client.asynchronous.review import (
    AsyncJudgementMethods,
    AsyncProposalMethods,
    AsyncReviewMethods,
)
from kg_api.client.asynchronous.search import AsyncSearchMethods
from kg_api.client.transport.call import Call, get
from kg_api.schemas.operations import Health, Readiness


class AsyncKgClient(
    AsyncSearchMethods,
    AsyncAnsweringMethods,
    AsyncEvaluationMethods,
    AsyncConceptMethods,
    AsyncProposalMethods,
    AsyncDocumentMethods,
    AsyncReviewMethods,
    AsyncJudgementMethods,
    AsyncImageMethods,
    AsyncOntologyMethods,
    AsyncFolderMethods,
    AsyncSpaceMethods,
    AsyncJobMethods,
    AsyncKeyMethods,
    AsyncMovingMethods,
):
    """Talks to a kg service. Every method raises the errors of kg_api.errors, with the service's own message.

    Options that are fields of a request are described there, in kg_api.schemas, with their bounds.

    Example:
        async with AsyncKgClient("http://127.0.0.1:8420") as kg:
            await kg.search_sources("how are retries delayed?", ontology="handbook")
    """

    async def health(self) -> Health:
        """Ask whether the process lives."""
        return await self._send(get(Health, "health"))

    async def readiness(self) -> Readiness:
        """Ask whether the service can do its work, and what it waits for."""
        return await self._send(Call("GET", "/ready", Readiness, accepted=frozenset({503})))

"""The asynchronous client of the REST service."""

from __future__ import annotations

from kg_api.client.areas.answer import AsyncAnswerMethods
from kg_api.client.areas.augment import AsyncAugmentMethods
from kg_api.client.areas.concept_import import AsyncConceptImportMethods
from kg_api.client.areas.concepts import AsyncConceptMethods
from kg_api.client.areas.conversation import AsyncConversationMethods
from kg_api.client.areas.embedding import AsyncEmbeddingMethods
from kg_api.client.areas.extraction import AsyncExtractionMethods
from kg_api.client.areas.folders import AsyncFoldersMethods
from kg_api.client.areas.health import AsyncHealthMethods
from kg_api.client.areas.ingest import AsyncIngestMethods
from kg_api.client.areas.jobs import AsyncJobsMethods
from kg_api.client.areas.library import AsyncLibraryMethods
from kg_api.client.areas.search import AsyncSearchMethods
from kg_api.client.areas.similarity import AsyncSimilarityMethods
from kg_api.client.areas.switching import AsyncSwitchingMethods


class AsyncKgClient(
    AsyncSearchMethods,
    AsyncSimilarityMethods,
    AsyncConceptMethods,
    AsyncConceptImportMethods,
    AsyncAugmentMethods,
    AsyncAnswerMethods,
    AsyncIngestMethods,
    AsyncConversationMethods,
    AsyncLibraryMethods,
    AsyncFoldersMethods,
    AsyncEmbeddingMethods,
    AsyncExtractionMethods,
    AsyncSwitchingMethods,
    AsyncJobsMethods,
    AsyncHealthMethods,
):
    """Talks to a kg service. Every method raises the errors of kg_api.errors, with the service's own message.

    Example:
        async with AsyncKgClient("http://127.0.0.1:8420") as kg:
            await kg.search_sources("how are retries delayed?", ontology="handbook")
    """

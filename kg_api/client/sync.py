"""The synchronous client of the REST service."""

from __future__ import annotations

from kg_api.client.areas.answer import AnswerMethods
from kg_api.client.areas.augment import AugmentMethods
from kg_api.client.areas.concept_import import ConceptImportMethods
from kg_api.client.areas.concepts import ConceptMethods
from kg_api.client.areas.conversation import ConversationMethods
from kg_api.client.areas.embedding import EmbeddingMethods
from kg_api.client.areas.extraction import ExtractionMethods
from kg_api.client.areas.folders import FoldersMethods
from kg_api.client.areas.health import HealthMethods
from kg_api.client.areas.ingest import IngestMethods
from kg_api.client.areas.jobs import JobsMethods
from kg_api.client.areas.library import LibraryMethods
from kg_api.client.areas.search import SearchMethods
from kg_api.client.areas.similarity import SimilarityMethods
from kg_api.client.areas.switching import SwitchingMethods


class KgClient(
    SearchMethods,
    SimilarityMethods,
    ConceptMethods,
    ConceptImportMethods,
    AugmentMethods,
    AnswerMethods,
    IngestMethods,
    ConversationMethods,
    LibraryMethods,
    FoldersMethods,
    EmbeddingMethods,
    ExtractionMethods,
    SwitchingMethods,
    JobsMethods,
    HealthMethods,
):
    """Talks to a kg service. Every method raises the errors of kg_api.errors, with the service's own message.

    Example:
        with KgClient("http://127.0.0.1:8420") as kg:
            kg.search_sources("how are retries delayed?", ontology="handbook")
    """

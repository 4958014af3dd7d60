# Written by scripts/unasync.py from ../asynchronous/client.py; change that, not this.
"""The sync client of the REST service."""

from __future__ import annotations

from kg_api.client.sync.administration import KeyMethods, MovingMethods, SpaceMethods
from kg_api.client.sync.answering import AnsweringMethods, EvaluationMethods
from kg_api.client.sync.concepts import ConceptMethods
from kg_api.client.sync.documents import DocumentMethods
from kg_api.client.sync.folders import FolderMethods
from kg_api.client.sync.images import ImageMethods
from kg_api.client.sync.jobs import JobMethods
from kg_api.client.sync.ontologies import OntologyMethods
from kg_api.client.sync.review import (
    JudgementMethods,
    ProposalMethods,
    ReviewMethods,
)
from kg_api.client.sync.search import SearchMethods
from kg_api.client.transport.call import Call, get
from kg_api.schemas.operations import Health, Readiness


class KgClient(
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
    """Talks to a kg service. Every method raises the errors of kg_api.errors, with the service's own message.

    Options that are fields of a request are described there, in kg_api.schemas, with their bounds.

    Example:
        with KgClient("http://127.0.0.1:8420") as kg:
            kg.search_sources("how are retries delayed?", ontology="handbook")
    """

    def health(self) -> Health:
        """Ask whether the process lives."""
        return self._send(get(Health, "health"))

    def readiness(self) -> Readiness:
        """Ask whether the service can do its work, and what it waits for."""
        return self._send(Call("GET", "/ready", Readiness, accepted=frozenset({503})))

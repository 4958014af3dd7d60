# Written by scripts/unasync.py from ../asynchronous/extraction.py; change that, not this.
"""How concepts are extracted from ontologies."""

from __future__ import annotations

from kg_api.client.call import UNSET, Unset, change_of, get, post, put
from kg_api.client.sync.sending import Sending
from kg_api.models.concepts.extraction_config import (
    ExtractionConfig,
    ExtractionStarted,
    ExtractionStatus,
    UnreadSources,
)
from kg_api.models.vocabulary import ExtractorName


class ExtractionMethods(Sending):
    """Extraction of concepts."""

    def extraction_config(self, ontology: str, *, with_cost: bool = False) -> ExtractionStatus:
        """Read how concepts are extracted and how far that is; with what the rest takes, if asked for."""
        call = get(ExtractionStatus, "ontologies", ontology, "extraction-config", with_cost=with_cost or None)
        return self._send(call)

    def set_extraction_config(
        self,
        ontology: str,
        *,
        dry_run: bool = False,
        extractor: ExtractorName | Unset | None = UNSET,
        per_source: int | Unset | None = UNSET,
        budget: float | Unset | None = UNSET,
    ) -> ExtractionStatus:
        """Set how concepts are extracted, as ExtractionConfig has it.

        What is left out stays as it is; None is the service's own setting.
        """
        body = change_of(ExtractionConfig, locals())
        call = put(ExtractionStatus, "ontologies", ontology, "extraction-config", json=body, dry_run=dry_run)
        return self._send(call)

    def extract_concepts(self, ontology: str) -> ExtractionStarted:
        """Have concepts extracted from what is due, now; what was set aside is tried again."""
        return self._send(post(ExtractionStarted, "ontologies", ontology, "extraction"))

    def extraction_refused(self, ontology: str) -> UnreadSources:
        """List the sources that no concepts came of, with the reasons."""
        return self._send(get(UnreadSources, "ontologies", ontology, "extraction-refused"))

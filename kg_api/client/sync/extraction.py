# Written by scripts/unasync.py from ../asynchronous/extraction.py; change that, not this.
"""How concepts are extracted from ontologies."""

from __future__ import annotations

from kg_api.client.call import UNSET, Call, Unset, change_of, params_of, path_of
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
        path = path_of("ontologies", ontology, "extraction-config")
        params = params_of(with_cost=with_cost or None)
        return self._send(Call("GET", path, ExtractionStatus, params=params))

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
        path = path_of("ontologies", ontology, "extraction-config")
        params = params_of(dry_run=dry_run or None)
        body = change_of(ExtractionConfig, extractor=extractor, per_source=per_source, budget=budget)
        return self._send(Call("PUT", path, ExtractionStatus, params=params, json=body))

    def extract_concepts(self, ontology: str) -> ExtractionStarted:
        """Have concepts extracted from what is due, now; what was set aside is tried again."""
        return self._send(Call("POST", path_of("ontologies", ontology, "extraction"), ExtractionStarted))

    def extraction_refused(self, ontology: str) -> UnreadSources:
        """List the sources that no concepts came of, with the reasons."""
        path = path_of("ontologies", ontology, "extraction-refused")
        return self._send(Call("GET", path, UnreadSources))

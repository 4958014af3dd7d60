"""How concepts are extracted from ontologies."""

from __future__ import annotations

from kg_api.client.asynchronous.sending import AsyncSending
from kg_api.client.call import UNSET, Unset, change_of, get, post, put
from kg_api.models.concepts.extraction_config import (
    ExtractionConfig,
    ExtractionStarted,
    ExtractionStatus,
    UnreadSources,
)
from kg_api.models.vocabulary import ExtractorName


class AsyncExtractionMethods(AsyncSending):
    """Extraction of concepts."""

    async def extraction_config(self, ontology: str, *, with_cost: bool = False) -> ExtractionStatus:
        """Read how concepts are extracted and how far that is; with what the rest takes, if asked for."""
        call = get(ExtractionStatus, "ontologies", ontology, "extraction-config", with_cost=with_cost or None)
        return await self._send(call)

    async def set_extraction_config(
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
        return await self._send(call)

    async def extract_concepts(self, ontology: str) -> ExtractionStarted:
        """Have concepts extracted from what is due, now; what was set aside is tried again."""
        return await self._send(post(ExtractionStarted, "ontologies", ontology, "extraction"))

    async def extraction_refused(self, ontology: str) -> UnreadSources:
        """List the sources that no concepts came of, with the reasons."""
        return await self._send(get(UnreadSources, "ontologies", ontology, "extraction-refused"))

"""How concepts are extracted from ontologies."""

from __future__ import annotations

from typing import Any

from kg_api.client.call import Call, params_of, path_of, valid
from kg_api.client.sending import AsyncSending, Sending
from kg_api.models.concepts.extraction_config import (
    ExtractionConfig,
    ExtractionStarted,
    ExtractionStatus,
    UnreadSources,
)


def extraction_config(ontology: str, *, with_cost: bool = False) -> Call[ExtractionStatus]:
    """Read how concepts are extracted, and how far that is."""
    path = path_of("ontologies", ontology, "extraction-config")
    return Call("GET", path, ExtractionStatus, params=params_of(with_cost=with_cost or None))


def set_extraction_config(ontology: str, *, dry_run: bool = False, **config: Any) -> Call[ExtractionStatus]:
    """Change how concepts are extracted; `config`: fields of ExtractionConfig, None for the setting."""
    return Call(
        "PUT",
        path_of("ontologies", ontology, "extraction-config"),
        ExtractionStatus,
        params=params_of(dry_run=dry_run or None),
        json=valid(ExtractionConfig, config).model_dump(exclude_unset=True),
    )


def extract_concepts(ontology: str) -> Call[ExtractionStarted]:
    """Have concepts extracted from what is due."""
    return Call("POST", path_of("ontologies", ontology, "extraction"), ExtractionStarted)


def extraction_refused(ontology: str) -> Call[UnreadSources]:
    """List the sources that no concepts came of."""
    return Call("GET", path_of("ontologies", ontology, "extraction-refused"), UnreadSources)


class ExtractionMethods(Sending):
    """Methods of the synchronous client."""

    def extraction_config(self, ontology: str, *, with_cost: bool = False) -> ExtractionStatus:
        """Read how concepts are extracted and how far that is; with what the rest takes, if asked for."""
        return self._send(extraction_config(ontology, with_cost=with_cost))

    def set_extraction_config(
        self, ontology: str, *, dry_run: bool = False, **config: Any
    ) -> ExtractionStatus:
        """Set how concepts are extracted; `config` are the fields of ExtractionConfig."""
        return self._send(set_extraction_config(ontology, dry_run=dry_run, **config))

    def extract_concepts(self, ontology: str) -> ExtractionStarted:
        """Have concepts extracted from what is due, now; what was set aside is tried again."""
        return self._send(extract_concepts(ontology))

    def extraction_refused(self, ontology: str) -> UnreadSources:
        """List the sources that no concepts came of, with the reasons."""
        return self._send(extraction_refused(ontology))


class AsyncExtractionMethods(AsyncSending):
    """Methods of the asynchronous client."""

    async def extraction_config(self, ontology: str, *, with_cost: bool = False) -> ExtractionStatus:
        """Read how concepts are extracted and how far that is; with what the rest takes, if asked for."""
        return await self._send(extraction_config(ontology, with_cost=with_cost))

    async def set_extraction_config(
        self, ontology: str, *, dry_run: bool = False, **config: Any
    ) -> ExtractionStatus:
        """Set how concepts are extracted; `config` are the fields of ExtractionConfig."""
        return await self._send(set_extraction_config(ontology, dry_run=dry_run, **config))

    async def extract_concepts(self, ontology: str) -> ExtractionStarted:
        """Have concepts extracted from what is due, now; what was set aside is tried again."""
        return await self._send(extract_concepts(ontology))

    async def extraction_refused(self, ontology: str) -> UnreadSources:
        """List the sources that no concepts came of, with the reasons."""
        return await self._send(extraction_refused(ontology))

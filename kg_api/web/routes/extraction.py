"""Extraction of concepts: how it is configured, what it costs, how far it is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from fastapi.openapi.models import Example

from kg_api.models.extraction_config import (
    ExtractionConfig,
    ExtractionStarted,
    ExtractionStatus,
    UnreadSources,
)
from kg_api.web.dependencies import Ontology, Open
from kg_api.web.strict_json import StrictRoute

router = APIRouter(tags=["concepts"], route_class=StrictRoute)

CONFIGS: dict[str, Example] = {
    "without a language model": {"value": {"extractor": "keyphrase", "per_source": 4}},
    "by a language model, for two dollars": {"value": {"extractor": "llm", "budget": 2}},
    "as the service's settings say": {"value": {"extractor": None, "per_source": None, "budget": None}},
}
DryRun = Annotated[bool, Query(description="Only say what would follow; nothing is changed.")]
WithCost = Annotated[
    bool, Query(description="Count what reading the sources that are due takes; nothing is asked.")
]


@router.get("/ontologies/{ontology}/extraction-config", summary="How concepts are extracted")
def get_extraction_config(
    container: Open, ontology: Ontology, *, with_cost: WithCost = False
) -> ExtractionStatus:
    """Give the configuration, how many sources were read, what was found, and what that has cost."""
    return container.extraction.show(ontology, with_cost=with_cost)


@router.put("/ontologies/{ontology}/extraction-config", summary="Configure how concepts are extracted")
def put_extraction_config(
    container: Open,
    ontology: Ontology,
    config: Annotated[ExtractionConfig, Body(openapi_examples=CONFIGS)],
    *,
    dry_run: DryRun = False,
) -> ExtractionStatus:
    """Set what is named; what is left out stays, null is the service's own setting. Says what it will cost.

    What another extractor found before stays until the source is read anew, which a worker begins at once. A
    job that ended because its money was used up goes on when `budget` is raised.
    """
    return container.extraction.set(ontology, config, dry_run=dry_run)


@router.post(
    "/ontologies/{ontology}/extraction", status_code=202, summary="Extract concepts from what is due, now"
)
def extract_concepts(container: Open, ontology: Ontology) -> ExtractionStarted:
    """Start the job, or join the one there is; sources that were set aside are tried again."""
    return container.extraction.extract(ontology)


@router.get("/ontologies/{ontology}/extraction-refused", summary="Sources that no concepts came of")
def extraction_refused(container: Open, ontology: Ontology) -> UnreadSources:
    """Give the sources that were set aside, each with its reason; they are found by search as any other."""
    return container.extraction.refused(ontology)

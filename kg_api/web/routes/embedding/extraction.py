"""Extraction of concepts: how it is configured, what it costs, how far it is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from fastapi.openapi.models import Example

from kg_api.models.concepts.extraction_config import (
    ExtractionConfig,
    ExtractionStarted,
    ExtractionStatus,
    UnreadSources,
)
from kg_api.web.dependencies import Ontology, Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["concepts"], route_class=StrictRoute)

CONFIGS: dict[str, Example] = {
    "without a language model": {"value": {"extractor": "keyphrase", "per_source": 4}},
    "by a language model, for two dollars": {"value": {"extractor": "llm", "budget": 2}},
    "as the service's settings say": {"value": {"extractor": None, "per_source": None, "budget": None}},
}
DryRun = Annotated[bool, Query(description="Show the effects only; change nothing.")]
WithCost = Annotated[
    bool,
    Query(
        description="Include an estimate of the cost of the sources that are due; the model is not called."
    ),
]


@router.get(
    "/ontologies/{ontology}/extraction-config", summary="Get the extraction configuration of an ontology"
)
def get_extraction_config(
    container: Open, ontology: Ontology, *, with_cost: WithCost = False
) -> ExtractionStatus:
    """Give the configuration, how many sources were read, what was found, and what that has cost."""
    return container.extraction.show(ontology, with_cost=with_cost)


@router.put(
    "/ontologies/{ontology}/extraction-config", summary="Change the extraction configuration of an ontology"
)
def put_extraction_config(
    container: Open,
    ontology: Ontology,
    config: Annotated[ExtractionConfig, Body(openapi_examples=CONFIGS)],
    *,
    dry_run: DryRun = False,
) -> ExtractionStatus:
    """Change the fields given; others stay, null restores the service's setting. Reports the cost.

    What another extractor found before stays until the source is read anew, which a worker begins at once. A
    job that ended because its money was used up goes on when `budget` is raised.
    """
    return container.extraction.set(ontology, config, dry_run=dry_run)


@router.post("/ontologies/{ontology}/extraction", status_code=202, summary="Start extracting concepts")
def extract_concepts(
    container: Open,
    ontology: Ontology,
    *,
    stale: Annotated[
        bool, Query(description="Also read what another model or prompt has read; it may cost.")
    ] = False,
) -> ExtractionStarted:
    """Start the job, or join the one there is; sources that were set aside are tried again."""
    return container.extraction.extract(ontology, stale=stale)


@router.get(
    "/ontologies/{ontology}/extraction-refused", summary="List the sources from which extraction failed"
)
def extraction_refused(container: Open, ontology: Ontology) -> UnreadSources:
    """Give the sources that were set aside, each with its reason; they are found by search as any other."""
    return container.extraction.refused(ontology)

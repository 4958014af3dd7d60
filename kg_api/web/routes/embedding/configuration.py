"""Embeddings: how much is there, how each ontology is embedded, the spaces and their models."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request
from fastapi.openapi.models import Example

from kg_api.models.embedding.configuration import (
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    EmbeddingStarted,
    RefusedSources,
)
from kg_api.models.embedding.regeneration import Regeneration, RegenerationStarted
from kg_api.models.embedding.spaces import EmbeddingHealth, NewSpace, SpaceInfo, SpaceList
from kg_api.models.library.documents import EmbeddingStatus
from kg_api.web.dependencies import IdempotencyKey, Ontology, Open
from kg_api.web.health.models import ModelHealth
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["embedding"], route_class=StrictRoute)

CONFIGS: dict[str, Example] = {
    "one setting; the others stay": {"value": {"embed_on_ingest": False}},
    "sentences": {"value": {"strategy": "sentence"}},
    "small-to-big": {"value": {"strategy": "hierarchical", "chunk_size": 512, "overlap": 50}},
    "another model": {"value": {"space": "openai_small", "context": "template"}},
}
SPACES: dict[str, Example] = {
    "OpenAI, shortened": {
        "value": {
            "slug": "openai_small",
            "provider": "openai",
            "model": "text-embedding-3-small",
            "dimensions": 512,
        }
    }
}
REGENERATIONS: dict[str, Example] = {
    "what is due, everywhere": {"value": {}},
    "all of one ontology": {"value": {"ontology": "notes", "force": True}},
    "of some documents": {"value": {"ontology": "notes", "where": ["date<2020"], "force": True}},
    "what it would take": {"value": {"ontology": "notes", "selection": "stale", "dry_run": True}},
}
DryRun = Annotated[bool, Query(description="Show the effects only; change nothing.")]


@router.get("/ontologies/{ontology}/embedding-status", summary="Get the embedding progress of an ontology")
def ontology_embedding_status(container: Open, ontology: Ontology) -> EmbeddingStatus:
    """Count the sources that have an up-to-date vector, and those that do not."""
    return container.configure.status(ontology)


@router.get("/embedding-status", summary="Get the embedding progress of all ontologies")
def embedding_status(container: Open) -> EmbeddingStatus:
    """Count over all ontologies."""
    return container.configure.status(None)


@router.get(
    "/ontologies/{ontology}/embedding-config", summary="Get the embedding configuration of an ontology"
)
def get_embedding_config(container: Open, ontology: Ontology) -> EmbeddingConfiguration:
    """Give its configuration, what is missing or stale, and the cost of regenerating that."""
    return container.configure.show(ontology)


@router.put(
    "/ontologies/{ontology}/embedding-config", summary="Change the embedding configuration of an ontology"
)
def put_embedding_config(
    container: Open,
    ontology: Ontology,
    config: Annotated[EmbeddingConfigChange, Body(openapi_examples=CONFIGS)],
    *,
    dry_run: DryRun = False,
) -> EmbeddingConfiguration:
    """Change the fields given; others stay as they are, null restores the default. Reports what is stale.

    Another strategy starts with its own default sizes.

    The present embeddings stay active until a worker has built all new ones, which then replace them.
    The ontology is created if it does not exist.
    """
    return container.configure.change(ontology, config, dry_run=dry_run)


@router.post(
    "/ontologies/{ontology}/embeddings", status_code=202, summary="Start embedding what is missing or stale"
)
def embed_ontology(container: Open, ontology: Ontology, key: IdempotencyKey) -> EmbeddingStarted:
    """Start the job, whether or not new text is embedded automatically."""
    return container.embeddings.embed(ontology, key)


@router.get("/ontologies/{ontology}/refused", summary="List the sources that the embedding model rejected")
def refused(container: Open, ontology: Ontology) -> RefusedSources:
    """Give the rejected sources, each with its reason. Only full text finds them.

    They are tried again when their text or the configuration changes, by
    `POST /ontologies/{ontology}/embeddings` and by `POST /jobs/{job_id}/retry`.
    """
    return container.configure.refused(ontology)


@router.post("/embeddings/regenerate", status_code=202, summary="Regenerate embeddings")
def regenerate(
    container: Open,
    asked: Annotated[Regeneration, Body(openapi_examples=REGENERATIONS)],
    key: IdempotencyKey,
) -> RegenerationStarted:
    """Start the jobs that embed what is missing or stale, of one ontology or of all; or estimate the cost.

    With `force`, everything is embedded anew; with `where` too, the sources of the documents that fit.
    """
    return container.embeddings.regenerate(asked, key)


@router.get("/embedding/spaces", summary="List embedding spaces and their models")
def list_spaces(container: Open) -> SpaceList:
    """Give provider, model, dimensions and batch size of each, and the ontologies that use it."""
    return SpaceList(spaces=container.models.infos())


@router.post("/embedding/spaces", status_code=201, summary="Create an embedding space")
def add_space(container: Open, space: Annotated[NewSpace, Body(openapi_examples=SPACES)]) -> SpaceInfo:
    """Register a further model: it is probed once, and gets its own property and index.

    Repeating the request changes nothing. Its key and address come from the service's environment.
    """
    return container.models.add(space)


@router.get("/embedding/health", summary="Get the last known health of the embedding models")
def embedding_health(container: Open, request: Request) -> EmbeddingHealth:
    """Give status, latency and error of each model's probe within the last 30 s.

    Older results are refreshed; `POST` always checks.
    """
    watch: ModelHealth = request.app.state.model_health
    return watch.health(container.models)


@router.post("/embedding/health", summary="Check the health of the embedding models now")
def check_embedding_health(container: Open, request: Request) -> EmbeddingHealth:
    """Embed the probe text with each model: status, latency, and the error if there is one."""
    watch: ModelHealth = request.app.state.model_health
    return watch.check(container.models)

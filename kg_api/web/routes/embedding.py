"""Embeddings: how much is there, how each ontology is embedded, the spaces and their models."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request
from fastapi.openapi.models import Example

from kg_api.models.configuration import (
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    EmbeddingStarted,
    RefusedSources,
)
from kg_api.models.documents import EmbeddingStatus
from kg_api.models.regeneration import Regeneration, RegenerationStarted
from kg_api.models.spaces import EmbeddingHealth, NewSpace, SpaceInfo, SpaceList
from kg_api.web.dependencies import IdempotencyKey, Ontology, Open
from kg_api.web.model_health import ModelHealth
from kg_api.web.strict_json import StrictRoute

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
    "what it would take": {"value": {"ontology": "notes", "selection": "stale", "dry_run": True}},
}
DryRun = Annotated[bool, Query(description="Only say what would follow; nothing is changed.")]


@router.get("/ontologies/{ontology}/embedding-status", summary="How much of an ontology is embedded")
def ontology_embedding_status(container: Open, ontology: Ontology) -> EmbeddingStatus:
    """Count the sources that have the vector they should have, and those that have not."""
    return container.configure.status(ontology)


@router.get("/embedding-status", summary="How much of everything is embedded")
def embedding_status(container: Open) -> EmbeddingStatus:
    """Count over all ontologies."""
    return container.configure.status(None)


@router.get("/ontologies/{ontology}/embedding-config", summary="How an ontology is embedded")
def get_embedding_config(container: Open, ontology: Ontology) -> EmbeddingConfiguration:
    """Give its configuration, what is missing or stale, and what making that anew takes."""
    return container.configure.show(ontology)


@router.put("/ontologies/{ontology}/embedding-config", summary="Configure an ontology's embedding")
def put_embedding_config(
    container: Open,
    ontology: Ontology,
    config: Annotated[EmbeddingConfigChange, Body(openapi_examples=CONFIGS)],
    *,
    dry_run: DryRun = False,
) -> EmbeddingConfiguration:
    """Set what is named; what is left out stays as it is, null is the default. Says what is stale now.

    Another strategy begins with its own sizes.

    What is embedded now goes on to answer until a worker has made all anew, then the new answers, by itself.
    The ontology is made when it is not there.
    """
    return container.configure.change(ontology, config, dry_run=dry_run)


@router.post(
    "/ontologies/{ontology}/embeddings", status_code=202, summary="Embed what is missing or stale, now"
)
def embed_ontology(container: Open, ontology: Ontology, key: IdempotencyKey = None) -> EmbeddingStarted:
    """Start the job, whether or not new text is embedded by itself."""
    return container.embeddings.embed(ontology, key)


@router.get("/ontologies/{ontology}/refused", summary="What the model does not take")
def refused(container: Open, ontology: Ontology) -> RefusedSources:
    """Give the sources that were set aside, each with its reason. They are found by full text only.

    They are tried again when their text or the configuration changes, by
    `POST /ontologies/{ontology}/embeddings` and by `POST /jobs/{job_id}/retry`.
    """
    return container.configure.refused(ontology)


@router.post("/embeddings/regenerate", status_code=202, summary="Make embeddings anew")
def regenerate(
    container: Open,
    asked: Annotated[Regeneration, Body(openapi_examples=REGENERATIONS)],
    key: IdempotencyKey = None,
) -> RegenerationStarted:
    """Start the jobs that embed what is missing or stale, of one ontology or of all; or say what it takes."""
    return container.embeddings.regenerate(asked, key)


@router.get("/embedding/spaces", summary="All embedding spaces and their models")
def list_spaces(container: Open) -> SpaceList:
    """Give provider, model, dimensions and batch size of each, and the ontologies that use it."""
    return SpaceList(spaces=container.models.infos())


@router.post("/embedding/spaces", status_code=201, summary="Make a further embedding space")
def add_space(container: Open, space: Annotated[NewSpace, Body(openapi_examples=SPACES)]) -> SpaceInfo:
    """Register a model beside those there are: it is asked once, and gets a property and an index of its own.

    The same once more changes nothing. Its key and address come from the service's environment.
    """
    return container.models.add(space)


@router.get("/embedding/health", summary="Did the models answer?")
def embedding_health(container: Open, request: Request) -> EmbeddingHealth:
    """Give status, latency and error of each model, as its probe text was answered within the last 30 s.

    They are asked when nobody has asked for so long; `POST` asks them in any case.
    """
    watch: ModelHealth = request.app.state.model_health
    return watch.health(container.models)


@router.post("/embedding/health", summary="Do the models answer now?")
def check_embedding_health(container: Open, request: Request) -> EmbeddingHealth:
    """Ask each model for its probe text: status, latency, and the error if there is one."""
    watch: ModelHealth = request.app.state.model_health
    return watch.check(container.models)

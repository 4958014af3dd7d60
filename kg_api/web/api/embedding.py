"""Embeddings: how much is there, how each ontology is embedded, the spaces and their models."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request

from kg_api.schemas.concepts import ExtractionConfig, ExtractionStarted, ExtractionStatus, UnreadSources
from kg_api.schemas.documents import EmbeddingStatus
from kg_api.schemas.embedding import (
    ChosenOntologies,
    EmbeddingConfigChange,
    EmbeddingConfiguration,
    EmbeddingStarted,
    RefusedSources,
    Regeneration,
    RegenerationStarted,
    SpaceActivation,
    SpaceBuild,
    SpaceBuilding,
    SpaceCheck,
    SpaceDropped,
    SpaceSwitched,
)
from kg_api.schemas.spaces import EmbeddingHealth, NewSpace, Slug, SpaceInfo, SpaceList
from kg_api.web.shared.dependencies import IdempotencyKey, Ontology, OntologyFilter, Open
from kg_api.web.shared.health import ModelHealth
from kg_api.web.shared.scoped import Routes, example

spaces = Routes("embedding")

DryRun = Annotated[bool, Query(description="Show the effects only; change nothing.")]


@spaces.get("/ontologies/{ontology}/embedding-status", "read", "Get the embedding progress of an ontology")
def ontology_embedding_status(container: Open, ontology: Ontology) -> EmbeddingStatus:
    return container.configure.status(ontology)


@spaces.get("/embedding-status", "read", "Get the embedding progress of all ontologies", filtered=True)
def embedding_status(container: Open) -> EmbeddingStatus:
    return container.configure.status(None)


@spaces.get("/ontologies/{ontology}/embedding-config", "read", "Get how an ontology is embedded")
def get_embedding_config(container: Open, ontology: Ontology) -> EmbeddingConfiguration:
    return container.configure.show(ontology)


@spaces.put("/ontologies/{ontology}/embedding-config", "admin", "Change how an ontology is embedded")
def put_embedding_config(
    container: Open,
    ontology: Ontology,
    config: Annotated[EmbeddingConfigChange, example(embed_on_ingest=False)],
    *,
    dry_run: DryRun = False,
) -> EmbeddingConfiguration:
    """Fields left out stay, null is the default. The present vectors serve until new ones are built."""
    return container.configure.change(ontology, config, dry_run=dry_run)


@spaces.post("/ontologies/{ontology}/embeddings", "write", "Embed what is missing or stale", status_code=202)
def embed_ontology(container: Open, ontology: Ontology, key: IdempotencyKey) -> EmbeddingStarted:
    """Start the job, whether or not new text is embedded automatically."""
    return container.embeddings.embed(ontology, key)


@spaces.get("/ontologies/{ontology}/refused", "read", "List the sources that the model rejected")
def refused(container: Open, ontology: Ontology) -> RefusedSources:
    """Only full text finds them. They are retried when text or configuration changes, or on request."""
    return container.configure.refused(ontology)


@spaces.post("/embeddings/regenerate", "admin", "Regenerate embeddings", status_code=202)
def regenerate(
    container: Open,
    asked: Annotated[Regeneration, example(ontology="notes", force=True)],
    key: IdempotencyKey,
) -> RegenerationStarted:
    """With `force`, re-embed everything, or with `where` the sources of matching documents."""
    return container.embeddings.regenerate(asked, key)


@spaces.get("/embedding/spaces", "read", "List embedding spaces and their models")
def list_spaces(container: Open) -> SpaceList:
    return SpaceList(spaces=container.models.infos())


@spaces.post("/embedding/spaces", "admin", "Create an embedding space", status_code=201)
def add_space(
    container: Open,
    space: Annotated[
        NewSpace, example(slug="openai_small", provider="openai", model="text-embedding-3-small")
    ],
) -> SpaceInfo:
    """The model is probed once; keys and addresses come from the service's environment. Idempotent."""
    return container.models.add(space)


@spaces.get("/embedding/health", "read", "Get the last known health of the embedding models")
def embedding_health(container: Open, request: Request) -> EmbeddingHealth:
    """Return results of the last 30 s; `POST` always checks."""
    watch: ModelHealth = request.app.state.model_health
    return watch.health(container.models)


@spaces.post("/embedding/health", "admin", "Check the health of the embedding models now")
def check_embedding_health(container: Open, request: Request) -> EmbeddingHealth:
    """Embed the probe text with each model: status, latency, and the error if there is one."""
    watch: ModelHealth = request.app.state.model_health
    return watch.check(container.models)


# Extraction of concepts: how it is configured, what it costs, how far it is.

extraction = Routes("concepts")

WithCost = Annotated[bool, Query(description="Estimate the cost of pending sources.")]


@extraction.get("/ontologies/{ontology}/extraction-config", "read", "Get how concepts are extracted")
def get_extraction_config(
    container: Open, ontology: Ontology, *, with_cost: WithCost = False
) -> ExtractionStatus:
    return container.extraction.show(ontology, with_cost=with_cost)


@extraction.put("/ontologies/{ontology}/extraction-config", "admin", "Change how concepts are extracted")
def put_extraction_config(
    container: Open,
    ontology: Ontology,
    config: Annotated[ExtractionConfig, example(extractor="keyphrase", per_source=4)],
    *,
    dry_run: DryRun = False,
) -> ExtractionStatus:
    """Fields left out stay, null is the service's setting. A raised `budget` continues a stopped job."""
    return container.extraction.set(ontology, config, dry_run=dry_run)


@extraction.post("/ontologies/{ontology}/extraction", "write", "Start extracting concepts", status_code=202)
def extract_concepts(
    container: Open,
    ontology: Ontology,
    *,
    stale: Annotated[bool, Query(description="Re-read sources of another model or prompt.")] = False,
) -> ExtractionStarted:
    """Start the job, or join the one there is; sources that were set aside are tried again."""
    return container.extraction.extract(ontology, stale=stale)


@extraction.get("/ontologies/{ontology}/extraction-refused", "read", "List sources without extraction")
def extraction_refused(container: Open, ontology: Ontology) -> UnreadSources:
    return container.extraction.refused(ontology)


# Changing the space of ontologies while people search.

OF_SPACE = "/embedding/spaces/{slug}"

Name = Annotated[Slug, Path(description="Name of an embedding space.")]


@spaces.post(OF_SPACE + "/build", "admin", "Build an embedding space", status_code=202)
def build(container: Open, slug: Name, asked: SpaceBuild) -> SpaceBuilding:
    """Embed in the background while the active space serves searches; new text is embedded in both."""
    return container.switch.build(slug, asked)


@spaces.get(OF_SPACE + "/check", "admin", "Check whether a space can be activated")
def check(container: Open, slug: Name, ontology: OntologyFilter = None) -> SpaceCheck:
    """Look at the index, the model, whether all is built, at every vector, and ask the index for some."""
    return container.switch.check(slug, None if ontology is None else [ontology])


@spaces.post(OF_SPACE + "/activate", "admin", "Activate an embedding space")
def activate(container: Open, slug: Name, asked: SpaceActivation) -> SpaceSwitched:
    """Check, then switch all that was built there in one transaction; what answered is kept to go back to."""
    return container.switch.activate(slug, asked.ontologies, accept_refused=asked.accept_refused)


@spaces.post(OF_SPACE + "/rollback", "admin", "Roll back to the previously active embedding space")
def rollback(container: Open, slug: Name, asked: ChosenOntologies) -> SpaceSwitched:
    """Switch back in one transaction; a build that does not answer yet is given up."""
    return container.switch.rollback(slug, asked.ontologies)


@spaces.delete(OF_SPACE, "admin", "Drop a space, or one ontology's vectors in it", status_code=202)
def drop(container: Open, slug: Name, ontology: OntologyFilter = None) -> SpaceDropped:
    """Let a worker remove index and vectors in portions. What answers or is being built cannot be removed."""
    return container.drop.drop(slug, ontology)

"""Routes for embedding configurations, embedding spaces, and concept extraction."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from kg_api.schemas.concepts import ExtractionConfig, ExtractionStatus
from kg_api.schemas.documents import EmbeddingStatus
from kg_api.schemas.embedding import (
    ChosenOntologies,
    EmbeddingConfigChange,
    EmbeddingConfiguration,
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
from kg_api.schemas.operations import JobStarted
from kg_api.schemas.spaces import EmbeddingHealth, NewSpace, Slug, SpaceInfo, SpaceList
from kg_api.web.shared.dependencies import IdempotencyKey, Ontology, OntologyFilter, Open
from kg_api.web.shared.routes import Routes, declare_example

spaces = Routes("embedding")

DryRun = Annotated[bool, Query(description="Show the effects without changes.")]


@spaces.get("/ontologies/{ontology}/embedding-status", "read", "Get the embedding progress of an ontology")
def ontology_embedding_status(container: Open, ontology: Ontology) -> EmbeddingStatus:
    return container.configure.status(ontology)


@spaces.get("/embedding-status", "read", "Get the embedding progress of all ontologies", filtered=True)
def embedding_status(container: Open) -> EmbeddingStatus:
    return container.configure.status(None)


@spaces.get(
    "/ontologies/{ontology}/embedding-config", "read", ("Get the embedding configuration of an ontology")
)
def get_embedding_config(container: Open, ontology: Ontology) -> EmbeddingConfiguration:
    return container.configure.show(ontology)


@spaces.put(
    "/ontologies/{ontology}/embedding-config", "admin", ("Change the embedding configuration of an ontology")
)
def put_embedding_config(
    container: Open,
    ontology: Ontology,
    config: Annotated[EmbeddingConfigChange, declare_example(embed_on_ingest=False)],
    *,
    dry_run: DryRun = False,
) -> EmbeddingConfiguration:
    """To keep a field, omit it.

    To use the default, set it to null. Searches use the old vectors until the end.
    """
    return container.configure.change(ontology, config, dry_run=dry_run)


@spaces.post("/ontologies/{ontology}/embeddings", "write", "Embed missing and stale items", status_code=202)
def embed_ontology(container: Open, ontology: Ontology, key: IdempotencyKey) -> JobStarted:
    """Start the job. This is also possible when automatic embedding is off."""
    return container.embeddings.embed(ontology, key)


@spaces.get(
    "/ontologies/{ontology}/rejected",
    "read",
    "List the sources that the model rejected",
    earlier_path="/ontologies/{ontology}/refused",
)
def rejected(container: Open, ontology: Ontology) -> RefusedSources:
    """You can find these sources using full text only.

    They are retried when you change text or configuration.
    """
    return container.configure.list_refused(ontology)


@spaces.post("/embeddings/regenerate", "admin", "Regenerate embeddings", status_code=202)
def regenerate(
    container: Open,
    asked: Annotated[Regeneration, declare_example(ontology="notes", force=True)],
    key: IdempotencyKey,
) -> RegenerationStarted:
    """To re-embed everything, use `force`."""
    return container.embeddings.regenerate(asked, key)


@spaces.get("/embedding/spaces", "read", "List embedding spaces and their models")
def list_spaces(container: Open) -> SpaceList:
    return SpaceList(spaces=container.models.list_space_infos())


@spaces.post("/embedding/spaces", "admin", "Create an embedding space", status_code=201)
def add_space(
    container: Open,
    space: Annotated[
        NewSpace, declare_example(slug="openai_small", provider="openai", model="text-embedding-3-small")
    ],
) -> SpaceInfo:
    """Call the model once to test it. Keys and URLs come from the environment. You can repeat this."""
    return container.models.add(space)


@spaces.post("/embedding/health", "admin", "Check the health of the embedding models now")
def check_embedding_health(container: Open) -> EmbeddingHealth:
    """Embed a test text with each model, to see status and latency, or the error."""
    return container.models.check_health()


# Concept extraction

extraction = Routes("concepts")

WithCost = Annotated[bool, Query(description="Estimate the cost of pending sources.")]


@extraction.get(
    "/ontologies/{ontology}/extraction-config", "read", ("Get the configuration for concept extraction")
)
def get_extraction_config(
    container: Open, ontology: Ontology, *, with_cost: WithCost = False
) -> ExtractionStatus:
    return container.extraction.show(ontology, with_cost=with_cost)


@extraction.put(
    "/ontologies/{ontology}/extraction-config", "admin", ("Change the configuration for concept extraction")
)
def put_extraction_config(
    container: Open,
    ontology: Ontology,
    config: Annotated[ExtractionConfig, declare_example(extractor="keyphrase", per_source=4)],
    *,
    dry_run: DryRun = False,
) -> ExtractionStatus:
    """To keep a field, omit it. To use the setting from the service, set it to null."""
    return container.extraction.set(ontology, config, dry_run=dry_run)


@extraction.post("/ontologies/{ontology}/extraction", "write", "Start to extract concepts", status_code=202)
def extract_concepts(
    container: Open,
    ontology: Ontology,
    *,
    stale: Annotated[bool, Query(description="Re-read sources of another model or prompt.")] = False,
) -> JobStarted:
    """Start a job, or use the job that exists. It also retries sources that were not extracted."""
    return container.extraction.extract(ontology, stale=stale)


@extraction.get(
    "/ontologies/{ontology}/extraction-rejected",
    "read",
    "List the sources from which concepts could not be extracted",
    earlier_path="/ontologies/{ontology}/extraction-refused",
)
def extraction_rejected(container: Open, ontology: Ontology) -> RefusedSources:
    return container.extraction.list_refused(ontology)


# Switch of embedding spaces

OF_SPACE = "/embedding/spaces/{slug}"

Name = Annotated[Slug, Path(description="Name of an embedding space.")]


@spaces.post(OF_SPACE + "/build", "admin", "Build an embedding space", status_code=202)
def build(container: Open, slug: Name, asked: SpaceBuild) -> SpaceBuilding:
    """Embed in the background. You can still search with the active space. New text is embedded in both."""
    return container.switch.build(slug, asked)


@spaces.get(OF_SPACE + "/check", "admin", "Check if you can activate an embedding space")
def check(container: Open, slug: Name, ontology: OntologyFilter = None) -> SpaceCheck:
    """Check index, model, and every vector, and use the index for a sample query."""
    return container.switch.check(slug, None if ontology is None else [ontology])


@spaces.post(OF_SPACE + "/activate", "admin", "Activate an embedding space")
def activate(container: Open, slug: Name, asked: SpaceActivation) -> SpaceSwitched:
    """Check the space, and then use it for all built ontologies in one transaction. You can roll back."""
    return container.switch.activate(slug, asked.ontologies, accept_rejected=asked.accept_rejected)


@spaces.post(OF_SPACE + "/rollback", "admin", "Roll back to the previously active embedding space")
def rollback(container: Open, slug: Name, asked: ChosenOntologies) -> SpaceSwitched:
    """Switch back in one transaction. This will abort a build that is not active yet."""
    return container.switch.rollback(slug, asked.ontologies)


@spaces.delete(OF_SPACE, "admin", "Drop a space, or the vectors of one ontology in it", status_code=202)
def drop(container: Open, slug: Name, ontology: OntologyFilter = None) -> SpaceDropped:
    """Start a job to delete index and vectors. This is not possible if the space is used or being built."""
    return container.switch.drop(slug, ontology)

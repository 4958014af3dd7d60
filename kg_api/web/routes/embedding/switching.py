"""Changing the space of ontologies while people search."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path
from fastapi.openapi.models import Example

from kg_api.models.embedding.spaces import Slug
from kg_api.models.embedding.switching import (
    ChosenOntologies,
    SpaceActivation,
    SpaceBuild,
    SpaceBuilding,
    SpaceCheck,
    SpaceDropped,
    SpaceSwitched,
)
from kg_api.web.dependencies import OntologyFilter, Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["embedding"], route_class=StrictRoute, prefix="/embedding/spaces/{slug}")

Name = Annotated[Slug, Path(description="Name of an embedding space.")]
BUILDS: dict[str, Example] = {
    "all ontologies": {"value": {}},
    "one, answering when complete": {"value": {"ontologies": ["notes"], "activate": True}},
    "what it would take": {"value": {"dry_run": True}},
}
CHOSEN: dict[str, Example] = {"all": {"value": {}}, "one": {"value": {"ontologies": ["notes"]}}}
Chosen = Annotated[ChosenOntologies, Body(openapi_examples=CHOSEN)]


@router.post("/build", status_code=202, summary="Build an embedding space alongside the active one")
def build(
    container: Open, slug: Name, asked: Annotated[SpaceBuild, Body(openapi_examples=BUILDS)]
) -> SpaceBuilding:
    """Embed ontologies in this space in the background, while the active one keeps serving searches.

    What is written meanwhile is embedded in both.
    """
    return container.switch.build(slug, asked)


@router.get("/check", summary="Check whether an embedding space is ready to be activated")
def check(container: Open, slug: Name, ontology: OntologyFilter = None) -> SpaceCheck:
    """Look at the index, the model, whether all is built, at every vector, and ask the index for some."""
    return container.switch.check(slug, None if ontology is None else [ontology])


@router.post("/activate", summary="Activate an embedding space")
def activate(
    container: Open, slug: Name, asked: Annotated[SpaceActivation, Body(openapi_examples=CHOSEN)]
) -> SpaceSwitched:
    """Check, then switch all that was built there in one transaction; what answered is kept to go back to."""
    return container.switch.activate(slug, asked.ontologies, accept_refused=asked.accept_refused)


@router.post("/rollback", summary="Roll back to the previously active embedding space")
def rollback(container: Open, slug: Name, asked: Chosen) -> SpaceSwitched:
    """Switch back in one transaction; a build that does not answer yet is given up."""
    return container.switch.rollback(slug, asked.ontologies)


@router.delete("", status_code=202, summary="Drop an embedding space, or one ontology's vectors in it")
def drop(container: Open, slug: Name, ontology: OntologyFilter = None) -> SpaceDropped:
    """Let a worker remove index and vectors in portions. What answers or is being built cannot be removed."""
    return container.drop.drop(slug, ontology)

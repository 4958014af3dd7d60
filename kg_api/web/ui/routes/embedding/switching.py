"""What is done with an embedding space: built, checked, activated, rolled back, dropped."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel

from kg_api.models.embedding.switching import ChosenOntologies, SpaceActivation, SpaceBuild
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.routes.embedding import switching
from kg_api.web.routes.embedding.switching import Name
from kg_api.web.ui.links import SPACES, below
from kg_api.web.ui.rendering import render
from kg_api.web.ui.routes.embedding.spaces import named_space, progress_of

Chosen = Annotated[str, Form(max_length=1000)]
Tick = Annotated[bool, Form()]

router = APIRouter(include_in_schema=False, prefix=SPACES + "/{slug}")


@router.post("/build")
def build(
    request: Request,
    container: Open,
    slug: Name,
    ontology: Chosen = "",
    *,
    activate_when_built: Tick = False,
    dry_run: Tick = False,
) -> Response:
    """Build vectors in a space beside those that answer; or say what it would take."""
    asked = {"ontologies": _names(ontology), "activate": activate_when_built, "dry_run": dry_run}
    building = switching.build(container, slug, valid(SpaceBuild, asked))
    if not dry_run and not building.notes:
        return _to_space(request, slug, building)
    note_outcome(request, building)
    shown = {"building": building, "ontology": ontology, "dry_run": dry_run}
    return render("spaces/build.html", {**shown, "activate_when_built": activate_when_built})


@router.get("/check")
def check_page(
    container: Open, slug: Name, ontology: Annotated[str, Query(max_length=1000)] = ""
) -> HTMLResponse:
    """Show whether what was built in a space can answer."""
    found = switching.check(container, slug, ontology or None)
    return render("spaces/check.html", {"found": found, "ontology": ontology})


@router.post("/activate")
def activate(
    request: Request, container: Open, slug: Name, ontology: Chosen = "", *, accept_refused: Tick = False
) -> Response:
    """Let what was built in a space answer."""
    asked = valid(SpaceActivation, {"ontologies": _names(ontology), "accept_refused": accept_refused})
    return _to_space(request, slug, switching.activate(container, slug, asked))


@router.get("/rollback")
def rollback_page(
    request: Request, container: Open, slug: Name, ontology: Annotated[str, Query(max_length=1000)] = ""
) -> HTMLResponse:
    """Show what would answer again, and which builds would be given up, before it is so."""
    chosen = valid(ChosenOntologies, {"ontologies": _names(ontology)}).ontologies
    switched = container.switch.preview_rollback(slug, chosen)
    space = named_space(container, slug)
    going_back = {each.ontology for each in switched}
    given_up = [each for each in progress_of(request, container, space) if each.ontology in going_back]
    shown = {"slug": slug, "ontology": ontology, "switched": switched, "progress": given_up}
    return render("spaces/rollback.html", {**shown, "for_new": space.for_new})


@router.post("/rollback")
def rollback(request: Request, container: Open, slug: Name, ontology: Chosen = "") -> Response:
    """Let what answered before answer again, or give a build up."""
    asked = valid(ChosenOntologies, {"ontologies": _names(ontology)})
    return _to_space(request, slug, switching.rollback(container, slug, asked))


@router.get("/drop")
def drop_page(container: Open, slug: Name) -> HTMLResponse:
    """Say what dropping a space means, before it is done."""
    return render("spaces/drop.html", {"space": named_space(container, slug)})


@router.post("/drop")
def drop(request: Request, container: Open, slug: Name) -> Response:
    """Have a space removed with all its vectors."""
    note_outcome(request, switching.drop(container, slug))
    return RedirectResponse(SPACES, 303)


def _names(ontology: str) -> list[str] | None:
    return [ontology] if ontology else None


def _to_space(request: Request, slug: str, answer: BaseModel) -> Response:
    note_outcome(request, answer)
    return RedirectResponse(below(SPACES, slug), 303)

"""The pages of embedding spaces: which there are, who uses them, how far they are built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple, get_args

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.bootstrap import Container
from kg_api.errors import NotFound
from kg_api.graph.naming.ontologies import names_of_ontologies
from kg_api.models.embedding.spaces import NewSpace, SpaceInfo
from kg_api.models.library.documents import EmbeddingStatus
from kg_api.models.vocabulary import ImageProvider, Provider
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.routes.embedding.configuration import add_space, list_spaces, ontology_embedding_status
from kg_api.web.routes.embedding.switching import Name
from kg_api.web.ui.links import SPACES, below
from kg_api.web.ui.rendering import render, wants_part
from kg_api.web.ui.routes.embedding.progress import BuildCounts

PROVIDERS: Final = tuple(dict.fromkeys((*get_args(Provider), *get_args(ImageProvider))))
BUILDS_SHOWN: Final = 30
"""Ontologies whose progress is counted for one page."""

Text = Annotated[str, Form(max_length=10_000)]

router = APIRouter(include_in_schema=False)


class BuildProgress(NamedTuple):
    """How far an ontology's vectors are built in a space."""

    ontology: str
    done: int
    total: int


@router.get(SPACES)
def spaces_page(request: Request, container: Open) -> HTMLResponse:
    """Show all spaces, the oldest first; to htmx the list alone."""
    spaces = list_spaces(container).spaces
    shown: dict[str, Any] = {
        "spaces": spaces,
        "progress": {each.slug: progress_of(request, container, each) for each in spaces},
    }
    shown["changes"] = any(map(_changes, spaces))
    if wants_part(request):
        return render("spaces/list.html", shown)
    return render("spaces/page.html", {**shown, "providers": PROVIDERS})


@router.post(SPACES)
def create(
    request: Request,
    container: Open,
    slug: Text = "",
    modality: Text = "text",
    *,
    provider: Text = "",
    model: Text = "",
    dimensions: Annotated[int | None, Form()] = None,
) -> Response:
    """Make a further space, which nothing uses yet."""
    asked = {"slug": slug, "modality": modality, "provider": provider}
    made = add_space(
        container, valid(NewSpace, {**asked, "model": model.strip() or None, "dimensions": dimensions})
    )
    note_outcome(request, made)
    return RedirectResponse(below(SPACES, made.slug), 303)


@router.get(SPACES + "/{slug}")
def space_page(request: Request, container: Open, slug: Name) -> HTMLResponse:
    """Show a space, and what can be done with it; to htmx how far it is."""
    space = named_space(container, slug)
    shown = {"space": space, "progress": progress_of(request, container, space), "changes": _changes(space)}
    if wants_part(request):
        return render("spaces/state.html", shown)
    return render("spaces/one.html", {**shown, "ontologies": names_of_ontologies(container.graph)})


def named_space(container: Container, slug: str) -> SpaceInfo:
    """A space.

    Raises:
        NotFound: there is none of that name.
    """
    for space in list_spaces(container).spaces:
        if space.slug == slug:
            return space
    raise NotFound(f"there is no embedding space {slug!r}; the list of spaces shows those that there are")


def _changes(space: SpaceInfo) -> bool:
    """Whether a worker has it in hand, so that it is worth looking again."""
    return bool(space.building) or space.state == "dropping"


def progress_of(request: Request, container: Container, space: SpaceInfo) -> Sequence[BuildProgress]:
    """How far what is built in a space is, ontology by ontology."""
    counts: BuildCounts = request.app.state.build_counts

    def counted(ontology: str) -> EmbeddingStatus:
        return counts.of(ontology, space.slug, lambda: ontology_embedding_status(container, ontology))

    return [_progress(space, each, counted(each)) for each in space.building[:BUILDS_SHOWN]]


def _progress(space: SpaceInfo, ontology: str, status: EmbeddingStatus) -> BuildProgress:
    counted = status.images if space.modality == "image" and status.images else status
    return BuildProgress(ontology, counted.embedded + counted.refused, counted.total)

"""Pages of embedding configurations and embedding spaces."""

from __future__ import annotations

from typing import Annotated, Any, Final, get_args

from fastapi import Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.container import Container
from kg_api.errors import NotFound
from kg_api.graph.names import list_ontology_names
from kg_api.schemas.concepts import ExtractionConfig
from kg_api.schemas.embedding import ChosenOntologies, EmbeddingConfigChange, SpaceActivation, SpaceBuild
from kg_api.schemas.languages import BETWEEN, LanguageChoice, SynonymList
from kg_api.schemas.spaces import NewSpace, SpaceInfo
from kg_api.schemas.vocabulary import ImageProvider, Provider
from kg_api.web.api import embedding
from kg_api.web.api.documents import put_language, put_synonyms
from kg_api.web.api.embedding import (
    Name,
    add_space,
    get_embedding_config,
    list_spaces,
    ontology_embedding_status,
    put_embedding_config,
    put_extraction_config,
)
from kg_api.web.shared.dependencies import Ontology, Open
from kg_api.web.shared.limits import valid
from kg_api.web.shared.scoped import Routes
from kg_api.web.shared.security import note_outcome
from kg_api.web.ui.links import address, below
from kg_api.web.ui.rendering import FormText, Named, Tick, redirect_to_page, render, wants_part

pages = Routes()

MAX_SYNONYMS = 1_000_000
Number = Annotated[int | None, Form()]


@pages.post(
    "/ui/ontologies/{ontology}/embedding", "admin", "Change the embedding configuration of an ontology"
)
def change_embedding(
    request: Request,
    container: Open,
    ontology: Ontology,
    *,
    strategy: FormText = "",
    chunk_size: Number = None,
    overlap: Number = None,
    parent_size: Number = None,
    context: FormText = "",
    context_template: FormText = "",
    space: FormText = "",
    embed_on_ingest: Tick = False,
    confirmed: FormText = "",
) -> Response:
    """Preview a change, or apply it if the form contains the confirmed fields."""
    form: dict[str, Any] = {"strategy": strategy, "chunk_size": chunk_size, "overlap": overlap}
    form |= {"parent_size": parent_size, "context": context, "context_template": context_template or None}
    form |= {"space": space, "embed_on_ingest": embed_on_ingest}
    changes = {name: form[name] for name in confirmed.split(",") if name in form}
    if not changes:  # a new strategy starts with its own default sizes
        now = get_embedding_config(container, ontology).config.model_dump()
        changes = {name: value for name, value in form.items() if value != now[name]}
    change = valid(EmbeddingConfigChange, changes)
    changed = put_embedding_config(container, ontology, change, dry_run=not confirmed)
    note_outcome(request, changed)
    if confirmed:
        return _to_ontology(ontology, "embedding")
    page = {"embedding": changed, "form": form, "fields": sorted(change.model_fields_set)}
    return render("ontologies/embedding.html", {"ontology": ontology, **page})


@pages.post(
    "/ui/ontologies/{ontology}/extraction", "admin", "Change the configuration for concept extraction"
)
def change_extraction(
    request: Request,
    container: Open,
    ontology: Ontology,
    *,
    extractor: FormText = "",
    per_source: Number = None,
    budget: Annotated[float | None, Form()] = None,
    confirmed: Tick = False,
) -> Response:
    form = {"extractor": extractor or None, "per_source": per_source, "budget": budget}
    change = valid(ExtractionConfig, form)
    changed = put_extraction_config(container, ontology, change, dry_run=not confirmed)
    note_outcome(request, changed)
    if confirmed:
        return _to_ontology(ontology, "extraction")
    return render("ontologies/extraction.html", {"ontology": ontology, "extraction": changed, "form": form})


@pages.post("/ui/ontologies/{ontology}/language", "admin", "Set the language of an ontology")
def change_language(
    request: Request, container: Open, ontology: Ontology, language: FormText = ""
) -> Response:
    choice = valid(LanguageChoice, {"language": language})
    note_outcome(request, put_language(container, ontology, choice))
    return _to_ontology(ontology, "language")


@pages.post("/ui/ontologies/{ontology}/synonyms", "write", "Set the synonyms of an ontology")
def change_synonyms(
    request: Request,
    container: Open,
    ontology: Ontology,
    groups: Annotated[str, Form(max_length=MAX_SYNONYMS)] = "",
) -> Response:
    lines = [each.split(BETWEEN) for each in groups.splitlines() if each.strip()]
    note_outcome(request, put_synonyms(container, ontology, valid(SynonymList, {"groups": lines})))
    return _to_ontology(ontology, "synonyms")


def _to_ontology(ontology: str, done: str) -> Response:
    return RedirectResponse(address(below("/ui/ontologies", ontology), done=done), 303)


# Pages of embedding spaces

PROVIDERS: Final = tuple(dict.fromkeys((*get_args(Provider), *get_args(ImageProvider))))
BUILDS_SHOWN: Final = 30
"""Maximum number of ontologies to show with their progress."""


@pages.get("/ui/spaces", "admin")
def spaces_page(request: Request, container: Open) -> HTMLResponse:
    spaces = list_spaces(container).spaces
    context: dict[str, Any] = {
        "spaces": spaces,
        "progress": {each.slug: list_build_progress(container, each) for each in spaces},
    }
    context["changes"] = any(map(_changes, spaces))
    if wants_part(request):
        return render("spaces/list.html", context)
    return render("spaces/page.html", {**context, "providers": PROVIDERS})


@pages.post("/ui/spaces", "admin", "Create an embedding space")
def create(
    request: Request,
    container: Open,
    slug: FormText = "",
    modality: FormText = "text",
    *,
    provider: FormText = "",
    model: FormText = "",
    dimensions: Annotated[int | None, Form()] = None,
) -> Response:
    fields = {"slug": slug, "modality": modality, "provider": provider}
    made = add_space(
        container, valid(NewSpace, {**fields, "model": model.strip() or None, "dimensions": dimensions})
    )
    return redirect_to_page(request, made, below("/ui/spaces", made.slug))


@pages.get("/ui/spaces/{slug}", "admin")
def space_page(request: Request, container: Open, slug: Name) -> HTMLResponse:
    space = named_space(container, slug)
    context = {
        "space": space,
        "progress": list_build_progress(container, space),
        "changes": _changes(space),
    }
    if wants_part(request):
        return render("spaces/state.html", context)
    before = {name for each in list_spaces(container).spaces for name in each.retiring}
    context["goes_back"] = bool(space.building) or not before.isdisjoint(space.ontologies)
    return render("spaces/one.html", {**context, "ontologies": list_ontology_names(container.graph)})


def named_space(container: Container, slug: str) -> SpaceInfo:
    """Return a space, or raise NotFound."""
    for space in list_spaces(container).spaces:
        if space.slug == slug:
            return space
    raise NotFound(f"embedding space {slug!r} not found. See the list of spaces")


def _changes(space: SpaceInfo) -> bool:
    """Check if a worker is processing the space, to poll this page."""
    return bool(space.building) or space.state == "dropping"


def list_build_progress(container: Container, space: SpaceInfo) -> list[dict[str, Any]]:
    progress: list[dict[str, Any]] = []
    for each in space.building[:BUILDS_SHOWN]:
        status = ontology_embedding_status(container, each)
        counted = status.images if space.modality == "image" and status.images else status
        done = counted.embedded + counted.refused
        progress.append({"ontology": each, "done": done, "total": counted.total})
    return progress


# Actions on embedding spaces


@pages.post("/ui/spaces/{slug}/build", "admin", "Build an embedding space")
def build(
    request: Request,
    container: Open,
    slug: Name,
    ontology: FormText = "",
    *,
    activate_when_built: Tick = False,
    dry_run: Tick = False,
) -> Response:
    fields = {"ontologies": _names(ontology), "activate": activate_when_built, "dry_run": dry_run}
    building = embedding.build(container, slug, valid(SpaceBuild, fields))
    if not dry_run and not building.notes:
        return redirect_to_page(request, building, below("/ui/spaces", slug))
    note_outcome(request, building)
    context = {"building": building, "ontology": ontology, "dry_run": dry_run}
    return render("spaces/build.html", {**context, "activate_when_built": activate_when_built})


@pages.get("/ui/spaces/{slug}/check", "admin")
def check_page(container: Open, slug: Name, ontology: Named = "") -> HTMLResponse:
    found = embedding.check(container, slug, ontology or None)
    return render("spaces/check.html", {"found": found, "ontology": ontology})


@pages.post("/ui/spaces/{slug}/activate", "admin", "Activate an embedding space")
def activate(
    request: Request, container: Open, slug: Name, ontology: FormText = "", *, accept_rejected: Tick = False
) -> Response:
    activation = valid(SpaceActivation, {"ontologies": _names(ontology), "accept_rejected": accept_rejected})
    return redirect_to_page(
        request, embedding.activate(container, slug, activation), below("/ui/spaces", slug)
    )


@pages.get("/ui/spaces/{slug}/rollback", "admin")
def rollback_page(container: Open, slug: Name, ontology: Named = "") -> HTMLResponse:
    chosen = valid(ChosenOntologies, {"ontologies": _names(ontology)}).ontologies
    switched = container.switch.preview_rollback(slug, chosen)
    space = named_space(container, slug)
    going_back = {each.ontology for each in switched}
    given_up = [each for each in list_build_progress(container, space) if each["ontology"] in going_back]
    context = {"slug": slug, "ontology": ontology, "switched": switched, "progress": given_up}
    return render("spaces/rollback.html", {**context, "for_new": space.for_new})


@pages.post("/ui/spaces/{slug}/rollback", "admin", "Roll back an embedding space")
def rollback(request: Request, container: Open, slug: Name, ontology: FormText = "") -> Response:
    chosen = valid(ChosenOntologies, {"ontologies": _names(ontology)})
    return redirect_to_page(request, embedding.rollback(container, slug, chosen), below("/ui/spaces", slug))


@pages.get("/ui/spaces/{slug}/drop", "admin")
def drop_page(container: Open, slug: Name) -> HTMLResponse:
    return render("spaces/drop.html", {"space": named_space(container, slug)})


@pages.post("/ui/spaces/{slug}/drop", "admin", "Drop an embedding space")
def drop(request: Request, container: Open, slug: Name) -> Response:
    return redirect_to_page(request, embedding.drop(container, slug), "/ui/spaces")


def _names(ontology: str) -> list[str] | None:
    return [ontology] if ontology else None

"""Changing how an ontology is set up: what would follow is shown before it is done."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from kg_api.bootstrap import Container
from kg_api.models.concepts.extraction_config import ExtractionConfig
from kg_api.models.embedding.configuration import EmbeddingConfigChange
from kg_api.models.words.language import LanguageChoice
from kg_api.models.words.synonyms import BETWEEN, SynonymList
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Ontology, Open
from kg_api.web.limits.strict_json import valid
from kg_api.web.routes.embedding.configuration import get_embedding_config, put_embedding_config
from kg_api.web.routes.embedding.extraction import put_extraction_config
from kg_api.web.routes.library.language import put_language
from kg_api.web.routes.library.synonyms import put_synonyms
from kg_api.web.ui.links import ONTOLOGIES, address, below
from kg_api.web.ui.rendering import render

MAX_SYNONYMS = 1_000_000
"""Characters of all synonyms of an ontology."""
Text = Annotated[str, Form(max_length=10_000)]
Number = Annotated[int | None, Form()]
Tick = Annotated[bool, Form()]

router = APIRouter(include_in_schema=False, prefix=ONTOLOGIES + "/{ontology}")


@router.post("/embedding")
def change_embedding(
    request: Request,
    container: Open,
    ontology: Ontology,
    *,
    strategy: Text = "",
    chunk_size: Number = None,
    overlap: Number = None,
    parent_size: Number = None,
    context: Text = "",
    context_template: Text = "",
    space: Text = "",
    embed_on_ingest: Tick = False,
    confirmed: Text = "",
) -> Response:
    """Show what a change of how it is embedded would do; do it where that was seen.

    What is confirmed are the fields that were shown, and no others that somebody has changed since.
    """
    form: dict[str, Any] = {"strategy": strategy, "chunk_size": chunk_size, "overlap": overlap}
    form |= {"parent_size": parent_size, "context": context, "context_template": context_template or None}
    form |= {"space": space, "embed_on_ingest": embed_on_ingest}
    shown_before = {name: form[name] for name in confirmed.split(",") if name in form}
    change = valid(EmbeddingConfigChange, shown_before or _differing(container, ontology, form))
    changed = put_embedding_config(container, ontology, change, dry_run=not confirmed)
    note_outcome(request, changed)
    if confirmed:
        return _to_ontology(ontology, "embedding")
    shown = {"embedding": changed, "form": form, "fields": sorted(change.model_fields_set)}
    return render("ontologies/embedding.html", {"ontology": ontology, **shown})


def _differing(container: Container, ontology: str, form: dict[str, Any]) -> dict[str, Any]:
    """What of the form is another than now: the sizes of another strategy are its own until they are set."""
    now = get_embedding_config(container, ontology).config.model_dump()
    return {name: value for name, value in form.items() if value != now[name]}


@router.post("/extraction")
def change_extraction(
    request: Request,
    container: Open,
    ontology: Ontology,
    *,
    extractor: Text = "",
    per_source: Number = None,
    budget: Annotated[float | None, Form()] = None,
    confirmed: Tick = False,
) -> Response:
    """Show what a change of how concepts are found would cost; do it where that was seen."""
    form = {"extractor": extractor or None, "per_source": per_source, "budget": budget}
    change = valid(ExtractionConfig, form)
    changed = put_extraction_config(container, ontology, change, dry_run=not confirmed)
    note_outcome(request, changed)
    if confirmed:
        return _to_ontology(ontology, "extraction")
    return render("ontologies/extraction.html", {"ontology": ontology, "extraction": changed, "form": form})


@router.post("/language")
def change_language(request: Request, container: Open, ontology: Ontology, language: Text = "") -> Response:
    """Index its texts in a language; the page says where that is not complete, and goes on."""
    choice = valid(LanguageChoice, {"language": language})
    note_outcome(request, put_language(container, ontology, choice))
    return _to_ontology(ontology, "language")


@router.post("/synonyms")
def change_synonyms(
    request: Request,
    container: Open,
    ontology: Ontology,
    groups: Annotated[str, Form(max_length=MAX_SYNONYMS)] = "",
) -> Response:
    """Replace all synonyms; a line for each group, as the command line takes them."""
    lines = [each.split(BETWEEN) for each in groups.splitlines() if each.strip()]
    note_outcome(request, put_synonyms(container, ontology, valid(SynonymList, {"groups": lines})))
    return _to_ontology(ontology, "synonyms")


def _to_ontology(ontology: str, done: str) -> Response:
    return RedirectResponse(address(below(ONTOLOGIES, ontology), done=done), 303)

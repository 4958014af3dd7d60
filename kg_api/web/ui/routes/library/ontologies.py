"""The pages of ontologies: which there are, how each is set up, and deleting one."""

from __future__ import annotations

from typing import Final, get_args

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.bootstrap import Container
from kg_api.graph.judgements.library import count_questions
from kg_api.graph.naming.ontologies import unknown_ontology
from kg_api.models.library.documents import EmbeddingStatus
from kg_api.models.vocabulary import ContextMode, ExtractorName, Strategy
from kg_api.models.words.language import LANGUAGE_NAMES
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Ontology, Open
from kg_api.web.routes.embedding.configuration import (
    get_embedding_config,
    ontology_embedding_status,
    refused,
)
from kg_api.web.routes.embedding.extraction import get_extraction_config
from kg_api.web.routes.library.documents import delete_ontology, list_ontologies
from kg_api.web.routes.library.folders import list_folders
from kg_api.web.routes.library.language import get_language
from kg_api.web.routes.library.synonyms import get_synonyms
from kg_api.web.ui.links import ONTOLOGIES
from kg_api.web.ui.rendering import render
from kg_api.web.ui.routes.library.documents import Done

REFUSED_SHOWN: Final = 20
CHOICES: Final = {
    "strategies": get_args(Strategy),
    "contexts": get_args(ContextMode),
    "extractors": get_args(ExtractorName),
    "languages": LANGUAGE_NAMES,
}
"""Of the forms."""

router = APIRouter(include_in_schema=False)


@router.get(ONTOLOGIES)
def ontologies_page(container: Open) -> HTMLResponse:
    """Show all ontologies with what they hold."""
    return render("ontologies/page.html", {"found": list_ontologies(container)})


@router.get(ONTOLOGIES + "/{ontology}")
def ontology_page(container: Open, ontology: Ontology, done: Done = "") -> HTMLResponse:
    """Show how an ontology is embedded, read for concepts and searched by words."""
    status = ontology_embedding_status(container, ontology)
    shown = {
        "ontology": ontology,
        "done": done,
        "status": status,
        "refused": _refused(container, status),
        "embedding": get_embedding_config(container, ontology),
        "extraction": get_extraction_config(container, ontology),
        "language": get_language(container, ontology),
        "synonyms": get_synonyms(container, ontology).groups,
    }
    return render("ontologies/one.html", shown | CHOICES)


@router.get(ONTOLOGIES + "/{ontology}/delete")
def deletion_page(container: Open, ontology: Ontology) -> HTMLResponse:
    """Show what would go with an ontology, before it goes."""
    extraction = get_extraction_config(container, ontology)
    listed = list_ontologies(container)
    held = {each.ontology: each for each in listed.ontologies}
    if ontology not in held:  # it went meanwhile
        raise unknown_ontology(container.graph, ontology)
    shown = {
        "ontology": ontology,
        "held": held[ontology],
        "waiting": listed.waiting.get(ontology, 0),
        "folders": sum(each.ontology == ontology for each in list_folders(container).folders),
        "extraction": extraction,
        "judged": count_questions(container.graph, ontology),
    }
    return render("ontologies/delete.html", shown)


@router.post(ONTOLOGIES + "/{ontology}/delete")
def delete(request: Request, container: Open, ontology: Ontology) -> Response:
    """Delete an ontology with all that is in it."""
    note_outcome(request, delete_ontology(container, ontology))
    return RedirectResponse(ONTOLOGIES, 303)


def _refused(container: Container, status: EmbeddingStatus) -> object:
    """The first sources that the model did not take; they are asked for only where there are any."""
    if not status.refused or status.ontology is None:
        return []
    return refused(container, status.ontology).sources[:REFUSED_SHOWN]

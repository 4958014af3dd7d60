"""The pages of concepts: found, proved by quotes, walked from one to the next, and tied to each other."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from kg_api.bootstrap import Container
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.naming.ontologies import names_of_ontologies, searched
from kg_api.models.base import Text
from kg_api.models.concepts.queries import ConceptHits, ConceptList
from kg_api.models.vocabulary import MAX_HOPS, MAX_PHRASE
from kg_api.web.dependencies import ConceptId, Offset, Open
from kg_api.web.ui.graph.concepts import draw_related, draw_ways
from kg_api.web.ui.links import CONCEPTS
from kg_api.web.ui.rendering import render

FOUND: Final = 20
QUOTES: Final = 20
PAGE_SIZE: Final = 100
PATHS: Final = 5
SoughtPhrase = Annotated[Text, Query(max_length=MAX_PHRASE)]

router = APIRouter(include_in_schema=False)


@router.get(CONCEPTS)
def concepts_page(
    container: Open,
    q: SoughtPhrase = "",
    ontology: Annotated[str, Query(max_length=1000)] = "",
    offset: Offset = 0,
) -> HTMLResponse:
    """Show concepts that fit a phrase; without one, those of an ontology."""
    ontologies = names_of_ontologies(container.graph)
    ontology = ontology or (ontologies[0] if ontologies and not q.strip() else "")
    shown: dict[str, Any] = {"q": q, "ontology": ontology, "ontologies": ontologies}
    shown |= {"hits": None, "listed": None}
    if q.strip():
        shown["hits"] = _found(container, q, ontology)
    elif ontology:
        shown["listed"] = _listed(container, ontology, offset)
    return render("concepts/list.html", shown)


def _found(container: Container, phrase: str, ontology: str) -> ConceptHits:
    within = searched(container.graph, [ontology] if ontology else None)
    return container.concepts.search(phrase, within, FOUND)


def _listed(container: Container, ontology: str, offset: int) -> ConceptList:
    searched(container.graph, [ontology])  # one that is none of theirs is refused
    return container.concepts.page(ontology, offset, PAGE_SIZE)


@router.get(CONCEPTS + "/{concept_id}")
def concept_page(container: Open, concept_id: ConceptId, to: SoughtPhrase = "") -> HTMLResponse:
    """Show a concept: what proves it, what it is related to, and the ways to another one."""
    concept = container.concepts.details(concept_id, QUOTES)
    shown: dict[str, Any] = {"concept": concept, "to": to, "paths": None, "unknown": None}
    shown |= {"drawn": draw_related(concept), "drawn_ways": None}
    if to.strip():
        within = searched(container.graph, [concept.ontology])
        try:
            found = container.concepts.paths(concept.concept_id, to, within, MAX_HOPS, PATHS)
            shown |= {"paths": found, "drawn_ways": draw_ways(found)}
        except (NotFound, InvalidInput) as error:
            shown["unknown"] = str(error)
    return render("concepts/page.html", shown)

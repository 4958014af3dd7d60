"""The page of what a passage stands near to, from which one goes on to the next; and of a document."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from kg_api.bootstrap import Container
from kg_api.errors import NotFound
from kg_api.graph.documents.library import find_summary
from kg_api.graph.search.carried import concepts_of
from kg_api.graph.search.similar import places_of
from kg_api.models.pictures.related import RelatedSearch
from kg_api.models.queries.places import Place
from kg_api.models.queries.similarity import GraphRequest
from kg_api.web.dependencies import CalledRead, Open
from kg_api.web.routes.queries.pictures import related_sources
from kg_api.web.routes.queries.search import get_source, get_source_context, source_graph
from kg_api.web.ui.graph.drawing import draw_around, draw_document, is_elsewhere
from kg_api.web.ui.links import GRAPH
from kg_api.web.ui.rendering import render

BESIDE: Final = 3
"""Paragraphs before and after."""
LOOKED_AT: Final = 60
"""Those of the same document are among them."""
ELSEWHERE: Final = 30
PASSAGES: Final = 1000
"""Of a document; of a longer one the first, which the page says."""
NEIGHBOURS: Final = 3

router = APIRouter(include_in_schema=False)


@router.get(GRAPH + "/{source_id:path}")
def graph_page(container: Open, source_id: CalledRead) -> HTMLResponse:
    """Show what is around a passage; called by a document, how its passages hang together."""
    try:
        centre = get_source(container, source_id)
    except NotFound:
        return _document(container, source_id)
    return _around(container, centre)


def _around(container: Container, centre: Place) -> HTMLResponse:
    beside = get_source_context(container, centre.source_id, BESIDE).sources
    asked = RelatedSearch(kinds=["passage", "image"], limit=LOOKED_AT)
    related = related_sources(container, centre.source_id, asked)
    elsewhere = [each for each in related.sources if is_elsewhere(each)][:ELSEWHERE]
    concepts = concepts_of(container.graph, [each.source_id for each in (*beside, *elsewhere)])
    shown = {"centre": centre, "beside": beside, "elsewhere": elsewhere, "concepts": concepts}
    shown |= {"drawn": draw_around(centre, beside, elsewhere, concepts), "degraded": related.degraded}
    return render("graph/passage.html", shown)


def _document(container: Container, called: str) -> HTMLResponse:
    document = find_summary(container.graph, called)
    asked = GraphRequest(
        documents=[document.document_id],
        across_documents_only=False,
        neighbours=NEIGHBOURS,
        max_nodes=PASSAGES,
    )
    found = source_graph(container, asked)
    passages = places_of(container.graph, [each.source_id for each in found.nodes])
    shown = {"document": document, "found": found, "passages": passages}
    shown |= {"drawn": draw_document(passages, found.edges), "degraded": found.degraded}
    shown |= {"degrees": {each.source_id: each.degree for each in found.nodes}}
    return render("graph/document.html", shown)

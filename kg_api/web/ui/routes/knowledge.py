"""Pages of communities, concepts, the map, proposals, and the graph."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from kg_api.container import Container
from kg_api.errors import InvalidInput, NotFound
from kg_api.graph import proposals as stored_proposals
from kg_api.graph.filters import count_facets
from kg_api.graph.jobs import COMMUNITY_DETECTION, read_embedding_progress
from kg_api.graph.library import find_summary
from kg_api.graph.names import list_ontology_names, list_searched_ontologies
from kg_api.graph.search import read_concepts_of_sources
from kg_api.graph.similar import describe_places
from kg_api.schemas.base import Text
from kg_api.schemas.filters import FacetRequest
from kg_api.schemas.image_search import RelatedSearch
from kg_api.schemas.similarity import GraphRequest
from kg_api.schemas.vocabulary import MAX_HOPS, MAX_PHRASE, ProposalState
from kg_api.spaces.plans import read_embedding_state
from kg_api.web.api.concepts import CommunityId, ProposalId, detect_communities, list_concepts, list_proposals
from kg_api.web.api.documents import list_documents
from kg_api.web.api.search import get_source, get_source_context, related_sources, source_graph
from kg_api.web.shared.dependencies import CalledRead, ConceptId, Offset, Ontology, Open
from kg_api.web.shared.limits import validate
from kg_api.web.shared.routes import Routes
from kg_api.web.shared.security import note_outcome
from kg_api.web.ui.drawing import draw_document, draw_neighbourhood, draw_paths, draw_related
from kg_api.web.ui.links import address
from kg_api.web.ui.rendering import Named, redirect_to_page, render, wants_part

pages = Routes()

PAGE_SIZE: Final = 50
CONCEPTS: Final = 30
PASSAGES: Final = 10


@pages.get("/ui/communities", "read", filtered=True)
def communities_page(container: Open, ontology: Named = "", offset: Offset = 0) -> HTMLResponse:
    ontologies = list_ontology_names(container.graph)
    ontology = ontology or (ontologies[0] if ontologies else "")
    context: dict[str, Any] = {"ontology": ontology, "ontologies": ontologies, "found": None}
    if ontology:
        list_searched_ontologies(container.graph, [ontology])  # reject invisible ontologies
        found = container.communities.list_communities(ontology, offset=offset, limit=PAGE_SIZE)
        context["found"] = found
        if not found.communities:  # check for concepts and a running detection
            detecting = ontology in read_embedding_progress(container.graph, COMMUNITY_DETECTION)
            has_concepts = list_concepts(container, ontology, limit=1).total > 0
            context |= {"has_concepts": has_concepts, "detecting": detecting}
    return render("communities/list.html", context)


@pages.post("/ui/communities/{ontology}/detect", "write", "Detect communities now")
def detect(request: Request, container: Open, ontology: Ontology) -> Response:
    return redirect_to_page(
        request, detect_communities(container, ontology), address("/ui/communities", ontology=ontology)
    )


@pages.get("/ui/communities/{ontology}/detect", "read")
def page_to_detect_on(ontology: Ontology) -> Response:
    return RedirectResponse(address("/ui/communities", ontology=ontology), 303)


@pages.get("/ui/communities/{ontology}/{community_id}", "read")
def community_page(container: Open, ontology: Ontology, community_id: CommunityId) -> HTMLResponse:
    found = container.communities.find(ontology, community_id, concepts=CONCEPTS, passages=PASSAGES)
    return render("communities/page.html", {"community": found})


# Concepts

FOUND: Final = 20
QUOTES: Final = 20
CONCEPTS_PAGE_SIZE: Final = 100
PATHS: Final = 5
SoughtPhrase = Annotated[Text, Query(max_length=MAX_PHRASE)]


@pages.get("/ui/concepts", "read", filtered=True)
def concepts_page(
    container: Open, q: SoughtPhrase = "", ontology: Named = "", offset: Offset = 0
) -> HTMLResponse:
    ontologies = list_ontology_names(container.graph)
    ontology = ontology or (ontologies[0] if ontologies and not q.strip() else "")
    context: dict[str, Any] = {"q": q, "ontology": ontology, "ontologies": ontologies}
    context |= {"hits": None, "listed": None}
    if q.strip():
        within = list_searched_ontologies(container.graph, [ontology] if ontology else None)
        context["hits"] = container.concepts.search(q, within, FOUND)
    elif ontology:
        list_searched_ontologies(container.graph, [ontology])  # reject invisible ontologies
        context["listed"] = container.concepts.list_concepts(ontology, offset, CONCEPTS_PAGE_SIZE)
    return render("concepts/list.html", context)


@pages.get("/ui/concepts/{concept_id}", "read", filtered=True)
def concept_page(container: Open, concept_id: ConceptId, to: SoughtPhrase = "") -> HTMLResponse:
    concept = container.concepts.get_details(concept_id, QUOTES)
    context: dict[str, Any] = {"concept": concept, "to": to, "paths": None, "unknown": None}
    context |= {"drawn": draw_related(concept), "drawn_ways": None}
    if to.strip():
        within = list_searched_ontologies(container.graph, [concept.ontology])
        try:
            found = container.concepts.find_paths(concept.concept_id, to, within, MAX_HOPS, PATHS)
            context |= {"paths": found, "drawn_ways": draw_paths(found)}
        except (NotFound, InvalidInput) as error:
            context["unknown"] = str(error)
    return render("concepts/page.html", context)


# Map of passages

Colour = Literal["document", "date"]
LISTED: Final = 100
SHOWN: Final = 200
"""Maximum number of selected passages to show."""
MAX_IDS: Final = 20_000


@pages.get("/ui/map", "read", filtered=True)
def map_page(container: Open, ontology: Named = "", colour: Colour = "document") -> HTMLResponse:
    ontologies = list_ontology_names(container.graph)
    ontology = ontology or (ontologies[0] if ontologies else "")
    context: dict[str, Any] = {"ontology": ontology, "ontologies": ontologies, "colour": colour}
    context |= {"colours": get_args(Colour), "documents": None, "years": None}
    if ontology:
        list_searched_ontologies(container.graph, [ontology])  # reject invisible ontologies
        read_embedding_state(container.graph, ontology)  # reject missing ontologies
        context |= _build_groups(container, ontology, colour)
    return render("map/page.html", context)


@pages.get("/ui/map/passages", "read", filtered=True)
def chosen_passages(
    container: Open, ids: Annotated[str, Query(max_length=MAX_IDS)] = "", of: Annotated[int, Query(ge=0)] = 0
) -> HTMLResponse:
    """Show the first passages from a selection of `of`."""
    wanted = [each for each in ids.split(",") if each][:SHOWN]
    found = {each.source_id: each for each in describe_places(container.graph, wanted)}
    passages = [found[each] for each in wanted if each in found]
    return render("map/passages.html", {"passages": passages, "of": max(of, len(passages))})


def _build_groups(container: Container, ontology: str, colour: Colour) -> dict[str, Any]:
    if colour == "document":
        return {"documents": list_documents(container, ontology, limit=LISTED)}
    fields = {"fields": [{"field": "date", "by": "year"}], "ontology": [ontology], "limit": LISTED}
    return {"years": count_facets(container.graph, validate(FacetRequest, fields)).facets[0]}


# Link proposals

PROPOSALS_PAGE_SIZE: Final = 20
DECISIONS: Final[dict[str, ProposalState]] = {"accept": "accepted", "reject": "rejected", "undo": "open"}


@pages.get("/ui/proposals", "read", filtered=True)
def proposals_page(
    container: Open, ontology: Named = "", state: ProposalState = "open", offset: Offset = 0
) -> HTMLResponse:
    found = list_proposals(container, ontology or None, None, state, offset=offset, limit=PROPOSALS_PAGE_SIZE)
    context = {"found": found, "ontology": ontology, "state": state, "states": get_args(ProposalState)}
    return render("proposals/page.html", {**context, "ontologies": list_ontology_names(container.graph)})


@pages.post("/ui/proposals/{proposal_id}/{decision}", "write", "Decide on a proposed link", filtered=True)
def decide(
    request: Request, container: Open, proposal_id: ProposalId, decision: Literal["accept", "reject", "undo"]
) -> Response:
    decided = stored_proposals.decide(container.graph, proposal_id, DECISIONS[decision], None)
    note_outcome(request, decided)
    if wants_part(request):
        return render("proposals/one.html", {"proposal": decided})
    return RedirectResponse("/ui/proposals", 303)


# Graph around a passage or of a document

BESIDE: Final = 3
LOOKED_AT: Final = 60
ELSEWHERE: Final = 30
SOURCE_GRAPH_PASSAGES: Final = 1000
"""Maximum number of passages to show in the graph for a document, from the start."""
NEIGHBOURS: Final = 3


@pages.get("/ui/graph/{source_id:path}", "read", filtered=True)
def graph_page(container: Open, source_id: CalledRead) -> HTMLResponse:
    try:
        centre = get_source(container, source_id)
    except NotFound:
        return _read_document(container, source_id)
    beside = get_source_context(container, centre.source_id, BESIDE).sources
    search = RelatedSearch(kinds=["passage", "image"], limit=LOOKED_AT)
    related = related_sources(container, centre.source_id, search)
    elsewhere = [each for each in related.sources if any(way.lane != "document" for way in each.through)][
        :ELSEWHERE
    ]
    concepts = read_concepts_of_sources(container.graph, [each.source_id for each in (*beside, *elsewhere)])
    described = next(iter(describe_places(container.graph, [centre.source_id])), None)
    context = {
        "centre": centre,
        "form": described and described.format,
        "beside": beside,
        "elsewhere": elsewhere,
        "concepts": concepts,
    }
    context |= {
        "drawn": draw_neighbourhood(centre, beside, elsewhere, concepts),
        "degraded": related.degraded,
    }
    return render("graph/passage.html", context)


def _read_document(container: Container, called: str) -> HTMLResponse:
    document = find_summary(container.graph, called)
    graph_request = GraphRequest(
        documents=[document.document_id],
        across_documents_only=False,
        neighbours=NEIGHBOURS,
        max_nodes=SOURCE_GRAPH_PASSAGES,
    )
    found = source_graph(container, graph_request)
    passages = describe_places(container.graph, [each.source_id for each in found.nodes])
    context = {"document": document, "found": found, "passages": passages}
    context |= {"drawn": draw_document(passages, found.edges), "degraded": found.degraded}
    context |= {"degrees": {each.source_id: each.degree for each in found.nodes}}
    return render("graph/document.html", context)

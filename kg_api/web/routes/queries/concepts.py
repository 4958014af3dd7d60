"""Concepts: found, proved, read in their places, brought along, and how they hang together."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from kg_api.graph.naming.ontologies import searched
from kg_api.ingest.concept_import import import_concepts
from kg_api.models.base import NodeId, Text
from kg_api.models.concepts.details import ConceptDetails
from kg_api.models.concepts.imports import ConceptImport, ConceptsImported
from kg_api.models.concepts.merges import ConceptMerge, ConceptMerges, ConceptMergeUndoing
from kg_api.models.concepts.queries import (
    ConceptContext,
    ConceptHits,
    ConceptList,
    ConceptPaths,
    Hops,
    Neighbourhood,
    Phrase,
    RelatedConcepts,
)
from kg_api.models.vocabulary import (
    MAX_EVIDENCE,
    MAX_HOPS,
    MAX_LIMIT,
    MAX_ONTOLOGIES,
    MAX_PASSAGES,
    MAX_PATHS,
    MAX_RELATED,
    MAX_WINDOW,
)
from kg_api.web.dependencies import ConceptId, Offset, Ontology, OntologyFilter, Open, PageSize
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["concepts"], route_class=StrictRoute)

PATH_END = "A concept's id or name, or a phrase for it."
Steps = Annotated[Hops, Query(description="Maximum number of hops.")]
Ontologies = Annotated[
    list[Text] | None,
    Query(min_length=1, max_length=MAX_ONTOLOGIES, description="Further ontologies; repeat for several."),
]
Related = Annotated[int, Query(ge=1, le=MAX_RELATED, description="How many concepts.")]


@router.get("/concepts/search", summary="Search concepts by meaning, words and name")
def search_concepts(
    container: Open,
    query_text: Annotated[Phrase, Query(description="In plain words; no query language.")],
    ontology: OntologyFilter = None,
    ontologies: Ontologies = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of results.")] = 10,
) -> ConceptHits:
    """Give the concepts that fit best; `degraded` says what could not be done.

    A hit without `fits` is only the nearest there is. Several ontologies are searched as one.
    """
    wanted = [*([] if ontology is None else [ontology]), *(ontologies or ())]
    return container.concepts.search(query_text, searched(container.graph, wanted or None), limit)


@router.get("/concepts/paths", summary="Find the shortest paths between two concepts")
def concept_paths(
    container: Open,
    *,
    start: Annotated[Phrase, Query(alias="from", description=PATH_END)],
    end: Annotated[Phrase, Query(alias="to", description=PATH_END)],
    ontology: OntologyFilter = None,
    hops: Steps = MAX_HOPS,
    limit: Annotated[int, Query(ge=1, le=MAX_PATHS, description="Maximum number of paths.")] = 5,
) -> ConceptPaths:
    """Connect two concepts by what texts state, else by sources in which both appear (`appears with`)."""
    within = searched(container.graph, None if ontology is None else [ontology])
    return container.concepts.paths(start, end, within, hops, limit)


@router.get("/concepts/{concept_id}", summary="Get a concept with its evidence")
def get_concept(
    container: Open,
    concept_id: ConceptId,
    limit: Annotated[
        int, Query(ge=1, le=MAX_EVIDENCE, description="How many quotes, and related concepts.")
    ] = 20,
) -> ConceptDetails:
    """Give a concept with the quotes that prove it, each with its place, and what it is related to."""
    return container.concepts.details(concept_id, limit)


@router.get("/concepts/{concept_id}/context", summary="Get the passages in which a concept appears")
def get_concept_context(
    container: Open,
    concept_id: ConceptId,
    window_size: Annotated[int, Query(ge=0, le=MAX_WINDOW, description="Paragraphs before and after.")] = 2,
    limit: Annotated[int, Query(ge=1, le=MAX_PASSAGES, description="How many sources that carry it.")] = 10,
) -> ConceptContext:
    """Give the sources that carry it among their neighbours of one document; windows that touch are one."""
    return container.concepts.context(concept_id, window_size, limit)


@router.get("/concepts/{concept_id}/related", summary="List related concepts")
def get_related_concepts(
    container: Open, concept_id: ConceptId, hops: Steps = 1, limit: Related = 50
) -> RelatedConcepts:
    """Give related concepts, the nearer and those that most sources state first."""
    return container.concepts.related(concept_id, hops, limit)


@router.get(
    "/concepts/{concept_id}/neighbourhood", summary="Get the neighbourhood of a concept as nodes and edges"
)
def get_neighbourhood(container: Open, concept_id: ConceptId, limit: Related = 50) -> Neighbourhood:
    """Give nodes and edges around a concept."""
    return container.concepts.neighbourhood(concept_id, limit)


@router.get("/ontologies/{ontology}/concepts", summary="List the concepts of an ontology")
def list_concepts(
    container: Open, ontology: Ontology, offset: Offset = 0, limit: PageSize = 100
) -> ConceptList:
    """Give concepts, those that most sources carry first."""
    return container.concepts.page(ontology, offset, limit)


@router.post("/ontologies/{ontology}/concepts", summary="Import concepts")
def post_concepts(container: Open, ontology: Ontology, body: ConceptImport) -> ConceptsImported:
    """Tie concepts to the stored sources that say them; `problems` says what has no place.

    What was imported for the same sources before is replaced, so that the same again changes nothing;
    what an extractor found stays.
    """
    return import_concepts(container.graph, ontology, body.rows)


MERGES = "/ontologies/{ontology}/concept-merges"


@router.get(MERGES, summary="List merges of concepts")
def list_concept_merges(
    container: Open,
    ontology: Ontology,
    concept_id: Annotated[NodeId | None, Query(description="Only what became part of this concept.")] = None,
    offset: Offset = 0,
    limit: PageSize = 100,
) -> ConceptMerges:
    """Give what became one and why, the last first; what was undone stays in the list."""
    return container.concept_merges.page(ontology, concept_id, offset, limit)


@router.post(MERGES + "/{merge_id}/undo", summary="Undo a merge of concepts")
def undo_concept_merge(
    container: Open,
    ontology: Ontology,
    merge_id: Annotated[NodeId, Path(description="Id of a merge.")],
    body: ConceptMergeUndoing,
) -> ConceptMerge:
    """Part two concepts for good; doing it twice changes nothing more.

    The merged one gets back what it had. Sources that were read since are read again. 409: the one that
    stayed became part of another since; the message names the merge to undo before.
    """
    return container.concept_merges.undo(ontology, merge_id, body.by)

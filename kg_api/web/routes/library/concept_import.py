"""Concepts that somebody brings."""

from __future__ import annotations

from fastapi import APIRouter

from kg_api.ingest.concept_import import import_concepts
from kg_api.models.concepts.imports import ConceptImport, ConceptsImported
from kg_api.web.dependencies import Ontology, Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["concepts"], route_class=StrictRoute)


@router.post("/ontologies/{ontology}/concepts", summary="Import concepts")
def post_concepts(container: Open, ontology: Ontology, body: ConceptImport) -> ConceptsImported:
    """Tie concepts to the stored sources that say them; `problems` says what has no place.

    What was imported for the same sources before is replaced, so that the same again changes nothing;
    what an extractor found stays.
    """
    return import_concepts(container.graph, ontology, body.rows)

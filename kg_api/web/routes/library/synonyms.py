"""Words that searches of an ontology take for each other."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.openapi.models import Example

from kg_api.graph.fulltext.synonyms import read_synonyms, write_synonyms
from kg_api.models.words.synonyms import SynonymList, Synonyms
from kg_api.web.dependencies import Ontology, Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["library"], route_class=StrictRoute)

GROUPS: dict[str, Example] = {
    "an abbreviation": {"value": {"groups": [["k8s", "kubernetes"], ["ML", "machine learning"]]}},
    "none any more": {"value": {"groups": []}},
}


@router.get("/ontologies/{ontology}/synonyms", summary="Get the synonyms of an ontology")
def get_synonyms(container: Open, ontology: Ontology) -> Synonyms:
    """Give the words that searches by words take for each other, in groups."""
    groups = read_synonyms(container.graph, ontology)
    return Synonyms(ontology=ontology, groups=[[*each] for each in groups])


@router.put("/ontologies/{ontology}/synonyms", summary="Set the synonyms of an ontology")
def put_synonyms(
    container: Open,
    ontology: Ontology,
    synonyms: Annotated[SynonymList, Body(openapi_examples=GROUPS)],
) -> Synonyms:
    """Replace all of them. Searches look for the others of a group at half weight, from a second later on.

    A search of several ontologies uses the synonyms of all of them. Nothing is indexed anew.
    """
    container.graph.transaction(lambda tx: write_synonyms(tx, ontology, synonyms.groups))
    return Synonyms(ontology=ontology, groups=synonyms.groups)

"""The language of an ontology's texts, for full text."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body
from fastapi.openapi.models import Example

from kg_api.graph.fulltext.language import choose_language, read_language
from kg_api.models.words.language import LanguageChoice, OntologyLanguage
from kg_api.web.dependencies import Ontology, Open
from kg_api.web.limits.strict_json import StrictRoute

router = APIRouter(tags=["library"], route_class=StrictRoute)

CHOICES: dict[str, Example] = {
    "German": {"value": {"language": "de"}},
    "told by each text": {"value": {"language": "auto"}},
}


@router.get("/ontologies/{ontology}/language", summary="Get the language of an ontology")
def get_language(container: Open, ontology: Ontology) -> OntologyLanguage:
    """Give the language whose rules full text follows for the forms of words, or `auto`."""
    return read_language(container.graph, ontology)


@router.put("/ontologies/{ontology}/language", summary="Set the language of an ontology")
def put_language(
    container: Open,
    ontology: Ontology,
    choice: Annotated[LanguageChoice, Body(openapi_examples=CHOICES)],
) -> OntologyLanguage:
    """Index its sources in that language; a text of a few words does not tell its own.

    Takes 15 seconds at most: while the answer says that it is not `complete`,
    the same request goes on. Words are found as they stand throughout.
    """
    return choose_language(container.graph, ontology, choice.language)

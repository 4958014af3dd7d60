"""Measuring from a page: judged questions are asked in the service itself."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from kg_api.bootstrap import Container
from kg_api.evaluate.identity import describe_embedding
from kg_api.evaluate.measuring import MeasuredOntology, read_judged
from kg_api.graph.filters.remembered import count_writes
from kg_api.models.vocabulary import SearchMode
from kg_api.web.access.audit import note_outcome
from kg_api.web.dependencies import Measures, Open
from kg_api.web.routes.embedding.configuration import get_embedding_config, list_spaces
from kg_api.web.routes.queries.search import search_sources
from kg_api.web.ui.links import EVALUATIONS, address, below

router = APIRouter(include_in_schema=False)

Modes = Annotated[list[SearchMode], Form(max_length=3)]


@router.post(EVALUATIONS + "/measure")
def measure(
    request: Request,
    container: Open,
    measures: Measures,
    ontology: Annotated[str, Form(max_length=1000)] = "",
    mode: Modes = [],  # noqa: B006 - FastAPI copies it
) -> Response:
    """Ask the judged questions of an ontology in each mode, and show what came of it."""
    look, search = partial(_look, container, ontology), partial(search_sources, container)
    found = measures.measure(ontology, list(dict.fromkeys(mode)), look, search)
    note_outcome(request, found)
    if len(found.names) == 1:
        return RedirectResponse(below(f"{EVALUATIONS}/one", found.names[0]), 303)
    return RedirectResponse(address(f"{EVALUATIONS}/compare", name=found.names), 303)


def _look(container: Container, ontology: str) -> MeasuredOntology:
    writes = count_writes(container.graph)  # first: what is written meanwhile makes it another run
    judged = read_judged(container.graph, ontology)
    embedding = get_embedding_config(container, ontology)
    about = describe_embedding(ontology, embedding, list_spaces(container).spaces)
    return MeasuredOntology({**about, "writes": writes}, judged)

"""All pages, for the service to have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import Depends, FastAPI

from kg_api.web.access.session import check_csrf
from kg_api.web.ui import assets
from kg_api.web.ui.routes.embedding import configuration, spaces, switching
from kg_api.web.ui.routes.evaluation import comparing, judging, measuring, runs
from kg_api.web.ui.routes.knowledge import communities, concepts, passage_map, proposals, source_graph
from kg_api.web.ui.routes.library import documents, folders, ontologies, reading, review
from kg_api.web.ui.routes.operation import explaining, jobs, keys, session
from kg_api.web.ui.routes.queries import asking, search

PAGES = (
    *(search, asking, reading, documents, ontologies, configuration, review, folders, spaces, switching),
    *(concepts, communities, source_graph, passage_map, proposals, jobs, keys, explaining),
    *(judging, runs, comparing, measuring),
)
WITHOUT_KEY = (assets, session)


def mount(app: FastAPI, checks: Sequence[Any]) -> None:
    """Give a service its pages.

    Args:
        app: the service.
        checks: what each page depends on, such as what whoever asks may do.
    """
    app.include_router(assets.router)
    app.include_router(session.router, dependencies=[Depends(check_csrf)])
    for module in PAGES:
        app.include_router(module.router, dependencies=[*checks, Depends(check_csrf)])

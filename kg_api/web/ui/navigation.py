"""What leads from page to page."""

from __future__ import annotations

from typing import Final, NamedTuple

from kg_api.web.ui.links import (
    ASK,
    AUDIT,
    COMMUNITIES,
    CONCEPTS,
    DOCUMENTS,
    EVALUATIONS,
    FOLDERS,
    JOBS,
    KEYS,
    MAP,
    ONTOLOGIES,
    PROPOSALS,
    REVIEW,
    SEARCH,
    SPACES,
)


class PageLink(NamedTuple):
    """A page that the top of every page leads to."""

    href: str
    name: str


PLACES: Final = (
    PageLink(SEARCH, "Search"),
    PageLink(ASK, "Ask"),
    PageLink(DOCUMENTS, "Documents"),
    PageLink(ONTOLOGIES, "Ontologies"),
    PageLink(REVIEW, "Review"),
    PageLink(CONCEPTS, "Concepts"),
    PageLink(COMMUNITIES, "Communities"),
    PageLink(MAP, "Map"),
    PageLink(PROPOSALS, "Proposed links"),
    PageLink(EVALUATIONS, "Evaluations"),
    PageLink(JOBS, "Jobs"),
)
ADMINISTRATION: Final = (
    PageLink(FOLDERS, "Folders"),
    PageLink(SPACES, "Embedding spaces"),
    PageLink(KEYS, "Keys"),
    PageLink(AUDIT, "Audit log"),
)
"""For those who may administer."""

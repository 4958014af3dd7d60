"""What leads from page to page."""

from __future__ import annotations

from typing import Final, NamedTuple

from kg_api.web.ui.links import ASK, AUDIT, COMMUNITIES, CONCEPTS, DOCUMENTS, JOBS, KEYS, PROPOSALS, SEARCH


class PageLink(NamedTuple):
    """A page that the top of every page leads to."""

    href: str
    name: str


PLACES: Final = (
    PageLink(SEARCH, "Search"),
    PageLink(ASK, "Ask"),
    PageLink(DOCUMENTS, "Documents"),
    PageLink(CONCEPTS, "Concepts"),
    PageLink(COMMUNITIES, "Communities"),
    PageLink(PROPOSALS, "Links"),
    PageLink(JOBS, "Jobs"),
)
ADMINISTRATION: Final = (
    PageLink(KEYS, "Keys"),
    PageLink(AUDIT, "Audit log"),
)
"""For those who may administer."""

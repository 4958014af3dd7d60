"""Which spaces a search looks into, and what of each. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kg_api.graph.passages import Filters
from kg_api.graph.spaces import Space
from kg_api.models.identity import document_id
from kg_api.models.search import SourceSearch
from kg_api.models.spaces import FIRST_SLUG
from kg_api.spaces.plans import Plan


@dataclass(frozen=True, slots=True)
class SpaceScope:
    """What is searched by one space's vectors."""

    space: Space
    filters: Filters


@dataclass(frozen=True, slots=True)
class Scope:
    """All that is searched by vectors."""

    spaces: list[SpaceScope]
    elsewhere: dict[str, str]
    """The spaces of ontologies that are not in the first one."""
    left_out: list[str]
    """Ontologies that a client's own vector cannot search."""

    @property
    def slugs(self) -> list[str]:
        """Of the spaces that are searched."""
        return [each.space.slug for each in self.spaces]


def scope_of(request: SourceSearch, filters: Filters, plans: Mapping[str, Plan], first: Space) -> Scope:
    """Group what is asked for by space; with a client's vector only its own space is searched."""
    groups: dict[str, list[str]] = {}
    for name in plans if filters.ontologies is None else filters.ontologies:
        slug = plans[name].space.slug if name in plans else first.slug  # one that is not there finds nothing
        groups.setdefault(slug, []).append(name)
    spaces = {plan.space.slug: plan.space for plan in plans.values()} | {first.slug: first}
    groups = groups or {first.slug: []}
    own = {
        slug: names for slug, names in groups.items() if request.query_vector is None or slug == request.space
    }
    everything = filters.ontologies is None and len(groups) == 1
    return Scope(
        spaces=[
            SpaceScope(spaces[slug], _within(names, filters, request, everything=everything))
            for slug, names in (own or groups).items()
        ],
        elsewhere={name: plan.space.slug for name, plan in plans.items() if plan.space.slug != FIRST_SLUG},
        left_out=sorted(name for slug, names in groups.items() if own and slug not in own for name in names),
    )


def _within(names: list[str], filters: Filters, request: SourceSearch, *, everything: bool) -> Filters:
    if request.documents is not None:
        return Filters(
            names, [document_id(name, document) for name in names for document in request.documents]
        )
    return filters if everything else Filters(names, None)

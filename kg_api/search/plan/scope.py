"""Which spaces a search looks into, and what of each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.graph.search.passages import Filters
from kg_api.graph.spaces.registry import Space
from kg_api.models.embedding.spaces import FIRST_SLUG, SimilarityCalibration
from kg_api.models.queries.search import Degradation, SourceSearch
from kg_api.spaces.plans import OntologySnapshot


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
    """Where the ontologies' vectors are that are not in the first space's first slot."""
    left_out: list[str]
    """Ontologies that a client's own vector cannot search."""
    unknown: Sequence[Degradation] = ()
    """That ontologies or documents which are asked for are not there."""
    answering: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of all ontologies: the space that each answers by."""
    new: str = FIRST_SLUG
    """The space of an ontology that is not there."""
    ontologies: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By space: those that are searched by its model."""

    @property
    def names(self) -> list[str]:
        return [name for names in self.ontologies.values() for name in names]

    def space_of(self, ontology: str) -> str:
        """The space that an ontology answers by."""
        return self.answering.get(ontology, self.new)

    def key_of(self, ontology: str) -> str:
        """The space and slot that an ontology answers by."""
        return self.elsewhere.get(ontology, FIRST_SLUG)

    @property
    def calibrations(self) -> dict[str, SimilarityCalibration | None]:
        """By space: what its model's cosines mean."""
        return {each.space.slug: each.space.calibration for each in self.spaces}

    @property
    def slugs(self) -> list[str]:
        """Of the spaces that are searched."""
        return list(dict.fromkeys(each.space.slug for each in self.spaces))

    def indexes(self, space: Space) -> list[str]:
        """The vector indexes that are asked with a model's vector."""
        return [each.space.index_name for each in self.spaces if each.space.slug == space.slug]

    @property
    def models(self) -> list[Space]:
        """One space for each model that is asked; both slots of a space have the same."""
        return [*{each.space.slug: each.space.at("") for each in self.spaces}.values()]


def scope_of(
    request: SourceSearch,
    filters: Filters,
    known: OntologySnapshot,
    unknown: Sequence[Degradation] = (),
    matching: Mapping[str, Sequence[str]] | None = None,
) -> Scope:
    """Group what is asked for by what answers; with a client's vector only its own space is searched.

    Args:
        request: what is asked for.
        filters: where to look.
        known: all ontologies.
        unknown: what of the filters is not there.
        matching: the documents that the request names or that fit its conditions, by ontology; None: all do.
    """
    answering = known.answering
    spaces = {space.key: space for space in (known.new, *answering.values())}
    groups: dict[str, list[str]] = {}
    for name in answering if filters.ontologies is None else filters.ontologies:
        space = known.space_of(name)  # one that is not there finds nothing
        groups.setdefault(space.key, []).append(name)
    groups = groups or {known.new.key: []}
    own = {
        key: names
        for key, names in groups.items()
        if request.query_vector is None or spaces[key].slug == request.space
    }
    everything = filters.ontologies is None and len(groups) == 1
    searched: dict[str, list[str]] = {}
    for key, names in (own or groups).items():
        searched.setdefault(spaces[key].slug, []).extend(names)
    return Scope(
        spaces=[
            SpaceScope(spaces[key], _within(names, filters, matching, everything=everything))
            for key, names in (own or groups).items()
        ],
        elsewhere={name: space.key for name, space in answering.items() if space.key != FIRST_SLUG},
        unknown=unknown,
        answering={name: space.slug for name, space in answering.items()},
        new=known.new.slug,
        ontologies=searched,
        left_out=sorted(name for key, names in groups.items() if own and key not in own for name in names),
    )


def _within(
    names: list[str],
    filters: Filters,
    matching: Mapping[str, Sequence[str]] | None,
    *,
    everything: bool,
) -> Filters:
    if matching is not None:
        return Filters(names, [each for name in names for each in matching.get(name, ())])
    return filters if everything else Filters(names, None)

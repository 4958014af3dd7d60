"""Parts that are used by all similarity searches: duplicates and scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kg_api.graph.client import Graph
from kg_api.graph.filters import SourceFilter
from kg_api.graph.search import ChunkText, read_chunk_texts
from kg_api.graph.similar import NearSource, VectorPart, describe_places
from kg_api.graph.spaces import Space
from kg_api.schemas.search import Degradation, MatchedChunk, Place
from kg_api.schemas.similarity import Duplicate, SimilarSource
from kg_api.search.rank import group_near_duplicates
from kg_api.search.retrieve import strip_chunk
from kg_api.spaces.snapshot import OntologySnapshot

# Unique sources and their near-duplicates


@dataclass(frozen=True, slots=True)
class Group:
    """Similar source, with copies that are nearly the same."""

    first: NearSource
    near_duplicate: bool  # near-duplicate of the query source
    others: list[NearSource] = field(default_factory=list[NearSource])

    @property
    def duplicates(self) -> list[Duplicate]:
        """Copies, in the format for the response."""
        return [
            Duplicate(**near.place.model_dump(include=_NAMES), similarity=near.similarity)
            for near in self.others
        ]


_NAMES = set(Duplicate.model_fields) - {"similarity"}


def deduplicate_sources(found: Sequence[NearSource], own: str, least: float | None) -> Iterator[NearSource]:
    """Yield the nearest passage for each source and parent, unless it contains the query source.

    Args:
        found: Nearest first.
        own: Id of the query source.
        least: Minimum similarity.
    """
    sources, parents = {own}, set[str]()
    for near in found:
        if least is not None and near.similarity < least:
            return
        if near.place.source_id in sources or own in near.covers or near.parent_id in parents:
            continue
        sources.add(near.place.source_id)
        if near.parent_id is not None:
            parents.add(near.parent_id)
        yield near


def group_duplicates(own: Place, found: Sequence[NearSource], *, together: bool) -> list[Group]:
    """Find sources that are nearly the same as the query source, or as each other.

    Args:
        own: Query source.
        found: Unique sources, nearest first.
        together: Group near-duplicates.
    """
    groups = group_near_duplicates([own.full_text, *(near.place.full_text for near in found)])
    copies = {index - 1 for index in groups[0]}
    if not together:
        return [Group(near, at in copies) for at, near in enumerate(found)]
    members = sorted(filter(None, ([index - 1 for index in group if index] for group in groups)))
    return [Group(found[at], at in copies, [found[other] for other in others]) for at, *others in members]


# Nearest parts of two sources in the response

MAX_PARTS = 16
"""Maximum number of chunks to compare for a source. If it is longer, use chunks at even distances."""


def present_similar(
    graph: Graph, own: Place, parts: list[VectorPart], groups: Iterable[Group]
) -> list[SimilarSource]:
    """Read similar sources, with the texts from their nearest chunks."""
    groups = list(groups)
    wanted = [each.first.chunk_id for each in groups] + [parts[each.first.part].chunk_id for each in groups]
    texts = read_chunk_texts(graph, [identity for identity in wanted if identity is not None])
    fields = {
        place.source_id: place
        for place in describe_places(graph, [each.first.place.source_id for each in groups])
    }
    return [
        SimilarSource(
            **fields.get(group.first.place.source_id, group.first.place).model_dump(),
            similarity=group.first.similarity,
            score=group.first.similarity,
            chunk=to_matched_chunk(group.first.place, group.first.chunk_id, texts),
            own_chunk=to_matched_chunk(own, parts[group.first.part].chunk_id, texts),
            near_duplicate=group.near_duplicate,
            duplicates=group.duplicates,
        )
        for group in groups
    ]


def to_matched_chunk(
    place: Place, chunk_id: str | None = None, texts: Mapping[str, ChunkText] | None = None
) -> MatchedChunk:
    """Get a chunk without whitespace around it. If there is none, use the whole source."""
    whole = ChunkText(place.full_text, place.start, place.end, (place.source_id,))
    # the chunk may have been deleted after retrieval
    return strip_chunk(whole if chunk_id is None else (texts or {}).get(chunk_id, whole))


def sample_evenly(parts: Sequence[VectorPart], most: int) -> list[VectorPart]:
    """Choose `most` parts at even distances. If there are fewer, use all."""
    if len(parts) <= most:
        return list(parts)
    return [parts[int(at)] for at in np.linspace(0, len(parts) - 1, most)]


# Comparable ontologies: same model, as far as embedded

MAX_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Comparable:
    """Ontologies and documents that can be compared, because they use the same model."""

    space: Space
    slots: list[tuple[Space, list[str]]]
    """Index slots to use in the space, with their ontologies. Both slots have the same model."""
    elsewhere: list[str]  # ontologies of other models
    unknown: list[Degradation] = field(default_factory=list[Degradation])
    """Notes on filters that do not match any document."""
    documents: Sequence[str] | None = None
    sources: SourceFilter = field(default_factory=SourceFilter)

    @property
    def ontologies(self) -> list[str]:
        return [name for _, names in self.slots for name in names]

    def degradations(self) -> list[Degradation]:
        """Add a note if there are ontologies that cannot be compared."""
        if not self.elsewhere:
            return self.unknown
        more = " and more" if len(self.elsewhere) > MAX_SHOWN else ""
        effect = (
            "vectors of two models cannot be compared, so kg skipped ontologies that do not use the "
            f"space {self.space.slug!r}: {', '.join(self.elsewhere[:MAX_SHOWN])}{more}"
        )
        return [*self.unknown, Degradation(part="vectors", effect=effect)]


def build_comparable(space: Space, wanted: Sequence[str] | None, known: OntologySnapshot) -> Comparable:
    """Build the scope that can be compared with a space, in each slot.

    Raises:
        NotFound: A requested ontology does not exist.
    """
    known.require_known(wanted)
    spaces = known.answering
    names = [name for name in (spaces if wanted is None else wanted) if name in spaces]
    slots: dict[str, tuple[Space, list[str]]] = {}
    for name in names:
        if spaces[name].slug == space.slug:
            slots.setdefault(spaces[name].key, (spaces[name], []))[1].append(name)
    elsewhere = sorted(name for name in names if spaces[name].slug != space.slug)
    return Comparable(space, list(slots.values()), elsewhere)

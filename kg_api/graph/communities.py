"""The concepts of an ontology and what carries them, read in portions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from kg_api.errors import NotFound
from kg_api.graph.client import Graph, Reader, Row, Transaction
from kg_api.graph.names import MAX_OFFERED, only_one, unknown_ontology
from kg_api.schemas.communities import CommunityConcept, CommunityDocument, CommunityPassage
from kg_api.schemas.search import Place

PORTION: Final = 5000
"""Concepts, or sources, that are read in one round trip."""
FEWEST_TIES: Final = 2
"""A concept of one source and no relationship belongs to nothing but that source."""


@dataclass(frozen=True, slots=True)
class OntologySize:
    concepts: int
    relationships: int
    sources: int
    written: int
    """Sources of documents that were written since the time that was given."""
    at: datetime
    """When it was counted, by the database's clock."""


@dataclass(frozen=True, slots=True)
class TiedConcept:
    """A concept that may be in a community."""

    concept_id: str
    related: list[tuple[str, int]]
    """Concepts that relationships or links go to, and how many."""


def read_size(graph: Graph, ontology: str, since: datetime | None = None) -> OntologySize:
    row = graph.read("communities/size", ontology=ontology, since=since)[0]
    return OntologySize(**{**row, "at": row["at"].to_native()})


def fewest_ties(graph: Graph, ontology: str, most: int) -> int:
    """How many ties a concept must have, two at least, so that no more concepts than that have them.

    Ties are the sources that carry it, and its relationships and links.
    """
    chosen, least = 0, FEWEST_TIES
    for row in graph.read("communities/ties", ontology=ontology):
        chosen += row["concepts"]
        if chosen > most:
            return max(least, row["ties"] + 1)
    return least


def read_tied(graph: Graph, ontology: str, least: int) -> Iterator[list[TiedConcept]]:
    """The concepts of so many ties, in the order of their ids, by portions."""
    after = ""
    while rows := graph.read(
        "communities/concepts", ontology=ontology, after=after, least=least, limit=PORTION
    ):
        after = rows[-1]["concept_id"]
        yield [
            TiedConcept(row["concept_id"], [(other, times) for other, times in row["related"]])
            for row in rows
            if row["tied"]
        ]


def read_carried(graph: Graph, ontology: str) -> Iterator[list[list[str]]]:
    """The ids of the concepts that each source carries, in reading order, by portions of sources."""
    place = {"after": "", "after_paragraph": -1}
    while rows := graph.read("communities/sources", ontology=ontology, **place, limit=PORTION):
        place = {"after": rows[-1]["document_id"], "after_paragraph": rows[-1]["paragraph"]}
        yield [row["concept_ids"] for row in rows]


# Communities as they are written: a generation at a time, which nobody sees before it is whole.

MAX_NAMED: Final = 10
"""Concepts of which a community takes its name: more than a name has, for some may go."""
DISCARDED_AT_ONCE: Final = 5000


@dataclass(frozen=True, slots=True)
class NewCommunity:
    """A community that was found."""

    community_id: str
    level: int
    place: int
    """Among those of its level, the largest first."""
    parent_id: str | None
    inside: float
    """Of the weight of its concepts' edges, the share within."""


@dataclass(frozen=True, slots=True)
class NewMembership:
    """That a concept is in a community."""

    community_id: str
    place: int
    """Among its members, those first that are most its own."""
    weight: float


@dataclass(frozen=True, slots=True)
class Member:
    """A concept with all communities that it is in, one of each level."""

    concept_id: str
    communities: tuple[NewMembership, ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """What is written together, and where."""

    ontology: str
    generation: str

    def parameters(self) -> dict[str, str]:
        """As statements take them."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class StoredState:
    """What was made of an ontology's communities."""

    ontology: str
    summary: str | None
    """JSON; none: none were made yet."""
    at: datetime | None
    """When the concepts were read that they are of."""


def read_states(graph: Reader, names: Sequence[str] | None = None) -> list[StoredState]:
    """The states of some ontologies, or of all, in the order of their names."""
    return [state_of(row) for row in graph.read("communities/state", names=names)]


def read_state(graph: Reader, ontology: str) -> StoredState:
    """The state of one.

    Raises:
        NotFound: there is no such ontology.
    """
    found = read_states(graph, [ontology])
    if not found:
        raise unknown_ontology(graph, ontology)
    return found[0]


def begin_generation(tx: Transaction, made: Generation) -> bool:
    """From now on no other generation of the ontology can be written; False where the ontology has gone."""
    return bool(tx.run("communities/begin", **made.parameters()))


def write_communities(tx: Transaction, made: Generation, communities: Sequence[NewCommunity]) -> bool:
    """Write some communities; False where another generation was begun, or the ontology has gone."""
    held = _hold(tx, made)
    if held:
        tx.run("communities/write", **made.parameters(), rows=[asdict(each) for each in communities])
    return held


def write_members(tx: Transaction, made: Generation, members: Sequence[Member]) -> bool:
    """Write in which communities some concepts are, given in the order of their ids.

    Returns:
        False where another generation was begun, or the ontology has gone: nothing was written.
    """
    held = _hold(tx, made)
    if held:
        rows = [asdict(each) for each in members]
        tx.run("communities/write_members", **made.parameters(), rows=rows, named=MAX_NAMED)
    return held


def publish(tx: Transaction, made: Generation, summary: str, at: datetime) -> bool:
    """Show a generation instead of the one before. Doing it twice changes nothing.

    Returns:
        False where another generation was begun, or the ontology has gone.
    """
    return bool(tx.run("communities/publish", **made.parameters(), summary=summary, at=at))


def discard_portion(tx: Transaction, ontology: str) -> int:
    """Delete some of what is neither shown nor being made; how much, 0 at the end."""
    limit = DISCARDED_AT_ONCE
    gone = tx.run("communities/discard_members", ontology=ontology, limit=limit)
    if not gone or gone[0]["discarded"]:
        return gone[0]["discarded"] if gone else 0
    return tx.run("communities/discard", ontology=ontology, limit=limit)[0]["discarded"]


def _hold(tx: Transaction, made: Generation) -> bool:
    return bool(tx.run("communities/hold", **made.parameters()))


def state_of(row: Row) -> StoredState:
    """What a row tells of an ontology: `ontology`, `communities`, `at`."""
    at = row["at"]
    return StoredState(row["ontology"], row["communities"], at.to_native() if at else None)


# Communities as they are shown: always of one whole generation.

CENTRAL: Final = 30
"""Concepts of a community by which passages are chosen, those that are most its own."""


def page_of_communities(
    graph: Reader, ontology: str, *, level: int, parent_id: str | None, offset: int, limit: int
) -> tuple[StoredState, list[Row], int]:
    """Communities of a level, or the parts of one, the largest first.

    Returns:
        What is known of their generation, those of the page, and how many there are in all.

    Raises:
        NotFound: there is no such ontology.
    """
    given = {"level": level, "parent_id": parent_id, "offset": offset, "limit": limit}
    rows = graph.read("communities/page", ontology=ontology, **given)
    if not rows:
        raise unknown_ontology(graph, ontology)
    return state_of(rows[0]), rows[0]["found"], rows[0]["total"]


def find_community(graph: Reader, ontology: str, called: str) -> Row:
    """The community of an ontology whose id is, or begins with, some digits; with its `generation`.

    Raises:
        NotFound: there is none, or no such ontology.
        Conflict: there are several.
    """
    rows = graph.read("communities/find", ontology=ontology, prefix=called, limit=MAX_OFFERED)
    found = only_one("community_id", called, [row["community"] for row in rows])
    if found is None:
        read_state(graph, ontology)
        raise NotFound(
            f"{ontology} has no community {called!r}: it may have changed since; "
            f"`kg communities list --ontology {ontology}` shows the existing ones"
        )
    return {**found, "computed_at": rows[0]["at"].to_native()}


def members_of(graph: Graph, community: Row, *, offset: int, limit: int) -> list[CommunityConcept]:
    """Concepts of a community, those first that are most its own."""
    rows = graph.read("communities/members", **_key(community), offset=offset, limit=limit)
    return [CommunityConcept.model_validate(row) for row in rows]


def passages_of(graph: Graph, community: Row, limit: int) -> list[CommunityPassage]:
    """The passages that say most of what a community is about."""
    rows = graph.read("communities/passages", **_key(community), most_concepts=CENTRAL, limit=limit)
    return [
        CommunityPassage(weight=row["weight"], concepts=row["concepts"], source=Place.model_validate(row))
        for row in rows
    ]


def documents_of(graph: Graph, community: Row, limit: int) -> list[CommunityDocument]:
    """The documents that say most of what a community is about."""
    rows = graph.read("communities/documents", **_key(community), most_concepts=CENTRAL, limit=limit)
    return [CommunityDocument.model_validate(row) for row in rows]


def _key(community: Row) -> dict[str, Any]:
    return {name: community[name] for name in ("generation", "community_id")}

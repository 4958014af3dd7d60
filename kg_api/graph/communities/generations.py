"""Communities as they are written: a generation at a time, which nobody sees before it is whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from kg_api.graph.database import Reader, Row, Transaction
from kg_api.graph.naming.ontologies import unknown_ontology

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

"""The vocabulary of relationships: their types, what may be merged, and what was."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, cast

from pydantic import Field, StringConstraints

from kg_api.models.base import VISIBLE, Answer, Body, Flag, Page, Text
from kg_api.models.concepts.relations import TypeName
from kg_api.models.identity import concept_name
from kg_api.models.vocabulary import MAX_MERGED_TYPES, Stance

Person = Annotated[Text, StringConstraints(max_length=100), *VISIBLE]
"""Who does it, as they call themselves."""
_SAID: Final[dict[Stance, tuple[str, ...]]] = {
    "supports": (
        *("supports", "support", "confirms", "corroborates", "proves", "demonstrates", "verifies"),
        *("is evidence for", "agrees with", "is consistent with", "substantiates"),
    ),
    "contradicts": (
        *("contradicts", "contradict", "refutes", "disproves", "disputes", "denies", "rejects"),
        *("is evidence against", "disagrees with", "conflicts with", "is inconsistent with", "rebuts"),
    ),
    "supported by": ("supported by", "is supported by", "confirmed by", "is confirmed by", "proved by"),
    "contradicted by": (
        *("contradicted by", "is contradicted by", "refuted by", "is refuted by", "disputed by"),
    ),
}
STANCES: Final[Mapping[str, Stance]] = MappingProxyType(
    {concept_name(name): stance for stance, names in _SAID.items() for name in names}
)
"""By folded name, what a type says for or against where nobody has said otherwise; all others say nothing."""


def stance_of(name: str, given: str | None) -> Stance:
    """What a type says for or against: what was said of it, else by its name."""
    return cast("Stance", given) if given else STANCES.get(concept_name(name), "neutral")


class RelationshipType(Answer):
    """A type of relationships, as an ontology's sources state them."""

    name: str
    relations: int
    """How many are stated with it, those of types that were merged into it among them."""
    also: list[str]
    """The types that were merged into it."""
    stance: Stance
    """What it says for or against the concept it goes to, or comes from; `neutral`: nothing."""
    embedded: bool


class RelationshipTypes(Page):
    """Some of an ontology's types, the most frequent first."""

    ontology: str
    types: list[RelationshipType]


class LikeType(Answer):
    """A type that may say the same as another."""

    name: str
    relations: int
    similarity: float
    """Cosine of both names."""
    shared: int
    """Pairs of concepts of which both types are stated: of two that say the same there are more."""
    examples: list[str]


class TypeProposal(Answer):
    """Types that may become one."""

    into: str
    """The most frequent of them."""
    relations: int
    examples: list[str]
    merged: list[LikeType]


class TypeProposals(Answer):
    """What might be merged; nothing is, before somebody says so."""

    ontology: str
    min_similarity: float
    compared: int
    """So many types, the most frequent that are embedded."""
    proposals: list[TypeProposal]
    notes: list[str]


class TypeMerging(Body):
    """Make one type of several."""

    into: TypeName
    merged: Annotated[list[TypeName], Field(min_length=1, max_length=MAX_MERGED_TYPES)]
    by: Person | None = None
    dry_run: Flag = False
    """Only say what would follow."""


class TypeMergeUndoing(Body):
    """Take a merge of types back."""

    by: Person | None = None


class StanceChange(Body):
    """Say what a type speaks for."""

    type: TypeName
    stance: Stance | None
    """None: by its name again."""


class TypeMerge(Answer):
    """A record: which types became one, by whom and when."""

    merge_id: str | None
    """None: a dry run."""
    ontology: str
    into: str
    merged: list[str]
    relations: int
    """How many were of the merged types then."""
    by: str | None
    at: datetime | None
    undone_at: datetime | None = None
    undone_by: str | None = None
    stance_changes: int = 0
    """How many of them say something else for or against concepts as the one type; not told in the record."""
    notes: list[str] = Field(default_factory=list[str])


class TypeMerges(Page):
    """What was merged in an ontology, the last first."""

    ontology: str
    merges: list[TypeMerge]

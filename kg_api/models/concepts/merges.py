"""Concepts that became one: the record, and taking it back."""

from __future__ import annotations

from datetime import datetime

from kg_api.models.base import Answer, Body, Page
from kg_api.models.concepts.vocabulary import Person


class ConceptMergeUndoing(Body):
    """Take a merge of concepts back."""

    by: Person | None = None


class ConceptMerge(Answer):
    """A record: which concept became part of which, why and when."""

    merge_id: str
    ontology: str
    concept_id: str
    """Of the concept that stayed."""
    into: str
    """Its label then."""
    merged: str
    """The label of the one that became part of it."""
    sources: int
    """How many carried the merged one."""
    reason: str | None
    """How both are called: `plural`, `hyphen`, `acronym`, `alias` and so on (ADR 22)."""
    similarity: float | None
    """Cosine of both."""
    at: datetime
    undone_at: datetime | None = None
    undone_by: str | None = None
    undoable: bool = True
    """Not where it is undone, or had so many sources that what it moved is not recorded."""


class ConceptMerges(Page):
    """What became one in an ontology, the last first."""

    ontology: str
    merges: list[ConceptMerge]

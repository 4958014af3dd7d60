"""What all tools' answers share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field

from kg_api.mcp.citation import CitationPlace, read_citation
from kg_api.mcp.invisible import invisible_in
from kg_api.models.base import Answer
from kg_api.models.queries.places import SourcePlace
from kg_api.models.queries.search import Degradation
from kg_api.models.vocabulary import SourceKind


class More(Answer):
    """What is left, and how to get it."""

    left: int
    """How many items are not in this answer, or not wholly."""
    cursor: str
    how: str


@dataclass(frozen=True, slots=True)
class InlineImage:
    """A picture that stands behind the text of an answer."""

    content: bytes
    content_type: str


class ToolAnswer(Answer):
    """An answer that may go on."""

    degraded: list[Degradation] = Field(default_factory=list[Degradation])
    """What could not be done, and what was done instead."""
    more: More | None = None
    """Unset: this is all."""
    shown: list[InlineImage] = Field(default_factory=list[InlineImage], exclude=True)
    """Sent as blocks of their own, and then without structured content: clients that know that show nothing
    else."""


class Passage(Answer):
    """Text of a document, unchanged, and where it stands."""

    citation: str
    """Cite the passage by this; get_source_context takes it."""
    text: str
    continues: bool | None = None
    """The text goes on in the next answer."""
    invisible: list[str] | None = None
    """Invisible characters."""

    def model_post_init(self, context: Any, /) -> None:
        """Mark the text; it stays as it is."""
        del context
        self.invisible = invisible_in(self.text) or None

    def between(self, start: int, end: int) -> Self:
        """A part of it with its own citation; `start` and `end` are code points of the text."""
        if (start, end) == (0, len(self.text)):
            return self
        cited = read_citation(self.citation)[1]
        text = self.text[start:end]
        part: dict[str, Any] = {"text": text, "continues": end < len(self.text) or None}
        part["invisible"] = invisible_in(text) or None
        if cited is not None:
            part["citation"] = str(cited.part(start, end))
        return self.model_copy(update=part)


def cite(source_id: str, start: int, end: int) -> str:
    """The citation id of a place."""
    return str(CitationPlace(source_id, start, end))


def kind_of(place: SourcePlace) -> SourceKind | None:
    """What a source is, where that is to be told: no passage."""
    return None if place.kind == "passage" else place.kind

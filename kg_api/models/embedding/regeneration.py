"""Making embeddings anew: what is asked for, and what came of it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kg_api.models.base import Answer, Body, Flag, OntologyName
from kg_api.models.embedding.configuration import Cost
from kg_api.models.queries.filters import Where
from kg_api.models.vocabulary import EmbeddedKind, Selection


class Regeneration(Body):
    """Which embeddings are to be made."""

    ontology: OntologyName | None = None
    """Unset: all ontologies."""
    type: EmbeddedKind | Literal["all"] = "source"
    """What of; this version embeds sources, with their chunks, concepts and pictures."""
    selection: Selection = "due"
    """`missing`: what was never embedded; `stale`: what was embedded another way; `due`: both."""
    force: Flag = False
    """Make anew what is right as well, without the cache."""
    where: Annotated[Where, Field(min_length=1)] | None = None
    """Only sources of documents for which all of these hold; with `force`: what is due is embedded anyhow."""
    dry_run: Flag = False
    """Only say what it would take."""

    @model_validator(mode="after")
    def _allow_filter(self) -> Self:
        if self.where and not (self.force and self.type == "source"):
            raise ValueError(
                "a filter says which sources are embedded anew: ask for it with force, and with type source; "
                "what is missing or stale is embedded without being chosen"
            )
        return self


class Regenerated(Answer):
    """What is done about one ontology."""

    ontology: str
    type: EmbeddedKind
    due: int
    """Sources, concepts or pictures to embed."""
    job_id: str | None
    """None for a dry run, and when nothing is to be done."""
    cost: Cost | None
    """Of a dry run."""


class RegenerationStarted(Answer):
    """What is done about all that was asked for."""

    due: int
    ontologies: list[Regenerated]
    notes: list[str] = Field(default_factory=list[str])

"""Changing the embedding space of ontologies while people search."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kg_api.models.base import Answer, Body, Flag, OntologyName
from kg_api.models.embedding.configuration import Cost
from kg_api.models.vocabulary import MAX_NAMES

Names = Annotated[list[OntologyName], Field(min_length=1, max_length=MAX_NAMES)]


class ChosenOntologies(Body):
    """Which ontologies are meant."""

    ontologies: Names | None = None
    """Unset: all that it can be done to."""


class SpaceActivation(ChosenOntologies):
    """Let what was built answer."""

    accept_refused: Flag = False
    """Though the model does not take some texts that answer now; they are found by full text only then."""


class SpaceBuild(ChosenOntologies):
    """Build the vectors of a space beside those that answer."""

    activate: Flag = False
    """Let each ontology's new vectors answer by themselves as soon as they are complete."""
    dry_run: Flag = False
    """Only say what it would take."""


class Build(Answer):
    """One ontology's vectors, being built."""

    ontology: str
    answering: str
    """The space that answers until then."""
    due: int
    job_id: str | None
    cost: Cost | None
    """Of a dry run."""


class SpaceBuilding(Answer):
    """What is being built in a space."""

    slug: str
    builds: list[Build]
    notes: list[str] = Field(default_factory=list[str])


class Finding(Answer):
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str


class SpaceCheck(Answer):
    """Whether what was built in a space can answer."""

    slug: str
    ok: bool
    findings: list[Finding]


class SwitchedOntology(Answer):
    """An ontology that is answered by another space now."""

    ontology: str
    before: str
    now: str


class SpaceSwitched(Answer):
    """What was switched, in one transaction."""

    slug: str
    ontologies: list[SwitchedOntology]
    space_of_new: str
    """The space of ontologies that nobody has configured."""
    seconds: float
    """How long the transaction took."""
    notes: list[str] = Field(default_factory=list[str])


class SpaceDropped(Answer):
    """A space that is being removed."""

    slug: str
    ontologies: list[str]
    """Whose vectors go; of all that have any when the whole space goes."""
    job_id: str
    notes: list[str] = Field(default_factory=list[str])

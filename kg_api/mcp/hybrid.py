"""Finding concepts and passages together."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kg_api.mcp.answers import Listing, Paged, Pager, ToolAnswer
from kg_api.mcp.library import Library
from kg_api.mcp.search import PassageHit, hit_of
from kg_api.mcp.tool import Tool
from kg_api.schemas.answers import HybridSearch
from kg_api.schemas.base import Answer
from kg_api.schemas.concepts import ConceptHit
from kg_api.schemas.filters import Limit
from kg_api.schemas.problems import valid
from kg_api.schemas.search import SourceHit
from kg_api.schemas.vocabulary import MAX_NAMES, MAX_QUERY_CHARACTERS, HybridMode

NAME = "hybrid_search"
MAX_CONCEPTS = 20
MAX_DESCRIPTION_LENGTH = 200
DESCRIPTION = """\
Find concepts and passages together. Use it when an answer has to be put together from several passages, \
such as "who founded the company that made X": concepts lead from a passage about one thing to those about \
another.

Each passage names the concepts that it carries and those `through` which it came. To see where a concept \
stands use get_concept_context with its concept_id. For a plain question search_sources is enough."""


class HybridArguments(Paged):
    """What to find."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)]
    """A question or words to look for; no query language."""
    ontologies: Annotated[list[str], Field(min_length=1, max_length=MAX_NAMES)] | None = None
    """Only in these collections; unset: all."""
    documents: Annotated[list[str], Field(min_length=1, max_length=MAX_NAMES)] | None = None
    """Only in these documents: names, ONTOLOGY/NAME or ids."""
    where: list[str] | None = None
    """Conditions: `date>=2025-01-01`, `tags=oncall`, `page=2`, `kind=image`."""
    concept_limit: Annotated[int, Field(strict=True, ge=0, le=MAX_CONCEPTS)] = 5
    """How many concepts."""
    source_limit: Limit = 10
    """How many passages."""
    mode: HybridMode = "hybrid"
    """`hybrid`: meaning, words, concepts; `graph`: concepts from hit 6 on; `concept`: concepts;
    `source`: none; `text`: words."""


class ConceptMatch(Answer):
    """A concept that was found."""

    concept_id: str
    label: str
    description: str | None = None
    sources: int
    """How many passages carry it."""
    unverified: bool | None = None
    """No quote proves it."""


class HybridHit(PassageHit):
    """A passage that was found."""

    concepts: list[str] = Field(default_factory=list[str])
    """Labels of concepts that it carries."""
    through: list[str] | None = None
    """Labels of the concepts that brought it."""


class HybridAnswer(ToolAnswer):
    """What was found."""

    notes: list[str] | None = None
    """That no passage is near the question, or no concept fits it."""
    concepts: list[ConceptMatch]
    """The best first; in the first answer only."""
    hits: list[HybridHit]
    """The best first."""


def search(library: Library, arguments: HybridArguments) -> HybridAnswer:
    """Find both."""
    walk = Pager(NAME, arguments)
    same = arguments.model_dump(include={"documents", "where", "mode", "concept_limit", "source_limit"})
    given = {"query_text": arguments.query, "ontology": arguments.ontologies}
    asked = {**given, "collapse_duplicates": True, **same}
    found = library.hybrid(valid(HybridSearch, asked))
    concepts = [_concept(each) for each in found.concepts] if arguments.cursor is None else []
    told = [each for each in (found.note, found.concepts_note) if each]
    frame = HybridAnswer(concepts=concepts, hits=[], notes=told or None, degraded=found.degraded)
    hits = [_hit(each) for each in found.sources]
    frame.hits, frame.more = walk.step(frame, Listing(hits, [hit.citation for hit in hits], "hits"))
    return frame


def _hit(found: SourceHit) -> HybridHit:
    return HybridHit(
        **dict(hit_of(found)),
        concepts=[each.label for each in found.concepts],
        through=[each.label for each in found.through] or None,
    )


def _concept(found: ConceptHit) -> ConceptMatch:
    return ConceptMatch(
        concept_id=found.concept_id,
        label=found.label,
        description=found.description[:MAX_DESCRIPTION_LENGTH] or None,
        sources=found.sources,
        unverified=not found.verified or None,
    )


TOOL = Tool(NAME, "Search concepts and passages", DESCRIPTION, HybridArguments, HybridAnswer, search)

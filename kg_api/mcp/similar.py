"""Finding passages that are like one."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kg_api.mcp.answers import Listing, Paged, Pager, Passage, ToolAnswer, called, cite
from kg_api.mcp.library import Library
from kg_api.mcp.tool import Tool
from kg_api.schemas.base import Flag
from kg_api.schemas.filters import Limit
from kg_api.schemas.problems import valid
from kg_api.schemas.similarity import SimilarSearch, SimilarSource
from kg_api.schemas.vocabulary import MAX_NAMES

NAME = "find_similar_sources"
DESCRIPTION = """\
Find passages of other documents that say something like a passage at hand.

Use it after search_sources, with the citation of a hit: to see who else says so, to compare documents, or \
to find copies (`near_duplicate`). It takes a passage, not a question; for a question use search_sources."""


class SimilarArguments(Paged):
    """What to compare with."""

    citation: Annotated[str, Field(min_length=1, max_length=1101)]
    """Citation or source id of the passage at hand, or ONTOLOGY/DOCUMENT#PARAGRAPH."""
    ontologies: Annotated[list[str], Field(min_length=1, max_length=MAX_NAMES)] | None = None
    """Only in these collections; unset: all."""
    where: list[str] | None = None
    """Conditions: `date>=2025-01-01`, `tags=oncall`, `page=2`, `kind=image`."""
    limit: Limit = 10
    """How many passages."""
    min_similarity: Annotated[float, Field(ge=-1, le=1, allow_inf_nan=False)] | None = None
    """Leave out what is less similar, by cosine."""
    same_document: Flag = False
    """Look in the passage's own document too."""


class Similar(Passage):
    """A passage that is like the one asked for."""

    ontology: str
    document: str
    heading: list[str] = Field(default_factory=list[str])
    """The headings above it, from the top."""
    similarity: float | None = None
    """Cosine of both, -1 to 1; unset where only words were compared."""
    ocr_confidence: float | None = None
    """Where OCR read it from a picture: how sure it is of the words, 0 to 1."""
    near_duplicate: bool
    """Whether it says almost the same."""
    duplicates: list[str] | None = None
    """Ids of sources that say almost the same as this one, and were left out."""


class SimilarAnswer(ToolAnswer):
    """What is like a passage."""

    source: str
    """Citation of the whole paragraph that was compared."""
    similar: list[Similar]
    """The most similar first."""


def similar(library: Library, arguments: SimilarArguments) -> SimilarAnswer:
    """Find similar passages."""
    walk = Pager(NAME, arguments)
    source_id, _ = called(arguments.citation)
    same = arguments.model_dump(include={"limit", "min_similarity", "same_document", "where"})
    asked = {"ontology": arguments.ontologies, **same}
    found = library.similar(source_id, valid(SimilarSearch, asked))
    own = found.source
    passages = [_passage(each) for each in found.sources]
    source = cite(own.source_id, own.start, own.end)
    frame = SimilarAnswer(source=source, similar=[], degraded=found.degraded)
    listing = Listing(passages, [each.citation for each in passages], "passages")
    frame.similar, frame.more = walk.step(frame, listing)
    return frame


def _passage(found: SimilarSource) -> Similar:
    return Similar(
        citation=cite(found.source_id, found.start, found.end),
        text=found.full_text,
        ontology=found.ontology,
        document=found.document,
        heading=found.heading,
        similarity=None if found.similarity is None else round(found.similarity, 4),
        ocr_confidence=found.ocr_confidence,
        near_duplicate=found.near_duplicate,
        duplicates=[each.source_id for each in found.duplicates] or None,
    )


TOOL = Tool(NAME, "Find similar passages", DESCRIPTION, SimilarArguments, SimilarAnswer, similar)

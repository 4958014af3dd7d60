"""Finding passages."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kg_api.mcp.answers import Listing, Paged, Pager, Passage, ToolAnswer, cite, kind_of
from kg_api.mcp.library import Library
from kg_api.mcp.tool import Tool
from kg_api.schemas.base import Flag
from kg_api.schemas.filters import Limit
from kg_api.schemas.metadata import date_of
from kg_api.schemas.problems import valid
from kg_api.schemas.search import MatchedChunk, SourceHit, SourceSearch
from kg_api.schemas.vocabulary import MAX_NAMES, MAX_QUERY_CHARACTERS, SearchMode, SourceKind

NAME = "search_sources"
DESCRIPTION = """\
Find passages of the user's documents that answer a question. Start here.

Ask in plain words: a whole question finds by meaning, names and terms find by words, and `hybrid` does \
both. Each hit is one paragraph, the best first, with the citation to quote it by. To read around a hit use \
get_source_context. Few or poor hits: ask in other words, or for one thing at a time. list_ontologies \
first only to narrow the search."""


class SearchArguments(Paged):
    """What to find."""

    query: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)]
    """A question, or words."""
    ontologies: Annotated[list[str], Field(min_length=1, max_length=MAX_NAMES)] | None = None
    """Only in these collections; unset: all."""
    documents: Annotated[list[str], Field(min_length=1, max_length=MAX_NAMES)] | None = None
    """Only in these documents: names, ONTOLOGY/NAME or ids."""
    where: list[str] | None = None
    """Conditions: `date>=2025-01-01`, `tags=oncall`, `page=2`, `kind=image`."""
    limit: Limit = 10
    """How many hits."""
    per_document: Limit | None = None
    """At most so many hits of one document."""
    all_copies: Flag = False
    """Give near-duplicates one by one, too."""
    kind: SourceKind | None = None
    """`image`: only pictures."""
    mode: SearchMode = "hybrid"
    """`vector`: by meaning; `text`: by words; `hybrid`: both."""


class PassageHit(Passage):
    """A passage that was found."""

    ontology: str
    document: str
    heading: list[str] = Field(default_factory=list[str])
    """The headings above it, from the top."""
    title: str | None = None
    """Of the document, where no heading says it."""
    date: str | None = None
    """When the document was written."""
    page: int | None = None
    """On which it begins."""
    last_page: int | None = None
    """On which it ends, if that is another one."""
    kind: SourceKind | None = None
    """`image`: a picture, and `text` are the words that stand for it; unset: a passage."""
    ocr_confidence: float | None = None
    """Read by OCR, words may be wrong; 0 to 1."""
    similarity: float | None = None
    """Cosine of question and passage; unset without a vector."""
    matched: str | None = None
    """Citation of what matched, where that is not the whole paragraph or goes beyond it."""
    parent: str | None = None
    """Citation of the larger part around it."""
    duplicates: list[str] | None = None
    """Ids of sources that say almost the same and were left out."""


class SearchAnswer(ToolAnswer):
    """What was found."""

    note: str | None = None
    """That nothing is near the question, where that is so."""
    hits: list[PassageHit]
    """The best first."""


def search(library: Library, arguments: SearchArguments) -> SearchAnswer:
    """Find passages."""
    walk = Pager(NAME, arguments)
    same = arguments.model_dump(include={"documents", "where", "limit", "per_document", "mode"})
    asked = {
        "query_text": arguments.query,
        "ontology": arguments.ontologies,
        "where": arguments.where or [],
        "kinds": [arguments.kind] if arguments.kind else None,
        "collapse_duplicates": not arguments.all_copies,
        **same,
    }
    found = library.search(valid(SourceSearch, asked))
    hits = [hit_of(each) for each in found.sources]
    frame = SearchAnswer(hits=[], note=found.note, degraded=found.degraded)
    listing = Listing(hits, [hit.citation for hit in hits], "hits")
    frame.hits, frame.more = walk.step(frame, listing)
    return frame


def hit_of(found: SourceHit) -> PassageHit:
    """A hit as agents get it."""
    return PassageHit(
        citation=cite(found.source_id, found.start, found.end),
        text=found.full_text,
        ontology=found.ontology,
        document=found.document,
        heading=found.heading,
        title=None if found.title in found.heading else found.title,
        date=date_of(found.metadata),
        page=found.page,
        last_page=None if found.last_page == found.page else found.last_page,
        kind=kind_of(found),
        ocr_confidence=found.ocr_confidence,
        similarity=None if found.similarity is None else round(found.similarity, 4),
        matched=_cite_part(found, found.chunk),
        parent=_cite_part(found, found.parent),
        duplicates=found.duplicates or None,
    )


def _cite_part(source: SourceHit, chunk: MatchedChunk | None) -> str | None:
    """The citation of a chunk; none where it is the paragraph but for blanks, or another place as long.

    A place as long as its source stands for the source, wherever that has moved since.
    """
    if chunk is None or chunk.end - chunk.start == source.end - source.start:
        return None
    if source.start <= chunk.start and chunk.end <= source.end:
        before, behind = chunk.start - source.start, chunk.end - source.start
        if not (source.full_text[:before] + source.full_text[behind:]).strip():
            return None
    return cite(source.source_id, chunk.start, chunk.end)


TOOL = Tool(NAME, "Search passages", DESCRIPTION, SearchArguments, SearchAnswer, search)

"""Reading where a concept stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field

from kg_api.errors import NotFound
from kg_api.mcp.answers import Listing, Paged, Pager, Passage, ToolAnswer, cite
from kg_api.mcp.library import Library
from kg_api.mcp.tool import Tool
from kg_api.schemas.base import ID_DIGITS, Text
from kg_api.schemas.concepts import ConceptContext, ConceptHit, ConceptPassage, find_meant, nearest_labels
from kg_api.schemas.filters import Window
from kg_api.schemas.search import Degradation, Place
from kg_api.schemas.vocabulary import MAX_ONTOLOGIES, MAX_PASSAGES, MAX_PHRASE

NAME = "get_concept_context"
LOOKED_THROUGH = 20
"""Hits among which one is looked for that fits."""
MAX_SHOWN = 3
ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")
DESCRIPTION = """\
Read the passages that carry a concept, among their neighbours, in all documents where it stands.

Use it to see what is said of a person, thing or idea all over: give a concept_id that hybrid_search gave, \
or a name. `quotes` cite the very words that prove it. To find concepts use hybrid_search."""


class ConceptArguments(Paged):
    """What to read."""

    concept: Annotated[Text, Field(min_length=1, max_length=MAX_PHRASE)]
    """A concept_id, or a name."""
    ontologies: Annotated[list[str], Field(min_length=1, max_length=MAX_ONTOLOGIES)] | None = None
    """Where to look for a name; unset: in all."""
    window: Window = 1
    """How many paragraphs before and after."""
    limit: Annotated[int, Field(strict=True, ge=1, le=MAX_PASSAGES)] = 10
    """How many of the passages that carry it."""


class ConceptParagraph(Passage):
    """A paragraph in its place."""

    document: str
    paragraph: int
    """Its number in reading order, from 0."""
    heading: list[str] = Field(default_factory=list[str])
    """The headings above it, from the top."""
    carries: bool | None = None
    """True: it carries the concept; unset: a neighbour."""
    quotes: list[str] | None = None
    """Citations of the words in it that prove the concept."""
    unverified: bool | None = None
    """No quote proves it."""


class ConceptAnswer(ToolAnswer):
    """A concept and where it stands."""

    concept_id: str
    label: str
    ontology: str
    description: str | None = None
    search_terms: list[str] | None = None
    """Its other names."""
    unverified: bool | None = None
    """No quote proves it."""
    sources: int
    """How many passages carry it, not only those in this answer."""
    paragraphs: list[ConceptParagraph]
    """Those with quotes first, then others that carry it, then their neighbours."""


def read(library: Library, arguments: ConceptArguments) -> ConceptAnswer:
    """Read around a concept."""
    walk = Pager(NAME, arguments)
    concept_id, told = _take(library, arguments.concept, arguments.ontologies)
    found = _context(library, concept_id, arguments)
    concept = found.concept
    paragraphs = [_paragraph(place, passage) for passage in found.passages for place in passage.sources]
    paragraphs.sort(key=lambda each: (not each.quotes, not each.carries))  # what proves comes first
    frame = ConceptAnswer(
        concept_id=concept.concept_id,
        label=concept.label,
        ontology=concept.ontology,
        description=concept.description or None,
        search_terms=concept.search_terms or None,
        unverified=not concept.verified or None,
        sources=concept.sources,
        paragraphs=[],
        degraded=told,
    )
    listing = Listing(paragraphs, [each.citation for each in paragraphs], "paragraphs")
    frame.paragraphs, frame.more = walk.step(frame, listing)
    return frame


def _context(library: Library, concept_id: str, arguments: ConceptArguments) -> ConceptContext:
    try:
        return library.concept_context(concept_id, arguments.window, arguments.limit)
    except NotFound as error:
        raise NotFound(
            f"there is no concept {concept_id!r}; it may have been merged, or its documents have changed: "
            "give its name, or find it with hybrid_search"
        ) from error


def _take(library: Library, text: str, ontologies: Sequence[str] | None) -> tuple[str, list[Degradation]]:
    """The id of the concept that is meant, and what was taken for a name that is none."""
    if ID.fullmatch(text):
        return text, []
    found = library.concepts(text, ontologies, LOOKED_THROUGH)
    best = find_meant(found.concepts)
    if best is None:
        why = "".join(f"; {each.effect}" for each in found.degraded)
        nearest = nearest_labels(found.concepts)
        raise NotFound(f"no concept fits {text!r}{nearest}{why}; search_sources finds passages by any words")
    return best.concept_id, [*found.degraded, *_doubts(text, best, found.concepts)]


def _doubts(text: str, best: ConceptHit, found: Sequence[ConceptHit]) -> Iterator[Degradation]:
    if best.fits != "name":
        effect = f"no concept is called {text!r}: {best.label!r} was taken, which fits best"
        yield Degradation(part="concepts", effect=effect)
        return
    named = [each.ontology for each in found if each.fits == "name" and each.concept_id != best.concept_id]
    if others := ", ".join(map(repr, list(dict.fromkeys(named))[:MAX_SHOWN])):
        effect = (
            f"that of {best.ontology!r} was taken; there is another in {others}: say which by `ontologies`"
        )
        yield Degradation(part="concepts", effect=effect)


def _paragraph(place: Place, passage: ConceptPassage) -> ConceptParagraph:
    identity = place.source_id
    quotes = [each for each in passage.quotes if each.source.source_id == identity]
    return ConceptParagraph(
        citation=cite(identity, place.start, place.end),
        text=place.full_text,
        document=place.document,
        paragraph=place.paragraph,
        heading=place.heading,
        carries=identity in passage.carried_by or None,
        quotes=[cite(identity, each.start, each.end) for each in quotes] or None,
        unverified=(identity in passage.carried_by and not quotes) or None,
    )


TOOL = Tool(NAME, "Read where a concept stands", DESCRIPTION, ConceptArguments, ConceptAnswer, read)

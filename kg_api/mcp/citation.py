"""Citation ids: `source_id#start-end`, offsets in code points of the document's text, the end excluded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kg_api.errors import InvalidInput

_FORM = re.compile(r"(?P<source>[^#\s]{1,100})(?:#(?P<start>\d{1,10})-(?P<end>\d{1,10}))?")

_BROKEN = re.compile(r"#\d*-[\d-]*\s*$|#\s*$")
"""The end of a citation, but for its numbers."""


@dataclass(frozen=True, slots=True)
class CitationPlace:
    """A place in a document, found by one of its sources."""

    source_id: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.source_id}#{self.start}-{self.end}"

    def part(self, start: int, end: int) -> CitationPlace:
        """A part of it; `start` and `end` are counted from its own start."""
        return CitationPlace(self.source_id, self.start + start, self.start + end)


def read_citation(text: str) -> tuple[str, CitationPlace | None]:
    """The source's id, and the place where one is given.

    Raises:
        InvalidInput: it is neither a source id nor a citation id.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(
            f"{text[:200]!r} is not a citation id; give one as search_sources gives it, id#start-end"
        )
    if found["start"] is None:
        return found["source"], None
    start, end = int(found["start"]), int(found["end"])
    if start >= end:
        raise InvalidInput(f"{text[:200]!r} cites nothing: its end is not behind its start")
    return found["source"], CitationPlace(found["source"], start, end)


def called(text: str) -> tuple[str, CitationPlace | None]:
    """The source that a citation is of, and its place; else what a source or a document is called by.

    Raises:
        InvalidInput: it ends as a citation does, and is none.
    """
    try:
        return read_citation(text)
    except InvalidInput:
        if _BROKEN.search(text):
            raise
        return text.strip(), None

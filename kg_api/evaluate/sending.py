"""How a set's documents are sent to kg, and how what is found there is said in the set's own offsets."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from kg_api.models.evaluation import FoundSpan, SetDocument, Titles
from kg_api.models.library.parsing import Format

_MAX_TITLE_LENGTH = 1000

EVALUATED = "urn:kg-eval:"
"""How the address of what an evaluation stored begins."""


@dataclass(frozen=True, slots=True)
class SentDocument:
    """A document as it goes to kg."""

    document: str
    text: str
    title: str | None
    format: Format
    shift: int
    """So many characters stand before the set's own text."""
    length: int
    """Characters of the set's own text."""

    @property
    def uri(self) -> str:
        """Names what was sent, so that another run sees that it is there unchanged."""
        told = hashlib.sha256(f"{self.format}\n{self.title}\n{self.text}".encode()).hexdigest()
        return f"{EVALUATED}{told[:32]}"

    def found(self, start: int, end: int) -> FoundSpan:
        """A place in what was sent, in offsets of the set's text."""
        at = [min(max(place - self.shift, 0), self.length) for place in (start, end)]
        return FoundSpan(document=self.document, start=at[0], end=at[1])


def as_sent(document: SetDocument, titles: Titles) -> SentDocument:
    """Give a document the form in which it is taken in.

    Args:
        document: as the set has it.
        titles: `field` names the document so, and sends the text as it is; `above` puts the title on a line
            before the text besides, so that it is embedded with the beginning, as is usual with these sets.
            A text that begins with its title, or that the set gives a format, is left as it is.
    """
    text, title, form = document.text, document.title[:_MAX_TITLE_LENGTH], document.format
    begins = text.partition("\n")[0].rstrip() == title
    before = f"{title}\n\n" if titles == "above" and title and form is None and not begins else ""
    return SentDocument(
        document.document, before + text, title or None, form or "text", len(before), len(text)
    )

"""What lanes find, made up."""

from __future__ import annotations

from kg_api.graph.passages import Found
from kg_api.models.search import Place

TEXT = "  One fox runs over the hill.\n\n"
START = 100


def place(identity: str, text: str = TEXT) -> Place:
    """A source that begins at the 100th character of its document."""
    return Place(
        source_id=identity,
        ontology="notes",
        document="a.md",
        document_id="d",
        paragraph=3,
        heading=["Top"],
        start=START,
        end=START + len(text),
        full_text=text,
    )


def found(
    identity: str, score: float, similarity: float | None = None, offset: int = 0, length: int | None = None
) -> Found:
    """One finding."""
    return Found(place(identity), similarity, score, offset, length)

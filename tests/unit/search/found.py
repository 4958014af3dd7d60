"""What lanes find, made up."""

from __future__ import annotations

from typing import Any

from kg_api.graph.passages import ChunkText, Found, FoundChunk
from kg_api.models.search import CarriedConcept, Place, SourceHit, SourceSearch
from kg_api.search.answer import Telling, told
from kg_api.search.lanes import Lanes
from kg_api.search.ranking import Hit, Measure, fused
from kg_api.search.similarity_filter import SimilarityFilter

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
    identity: str,
    score: float,
    similarity: float | None = None,
    *,
    chunk: tuple[int, int] | None = None,
    covers: tuple[str, ...] = (),
    parent: str | None = None,
    through: tuple[CarriedConcept, ...] = (),
) -> Found:
    """One finding, with its chunk's offsets if it has one."""
    part = FoundChunk(f"c-{identity}", *chunk, covers or (identity,), parent) if chunk else None
    return Found(place(identity), similarity, score, part, through=through)


def measure(**asked: Any) -> Measure:
    """How hits of one space are joined."""
    request = SourceSearch.model_validate({"query_text": "words", **asked})
    return Measure(request, {"default": None}, lambda _: "default")


def ranked(lanes: Lanes, limit: int, least: float | None = None, **asked: Any) -> list[Hit]:
    """The hits as they are fused."""
    joined = measure(**asked)
    found = fused(lanes.pointed(joined.request.group_by), joined)
    similar = SimilarityFilter({} if least is None else {"default": least})
    return similar.bind((), joined.space_of).apply(found).hits[:limit]


def hits(lanes: Lanes, limit: int, least: float | None = None, **texts: ChunkText) -> list[SourceHit]:
    """The answer's hits for what lanes found; chunks over several sources say what `texts` has."""
    named = {name.replace("_", "-"): text for name, text in texts.items()}
    return told(ranked(lanes, limit, least), named, Telling({"notes": "default"}, {}))

from typing import Any

from kg_api.schemas.search import MatchedChunk, Place, Ranks, SourceHit

ABOUT = {"ontology": "notes", "document": "a.md", "document_id": "d", "paragraph": 0, "heading": ["H"]}


def make_place(source: str, text: str = "text", start: int = 0, **more: Any) -> Place:
    end = start + len(text)
    own = {"source_id": source, "start": start, "end": end, "full_text": text}
    return Place.model_validate(ABOUT | own | more)


def make_hit(place: Place, similarity: float | None = None, **more: Any) -> SourceHit:
    chunk = MatchedChunk(text=place.full_text, start=place.start, end=place.end)
    usual: dict[str, Any] = {"score": 1.0, "ranks": Ranks(), "chunk": chunk, "similarity": similarity}
    return SourceHit.model_validate(place.model_dump() | usual | more)

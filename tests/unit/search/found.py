from collections.abc import Mapping, Sequence
from typing import Any

from kg_api.graph.search import ChunkText, FoundChunk, FoundSource, LaneHit
from kg_api.graph.spaces import Space
from kg_api.schemas.search import CarriedConcept, DescribedPlace, SourceHit, SourceSearch
from kg_api.schemas.spaces import SpaceIdentity
from kg_api.search.plan import SearchPlan
from kg_api.search.present import present_hits
from kg_api.search.question import SimilarityFilter
from kg_api.search.rank import order
from kg_api.search.retrieve import TEXT, VECTOR, Candidates, Hit
from kg_api.search.scope import Scope
from kg_api.spaces.snapshot import OntologySnapshot
from tests.support.hits import make_place

SAID = "  One fox runs over the hill.\n\n"
START = 100
SPACE = Space(
    "default",
    SpaceIdentity(
        provider="deterministic",
        model="words",
        revision="",
        dimensions=3,
        max_tokens=9,
        query_prefix="",
        passage_prefix="",
    ),
)


def place(identity: str, text: str = SAID) -> DescribedPlace:
    """Return a source that begins at character 100 of its document."""
    return DescribedPlace(**make_place(identity, text, START, paragraph=3, heading=["Top"]).model_dump())


def source(identity: str, ontology: str = "notes") -> FoundSource:
    return FoundSource(identity, ontology, "d")


def found(
    identity: str,
    score: float,
    similarity: float | None = None,
    *,
    chunk: tuple[int, int] | None = None,
    covers: tuple[str, ...] = (),
    parent: str | None = None,
    through: tuple[CarriedConcept, ...] = (),
) -> LaneHit:
    part = FoundChunk(f"c-{identity}", *chunk, covers or (identity,), parent) if chunk else None
    return LaneHit(source(identity), similarity, score, part, through=through)


def lanes(
    vectors: Mapping[str, Sequence[LaneHit]] | None = None, text: Sequence[LaneHit] | None = None
) -> Candidates:
    by_vector = {f"{VECTOR}{slug}": lane for slug, lane in (vectors or {}).items()}
    return Candidates(by_vector if text is None else {**by_vector, TEXT: text})


def plan(least: float | None = None, **asked: Any) -> SearchPlan:
    request = SourceSearch.model_validate({"query_text": "words", **asked})
    similar = SimilarityFilter({} if least is None else {"default": least})
    scope = Scope([], {}, [], answering={"notes": "default"})
    return SearchPlan(request, OntologySnapshot({}, SPACE), scope, similar=similar)


def ranked(candidates: Candidates, limit: int, least: float | None = None, **asked: Any) -> list[Hit]:
    return list(order(plan(least, **asked), candidates).hits[:limit])


def hits(
    candidates: Candidates, limit: int, least: float | None = None, said: str = SAID, **texts: ChunkText
) -> list[SourceHit]:
    named = {name.replace("_", "-"): text for name, text in texts.items()}
    best = ranked(candidates, limit, least)
    places = {hit.found.source.source_id: place(hit.found.source.source_id, said) for hit in best}
    return present_hits(plan(), best, places, named)

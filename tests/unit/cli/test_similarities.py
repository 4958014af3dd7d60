from __future__ import annotations

from collections.abc import Callable

from kg_api.schemas.image_search import ImageHit, ImageHits
from kg_api.schemas.search import Degradation
from kg_api.schemas.similarity import Duplicate, SimilarSource, SimilarSources
from kg_api.search.near import to_matched_chunk
from kg_cli.search.images import print_found
from kg_cli.search.views import print_similar
from tests.unit.search.found import place

Printed = Callable[[], str]
NOTE = [Degradation(part="vectors", effect="[b]told[/b]")]


def similar(*sources: SimilarSource) -> SimilarSources:
    values = {"source": place("own"), "space": "small", "degraded": NOTE, "timings_ms": {"total": 3.0}}
    return SimilarSources.model_validate({**values, "sources": sources})


def source(similarity: float, *, same: bool = False) -> SimilarSource:
    where = place("a")
    twin = Duplicate(
        source_id="b", ontology="o2", document="b.md", document_id="d2", paragraph=4, similarity=0.5
    )
    return SimilarSource(
        **where.model_dump(),
        similarity=similarity,
        score=7.5,
        chunk=to_matched_chunk(where),
        own_chunk=to_matched_chunk(where),
        near_duplicate=same,
        duplicates=[twin],
    )


def test_similar_passage_shows_position_and_copies(printed: Printed) -> None:
    print_similar(similar(source(0.876, same=True)))
    for told in ("0.88", "notes / a.md", "One fox runs", "near-duplicate", "o2 / b.md ¶4", "[b]told[/b]"):
        assert told in printed()


def test_vector_and_keyword_ranks_are_distinguished(printed: Printed) -> None:
    through = [
        {"lane": "words", "rank": 2, "similarity": 0.6, "space": "a"},
        {"lane": "words", "rank": 1},
        {"lane": "concepts", "rank": 3},
    ]
    hit = ImageHit.model_validate({**place("a").model_dump(), "score": 1.0, "through": through})
    values = {"by": ["words"], "spaces": [], "degraded": [], "timings_ms": {"total": 3.0}}
    print_found(ImageHits.model_validate({**values, "images": [hit]}))
    for told in (
        "their text, by vector search, 2. (0.60)",
        "their text, by full text, 1.",
        "concepts, 3.",
    ):
        assert told in printed()

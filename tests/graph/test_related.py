from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import write_extractions
from kg_api.graph.document_writes import store_document
from kg_api.graph.images import hold_blobs
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.image_search import RelatedSearch, RelatedSources
from kg_api.schemas.search import SourceSearch
from kg_api.schemas.similarity import SimilarSearch
from kg_api.search.related import RelatedService
from kg_api.search.service import SearchService
from kg_api.search.similar import SimilarityService
from tests.conftest import Stored
from tests.graph.conftest import store_texts
from tests.graph.test_concept_lane import carried
from tests.graph.test_kinds import pictured
from tests.support.kg import Kg
from tests.support.records import record

FILLER = [f"Filler number{n} about weather{n} and other things of no matter." for n in range(12)]
LIGHTHOUSE = "The lamp of Skerry Rock was lit by Maren Holt."
FIGURE = "![fig](a.png)"
FAR = record("far.md", ["Maren Holt kept bees, far away from here.", *FILLER])


def store(graph: Graph, made: DocumentRecord, labels: Mapping[int, Sequence[str]] | None = None) -> None:
    store_document(graph, made)
    found = [carried(made, at, *names) for at, names in (labels or {}).items()]
    if found:
        graph.transaction(lambda tx: write_extractions(tx, made.ontology, found, "m"))


def related(kg: Kg, source_id: str, **asked: Any) -> RelatedSources:
    return RelatedService(kg.graph).find_related(source_id, RelatedSearch.model_validate(asked))


def places(answer: RelatedSources) -> list[tuple[str, int]]:
    return [(each.document, each.paragraph) for each in answer.sources]


def ways(answer: RelatedSources, document: str, paragraph: int) -> dict[str, Any]:
    (found,) = (each for each in answer.sources if (each.document, each.paragraph) == (document, paragraph))
    return {way.lane: way for way in found.through}


@contextmanager
def store_book(graph: Graph) -> Generator[tuple[Kg, DocumentRecord]]:
    hold_blobs(graph, ["0" * 64])
    texts = [*FILLER[:2], LIGHTHOUSE, FIGURE, *FILLER[2:7], "![Skerry Rock](b.png)", *FILLER[7:]]
    made = pictured(record("book.epub", texts), 3, 9)
    with store_texts(graph) as kg:
        store(graph, made, {2: ["Skerry Rock", "Maren Holt"]})
        store(graph, FAR, {0: ["Maren Holt"]})
        store(graph, record("other.md", FILLER, "other"))
        kg.work()
        yield kg, made


@pytest.fixture
def kg(stored: Stored, migrated_graph: Graph) -> Kg:
    return stored.give(store_book, migrated_graph)[0]


@pytest.fixture
def book(stored: Stored, migrated_graph: Graph) -> DocumentRecord:
    """Return a book with an image at paragraph 3 and another one at 9. They have no description."""
    return stored.give(store_book, migrated_graph)[1]


def test_nearest_passages_of_an_image_precede_others(kg: Kg, book: DocumentRecord) -> None:
    answer = related(kg, book.sources[3].source_id)
    assert (answer.source.kind, answer.kinds) == ("image", ["passage"])
    assert places(answer)[0] == ("book.epub", 2)
    assert {each.kind for each in answer.sources} == {"passage"}
    there = related(kg, book.sources[3].source_id, same_document=True, limit=50)
    distances = {each.paragraph: way.distance for each in there.sources for way in each.through[:1]}
    assert distances == {at: abs(at - 3) for at in range(len(book.sources)) if at not in {3, 9}}


def test_concept_near_an_image_leads_to_other_documents(kg: Kg, book: DocumentRecord) -> None:
    answer = related(kg, book.sources[3].source_id, limit=50)
    concepts = ways(answer, "far.md", 0)["concepts"]
    assert [each.label for each in concepts.concepts] == ["Maren Holt"]
    assert "document" not in ways(answer, "far.md", 0)


def test_concept_leads_to_images_near_its_passages(kg: Kg, book: DocumentRecord) -> None:
    del book
    answer = related(kg, FAR.sources[0].source_id)
    assert answer.kinds == ["image"]
    assert {each.kind for each in answer.sources} == {"image"}
    assert places(answer)[0] == ("book.epub", 3)
    assert ways(answer, "book.epub", 3)["concepts"].rank == 1
    assert "concepts" not in ways(answer, "book.epub", 9)


def test_text_of_an_image_leads_to_passages(kg: Kg, book: DocumentRecord) -> None:
    way = ways(related(kg, book.sources[9].source_id, limit=50), "book.epub", 2)["words"]
    assert (way.rank, way.space) == (1, "default")
    assert way.similarity is not None
    assert 0 < way.similarity < 1


def test_lanes_are_joined_by_ranks(kg: Kg, book: DocumentRecord) -> None:
    answer = related(kg, book.sources[2].source_id, limit=50)
    for each in answer.sources:
        assert each.score == pytest.approx(sum(1 / (60 + way.rank) for way in each.through))
    assert [each.score for each in answer.sources] == sorted(
        (each.score for each in answer.sources), reverse=True
    )


def test_related_sources_are_filtered_by_kind(kg: Kg, book: DocumentRecord) -> None:
    own = book.sources[3].source_id
    assert places(related(kg, own, kinds=["image"], same_document=True)) == [("book.epub", 9)]
    both = related(kg, own, kinds=["image", "passage"], limit=50)
    assert {each.kind for each in both.sources} == {"image", "passage"}
    assert own not in [each.source_id for each in both.sources]


def test_filters_hold_in_every_lane(kg: Kg, book: DocumentRecord) -> None:
    own = book.sources[3].source_id
    assert {document for document, _ in places(related(kg, own, ontology="other"))} == {"other.md"}
    assert {document for document, _ in places(related(kg, own, where=["document=far.md"]))} == {"far.md"}
    none = related(kg, own, where=["document=far.md"], same_document=True)
    assert none.sources == []
    assert "no document fits" in none.degraded[0].effect
    with pytest.raises(NotFound, match="nowhere"):
        related(kg, own, ontology=["nowhere"])
    with pytest.raises(InvalidInput, match="documnet"):
        related(kg, own, where=["documnet=far.md"])


def test_source_without_vector_is_compared_by_keywords(kg: Kg, book: DocumentRecord) -> None:
    del book
    late = record("late.md", ["Skerry Rock is still there."])
    store_document(kg.graph, late)
    answer = related(kg, late.sources[0].source_id)
    assert ways(answer, "book.epub", 9)["words"].similarity is None
    assert "no vector yet" in " ".join(each.effect for each in answer.degraded)


def test_an_unknown_source_is_not_found(kg: Kg) -> None:
    with pytest.raises(NotFound):
        related(kg, "0" * 32)


def test_concepts_of_surrounding_text_find_images(kg: Kg, book: DocumentRecord) -> None:
    del book
    service = SearchService(kg.graph, kg.spaces)
    try:
        asked = SourceSearch(
            query_text="Maren Holt", kinds=["image"], concepts=True, mode="text", explain=True
        )
        hits = service.search(asked).sources
    finally:
        service.close()
    assert [(each.document, each.paragraph, each.kind) for each in hits] == [("book.epub", 3, "image")]
    assert [each.label for each in hits[0].through] == ["Maren Holt"]
    assert (hits[0].ranks.concepts, hits[0].ranks.text) == (1, None)


def test_similar_sources_distinguish_images(kg: Kg, book: DocumentRecord) -> None:
    asked = SimilarSearch(same_document=True, limit=50)
    found = SimilarityService(kg.graph).similar(book.sources[2].source_id, asked).sources
    pictures = {each.paragraph: each.image for each in found if each.kind == "image"}
    assert pictures.keys() == {3, 9}
    assert all(image is not None and image.width == 4 for image in pictures.values())
    assert {each.title for each in found if each.document == "book.epub"} == {"book.epub"}

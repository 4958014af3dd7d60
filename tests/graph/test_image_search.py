from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import neo4j
import pytest

from kg_api.errors import InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import write_extractions
from kg_api.graph.document_writes import store_document
from kg_api.graph.images import hold_blobs
from kg_api.schemas.documents import DocumentRecord
from kg_api.schemas.embedding import SpaceBuild
from kg_api.schemas.image_search import RelatedSearch, RelatedSources
from kg_api.search.related import RelatedService
from tests.graph.conftest import add_texts, sharing
from tests.graph.test_concept_lane import carried
from tests.graph.test_kinds import pictured
from tests.support.album import Album
from tests.support.colour_grid import plain
from tests.support.cypher import rows
from tests.support.images import drawn, encoded
from tests.support.kg import Kg
from tests.support.picture_search import COLOURS, effects, ids, like, names, search
from tests.support.records import record


@pytest.fixture
def album(unnamed_album: Album) -> Album:
    return unnamed_album


def test_uploaded_image_finds_a_similar_image(album: Album) -> None:
    answer = like(album, plain("red", 400, 300))
    assert names(answer)[0] == "p0.png"
    assert (answer.by, answer.spaces, answer.degraded) == (["picture_space"], ["default_images"], [])
    (way,) = answer.images[0].through
    assert (way.lane, way.rank, way.space) == ("picture_space", 1, "default_images")
    assert way.similarity == pytest.approx(1, abs=1e-3)
    assert len(answer.images) == 3


def test_stored_image_finds_others_but_not_itself(album: Album) -> None:
    album.pictures.add(plain("red", 90, 90), "again.png")
    album.work()
    before = len(album.grid.asked)
    answer = like(album, source_id=ids(album)["p0.png"])
    assert len(album.grid.asked) == before, "its vector is there: it is not embedded again"
    assert answer.source is not None
    assert (answer.source.document, names(answer)[0], len(answer.images)) == ("p0.png", "again.png", 3)
    assert "p0.png" not in names(answer)


def test_filters_and_limits(album: Album) -> None:
    album.pictures.add(plain("red"), "other.png", ontology="other")
    album.work()
    red = plain("red")
    assert names(like(album, red, limit=1)) in (["p0.png"], ["other.png"])
    assert names(like(album, red, ontology="other")) == ["other.png"]
    assert names(like(album, red, documents=["p1.png"])) == ["p1.png"]
    assert names(like(album, red, where=["document=p2.png"])) == ["p2.png"]
    assert set(names(like(album, red, min_similarity=0.9))) == {"p0.png", "other.png"}
    cut = like(album, plain("yellow"), min_similarity=0.999)
    assert (cut.images, cut.note) == ([], cut.note)
    assert "no image has a similarity of 0.999 or more. The nearest has 0." in (cut.note or "")
    with pytest.raises(NotFound, match="nowhere"):
        like(album, red, ontology="nowhere")


def test_images_without_vectors_are_reported(album: Album, driver: neo4j.Driver) -> None:
    for name in ("late.png", "later.png"):
        album.pictures.add(encoded(drawn(60, 40)), name, ontology="late")
    answer = like(album, encoded(drawn(120, 80)), ontology="late")
    assert (answer.images, answer.note) == ([], None)
    assert "no image has a vector in the space 'default_images' yet" in effects(answer)
    album.pictures.add(encoded(drawn(60, 40)), "late.png")
    assert "late.png" not in names(like(album, encoded(drawn(120, 80)), ontology="notes"))
    album.work()
    alike = like(album, encoded(drawn(120, 80))).images[0]
    assert [way.lane for way in alike.through] == ["picture_space"]
    rows(driver, "MATCH (e:EmbeddingSpace {modality: 'image'}) DETACH DELETE e")
    assert "late, notes: they have no image space" in effects(like(album, encoded(drawn(120, 80))))


def test_model_that_is_down_is_reported(album: Album) -> None:
    album.grid.down = True
    answer = like(album, plain("red"))
    assert "the grid is down" in effects(answer)
    assert (answer.by, answer.images) == ([], [])
    stored = like(album, source_id=ids(album)["p0.png"])
    assert stored.by == ["picture_space"], "what is stored needs no model"


def test_ontologies_of_different_spaces_are_joined_by_ranks(album: Album) -> None:
    album.add_space("fine")
    for number, colour in enumerate(COLOURS):
        album.pictures.add(plain(colour), f"q{number}.png", ontology="other")
    album.work()
    album.switch.build("fine", SpaceBuild(ontologies=["other"]))
    album.work()
    album.switch.activate("fine")
    answer = like(album, plain("green"))
    assert set(answer.spaces) == {"default_images", "fine"}
    assert set(names(answer)[:2]) == {"p1.png", "q1.png"}
    assert answer.images[0].score == answer.images[1].score == pytest.approx(1 / 61)
    stored = like(album, source_id=ids(album)["p1.png"], ontology="other")
    assert (stored.spaces, names(stored)[0]) == (["fine"], "q1.png")


def test_a_vector_of_another_file_finds_nothing(album: Album) -> None:
    """If a new image has the name of an old one, it should not be found by the old vector."""
    album.pictures.add(plain("blue", 50, 50), "p0.png")
    red = {each.document: each.through for each in like(album, plain("red", 400, 300)).images}
    assert all(way.lane != "picture_space" for way in red.get("p0.png", []))
    alike = like(album, source_id=ids(album)["p0.png"])
    assert alike.images[0].document == names(like(album, plain("blue", 50, 50)))[0], "nor does it ask by it"
    album.work()
    assert "p0.png" in names(like(album, plain("blue", 400, 300)))[:2]


def test_text_query_uses_model_that_reads_text(album: Album) -> None:
    answer = like(album, query_text="something blue")
    assert names(answer)[0] == "p2.png"
    assert answer.by == ["picture_space", "words", "concepts"]
    assert {way.lane for way in answer.images[0].through} >= {"picture_space"}
    album.grid.down = True
    album.image_spaces.close()
    assert "was not searched (the grid is down)" in effects(like(album, query_text="something blue"))


@pytest.mark.parametrize("kinds", [None, ["passage", "image"], ["image"]])
def test_search_includes_image_vector_retriever(album: Album, kinds: Sequence[str] | None) -> None:
    store_document(album.graph, record("text.md", ["A passage about something else."]))
    album.work()
    hits = search(album, "something blue", kinds=kinds, explain=True)
    assert hits.picture_spaces == ["default_images"]
    blue = next(each for each in hits.sources if each.document == "p2.png")
    assert blue.ranks.pictures == 1
    assert blue.explanation is not None
    part = blue.explanation.lanes[-1]
    assert (part.lane, part.index) == ("pictures:default_images", "image_embedding_default_images")
    assert blue.explanation.fusion.endswith("rrf with pictures")
    assert blue.similarity is not None, "its words are measured all the same"


@pytest.mark.parametrize(
    "asked", [{"kinds": ["passage"]}, {"mode": "text"}, {"ontology": "texts"}], ids=["kinds", "mode", "none"]
)
def test_image_space_is_skipped_without_requested_images(album: Album, asked: dict[str, Any]) -> None:
    store_document(album.graph, record("text.md", ["A passage about something blue."], "texts"))
    album.work()
    album.grid.down = True
    hits = search(album, "something blue", **asked)
    assert (hits.picture_spaces, hits.degraded) == ([], [])


def test_image_model_without_text_is_not_queried(graph: Graph, tmp_path: Path) -> None:
    made = Album(graph, tmp_path / "blobs", words=False)
    made.add_images(*COLOURS)
    made.work()
    try:
        hits = search(made, "blue", kinds=["image"])
        assert (hits.picture_spaces, hits.degraded) == ([], [])
        assert hits.sources[0].document == "blue.png", "by its name"
        assert like(made, query_text="blue").by == ["words", "concepts"]
    finally:
        made.close()


def test_passage_finds_images_by_vector(album: Album) -> None:
    store_document(album.graph, made := record("text.md", ["All was blue that day."], "texts"))
    album.work()
    service = RelatedService(album.graph, album.image_spaces)
    answer = service.find_related(made.sources[0].source_id, RelatedSearch())
    seen = {each.document: [way for way in each.through if way.lane == "picture_space"]
            for each in answer.sources}  # fmt: skip
    assert seen["p2.png"][0].rank == 1
    assert seen["p2.png"][0].space == "default_images"


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


TOLD = [*FILLER[:2], LIGHTHOUSE, FIGURE, *FILLER[2:7], "![Skerry Rock](b.png)", *FILLER[7:]]
BOOK = pictured(record("book.epub", TOLD), 3, 9)
"""Book with an image at paragraph 3 and another one at 9. They have no description."""


def add_book(graph: Graph) -> None:
    hold_blobs(graph, ["0" * 64])
    store(graph, BOOK, {2: ["Skerry Rock", "Maren Holt"]})
    store(graph, FAR, {0: ["Maren Holt"]})
    store(graph, record("other.md", FILLER, "other"))


kg = sharing(add_texts, add_book)


def test_nearest_passages_of_an_image_precede_others(kg: Kg) -> None:
    answer = related(kg, BOOK.sources[3].source_id)
    assert (answer.source.kind, answer.kinds) == ("image", ["passage"])
    assert places(answer)[0] == ("book.epub", 2)
    assert {each.kind for each in answer.sources} == {"passage"}
    there = related(kg, BOOK.sources[3].source_id, same_document=True, limit=50)
    nearest = {each.paragraph: each.through[0] for each in there.sources}
    distances = {at: abs(at - 3) for at in range(len(BOOK.sources)) if at not in {3, 9}}
    assert {at: way.distance for at, way in nearest.items()} == distances
    ranked = sorted(nearest.values(), key=lambda way: way.rank)
    assert [way.distance for way in ranked] == sorted(distances.values())


def test_concept_near_an_image_leads_to_other_documents(kg: Kg) -> None:
    answer = related(kg, BOOK.sources[3].source_id, limit=50)
    concepts = ways(answer, "far.md", 0)["concepts"]
    assert [each.label for each in concepts.concepts] == ["Maren Holt"]
    assert "document" not in ways(answer, "far.md", 0)


def test_concept_leads_to_images_near_its_passages(kg: Kg) -> None:
    answer = related(kg, FAR.sources[0].source_id)
    assert answer.kinds == ["image"]
    assert {each.kind for each in answer.sources} == {"image"}
    assert places(answer)[0] == ("book.epub", 3)
    assert ways(answer, "book.epub", 3)["concepts"].rank == 1
    assert "concepts" not in ways(answer, "book.epub", 9)


def test_text_of_an_image_leads_to_passages(kg: Kg) -> None:
    way = ways(related(kg, BOOK.sources[9].source_id, limit=50), "book.epub", 2)["words"]
    assert (way.rank, way.space) == (1, "default")
    assert way.similarity is not None
    assert 0 < way.similarity < 1


def test_filters_hold_in_every_lane(kg: Kg) -> None:
    own = BOOK.sources[3].source_id
    assert {document for document, _ in places(related(kg, own, ontology="other"))} == {"other.md"}
    assert {document for document, _ in places(related(kg, own, where=["document=far.md"]))} == {"far.md"}
    none = related(kg, own, where=["document=far.md"], same_document=True)
    assert none.sources == []
    assert "no document fits" in none.degraded[0].effect
    with pytest.raises(NotFound, match="nowhere"):
        related(kg, own, ontology=["nowhere"])
    with pytest.raises(InvalidInput, match="documnet"):
        related(kg, own, where=["documnet=far.md"])


def test_accepted_links_lead_to_matching_sources(kg: Kg, driver: neo4j.Driver) -> None:
    own, image, near, far = (
        each.source_id for each in (BOOK.sources[3], BOOK.sources[9], BOOK.sources[11], FAR.sources[9])
    )
    link = (
        "MATCH (a:Source {source_id: $own}) UNWIND $linked AS each MATCH (b:Source {source_id: each[0]}) "
        "CREATE (a)<-[:LINKED_TO {confidence: each[1]}]-(b), (a)-[:LINKED_TO {confidence: 0.5}]->(b)"
    )
    rows(driver, link, own=own, linked=[[near, 0.6], [far, 0.7], [image, 0.8]])

    def linked(**asked: Any) -> list[tuple[str, int, float | None]]:
        sources = related(kg, own, limit=50, **asked).sources
        found = [(way, each) for each in sources for way in each.through if way.lane == "link"]
        found.sort(key=lambda each: each[0].rank)
        return [(each.document, each.paragraph, way.similarity) for way, each in found]

    assert linked() == [("far.md", 9, 0.7), ("book.epub", 11, 0.6)]
    assert linked(kinds=["image"]) == [("book.epub", 9, 0.8)]
    assert linked(where=["document=far.md"]) == [("far.md", 9, 0.7)]
    assert linked(same_document=True) == [("book.epub", 11, 0.6)]
    assert linked(ontology="other") == []


def test_source_without_vector_is_compared_otherwise(kg: Kg) -> None:
    late = record("late.md", ["Skerry Rock is still there."])
    store_document(kg.graph, late)
    answer = related(kg, late.sources[0].source_id)
    assert all(way.lane != "words" for each in answer.sources for way in each.through)
    assert "no vector yet" in " ".join(each.effect for each in answer.degraded)


def test_concepts_of_surrounding_text_find_images(kg: Kg) -> None:
    hits = kg.find("Maren Holt", kinds=["image"], concepts=True, mode="text", explain=True).sources
    assert [(each.document, each.paragraph, each.kind) for each in hits] == [("book.epub", 3, "image")]
    assert [each.label for each in hits[0].through] == ["Maren Holt"]
    assert (hits[0].ranks.concepts, hits[0].ranks.text) == (1, None)

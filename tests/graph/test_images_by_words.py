"""Pictures by words: what they show, what is said of them, and the passages that go with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.image_search import RelatedSearch
from kg_api.search.related import RelatedService
from tests.support.album import Album
from tests.support.colour_grid import plain
from tests.support.concepts import labelled, write
from tests.support.picture_search import COLOURS, effects, like, names, search
from tests.support.records import record


@pytest.fixture
def album(unnamed_album: Album) -> Album:
    return unnamed_album


def test_words_find_what_pictures_show_where_a_model_reads_text(album: Album) -> None:
    answer = like(album, query_text="something blue")
    assert names(answer)[0] == "p2.png"
    assert answer.by == ["picture_space", "words", "concepts"]
    assert {way.lane for way in answer.images[0].through} >= {"picture_space"}
    album.grid.down = True
    album.image_spaces.close()
    assert "was not searched (the grid is down)" in effects(like(album, query_text="something blue"))


def test_concepts_lead_to_pictures_only_from_the_question(album: Album) -> None:
    for name in ("sleeping cat.png", "flying cat.png"):
        made = album.pictures.record(plain("blue", len(name), 20), name)
        store_document(album.graph, made)
        write(album.graph, labelled(made, 0, "cat"))
    album.work()
    ways = [way.lane for each in like(album, query_text="sleeping").images for way in each.through]
    assert "concepts" not in ways, "the best picture's own concepts would put others before it"
    named = like(album, query_text="cat").images
    assert all("concepts" in [way.lane for way in each.through] for each in named if "cat" in each.document)


@pytest.mark.parametrize("kinds", [None, ["passage", "image"], ["image"]])
def test_searches_have_a_lane_of_what_pictures_show(album: Album, kinds: Sequence[str] | None) -> None:
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
def test_nothing_is_asked_where_no_picture_is_wanted(album: Album, asked: dict[str, Any]) -> None:
    store_document(album.graph, record("text.md", ["A passage about something blue."], "texts"))
    album.work()
    album.grid.down = True
    hits = search(album, "something blue", **asked)
    assert (hits.picture_spaces, hits.degraded) == ([], [])


def test_nothing_is_asked_of_a_model_that_reads_no_text(graph: Graph, tmp_path: Path) -> None:
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


def test_a_passage_finds_pictures_by_what_they_show(album: Album) -> None:
    store_document(album.graph, made := record("text.md", ["All was blue that day."], "texts"))
    album.work()
    service = RelatedService(album.graph, album.image_spaces)
    answer = service.related(made.sources[0].source_id, RelatedSearch())
    seen = {each.document: [way for way in each.through if way.lane == "picture_space"]
            for each in answer.sources}  # fmt: skip
    assert seen["p2.png"][0].rank == 1
    assert seen["p2.png"][0].space == "default_images"

"""Spaces of pictures are built beside, checked, activated, rolled back and dropped."""

from __future__ import annotations

import neo4j
import pytest

from kg_api.errors import Conflict, InvalidInput, NotFound
from kg_api.graph.jobs import enqueue_slot, find_job
from kg_api.graph.schema import index_states
from kg_api.graph.targets import count_embedded
from kg_api.schemas.embedding import EmbeddingConfig, SpaceBuild
from kg_api.schemas.spaces import NewSpace
from kg_api.schemas.vocabulary import JobState
from kg_api.spaces.plans import read_embedding_state
from tests.support.album import FIRST, Album
from tests.support.cypher import rows


def test_a_space_of_pictures_is_built_checked_activated_rolled_back_and_dropped(
    album: Album, driver: neo4j.Driver
) -> None:
    album.work()
    album.add_space("fine")
    made = album.switch.build("fine", SpaceBuild())
    assert [(each.answering, each.due) for each in made.builds] == [(FIRST, 3)]
    assert album.states()["fine"] == "building"
    with pytest.raises(Conflict, match="not built yet"):
        album.switch.activate("fine")
    album.add_images("black")  # during the build
    album.work()
    assert album.answering == FIRST, "it waits to be activated"
    assert album.counts().embedded == 4
    assert album.switch.check("fine").ok
    told = album.switch.activate("fine")
    assert [(each.before, each.now) for each in told.ontologies] == [(FIRST, "fine")]
    assert told.space_of_new == "fine"
    assert (album.answering, album.states()[FIRST], album.states()["fine"]) == ("fine", "retiring", "active")
    album.switch.rollback("fine")
    assert album.answering == FIRST
    album.switch.rollback(FIRST)
    assert album.answering == "fine"
    assert album.states()["default"] == "active", "the space of texts is not concerned"
    job_id = album.drop.drop(FIRST).job_id
    rows(driver, "MATCH (e:EmbeddingSpace) SET e.dropping = e.dropping - duration({seconds: 60})")
    album.work()
    assert find_job(album.graph, job_id).state is JobState.COMPLETED
    left = rows(driver, "MATCH (s:Image) UNWIND keys(s) AS key RETURN DISTINCT key")
    assert not [row for row in left if FIRST in row["key"]]
    assert "image_embedding_default_images" not in index_states(album.graph)


def test_a_space_that_answers_for_one_ontology_is_not_dropped(album: Album) -> None:
    album.work()
    with pytest.raises(Conflict, match="still uses"):
        album.drop.drop(FIRST, "notes")
    assert album.counts().embedded == 3
    album.add_space("fine")
    album.switch.build("fine", SpaceBuild())
    with pytest.raises(Conflict, match="still uses"):
        album.drop.drop("fine", "notes")
    album.work()
    album.switch.activate("fine")
    album.drop.drop(FIRST, "notes")
    album.work()
    with pytest.raises(Conflict, match="no ontology that uses"):
        album.switch.rollback("fine")


def test_a_model_that_cannot_be_used_does_not_hold_up_what_is_built_beside(album: Album) -> None:
    album.work()
    album.add_space("fine")
    album.switch.build("fine", SpaceBuild())
    album.add_images("black")
    album.grid.down = True
    album.work()
    plans = read_embedding_state(album.graph, "notes").images
    assert [count_embedded(album.graph, "image", [plan])["missing"] for plan in plans] == [1, 0]


def test_a_complete_space_answers_though_the_model_before_it_cannot_be_used(album: Album) -> None:
    album.work()
    album.add_space("fine")
    album.switch.build("fine", SpaceBuild(activate=True))
    album.add_images("black")
    album.grid.down = True
    album.work()
    assert (album.answering, album.counts().embedded) == ("fine", 4)


def test_what_one_model_does_not_take_is_not_set_aside_of_another(album: Album) -> None:
    """The old model rejects one and is then away: nothing is said of the space that is built beside."""
    album.work()
    album.add_space("fine")
    album.switch.build("fine", SpaceBuild())
    album.add_images("black", "yellow")
    album.grid.rejects_dark, album.grid.down_after = True, len(album.grid.asked) + 2
    album.work()
    plans = read_embedding_state(album.graph, "notes").images
    assert [count_embedded(album.graph, "image", [plan])["refused"] for plan in plans] == [0, 0]
    assert count_embedded(album.graph, "image", plans[1:])["embedded"] == 5


def test_a_name_that_was_dropped_is_free_for_another_model(album: Album, driver: neo4j.Driver) -> None:
    album.add_space("fine", cells=4)
    album.drop.drop("fine")
    rows(driver, "MATCH (e:EmbeddingSpace) SET e.dropping = e.dropping - duration({seconds: 60})")
    album.work()
    new = NewSpace(slug="fine", modality="image", provider="histogram", model="grid-8")
    assert album.image_spaces.add(new).space.identity.model == "grid-8"


def test_a_switch_of_pictures_leaves_the_note_of_flagged_texts(album: Album, driver: neo4j.Driver) -> None:
    album.work()
    enqueue_slot(album.graph, "backfill")
    album.work()
    told = "MATCH (o:Ontology {name: 'notes'}) RETURN o.flagged_for AS flagged_for"
    (before,) = rows(driver, told)
    assert before["flagged_for"] is not None
    album.add_space("fine")
    album.switch.build("fine", SpaceBuild())
    album.work()
    album.switch.activate("fine")
    assert rows(driver, told) == [before]
    album.configure.set("notes", EmbeddingConfig(strategy="sentence"), dry_run=False)
    assert rows(driver, told) == [{"flagged_for": None}]


def test_an_ontology_without_vectors_of_pictures_uses_a_space_at_once(album: Album) -> None:
    album.add_space("fine")
    album.switch.build("fine", SpaceBuild())
    assert album.answering == "fine"
    album.work()
    assert album.counts().embedded == 3


def test_chunking_and_the_space_of_texts_leave_pictures_as_they_are(album: Album) -> None:
    album.work()
    album.add_space("fine")
    album.switch.build("fine", SpaceBuild(activate=True))
    album.work()
    album.configure.set("notes", EmbeddingConfig(chunk_size=10, strategy="sentence"), dry_run=False)
    album.work()
    assert (album.answering, album.counts().embedded) == ("fine", 3)


def test_a_space_of_pictures_is_none_for_texts_and_the_other_way_round(album: Album) -> None:
    album.add_space("fine")
    with pytest.raises(InvalidInput, match="is of pictures"):
        album.configure.set("notes", EmbeddingConfig(space="fine"), dry_run=False)
    with pytest.raises(ValueError, match="no models for pictures"):
        NewSpace(slug="x", modality="image", provider="local")
    with pytest.raises(ValueError, match="no models for texts"):
        NewSpace(slug="x", provider="onnx")
    with pytest.raises(Conflict, match="exists already"):
        album.add_space("fine", cells=8)
    with pytest.raises(NotFound):
        album.switch.build("none", SpaceBuild())

from dataclasses import replace
from pathlib import Path

import neo4j
import pytest

from kg_api.blobs.store import compute_blob_key
from kg_api.errors import Conflict, FileLost, InvalidInput, NotFound
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import enqueue_slot
from kg_api.graph.schema import read_index_states
from kg_api.providers.pixels import DIMENSIONS
from kg_api.schemas.documents import VectorCounts
from kg_api.schemas.embedding import EmbeddingConfigChange, Regeneration, SpaceBuild
from kg_api.schemas.spaces import NewSpace
from kg_api.web.shared.health import check_image_models
from tests.support.album import Album
from tests.support.colour_grid import open_image_spaces, plain
from tests.support.cypher import rows


def test_stored_images_are_embedded_by_a_job(album: Album, driver: neo4j.Driver) -> None:
    assert album.counts().missing == 3
    kinds = rows(driver, "MATCH (j:Job) RETURN j.kind AS kind, j.total AS total ORDER BY kind")
    assert kinds == [{"kind": "image_embedding", "total": 3}, {"kind": "source_embedding", "total": 3}]
    album.work()
    assert album.counts() == VectorCounts(total=3, embedded=3, missing=0, stale=0, refused=0)
    stored = rows(driver, "MATCH (s:Image) RETURN s.embedding_default_images AS vector, s.embedding AS words")
    assert {(len(row["vector"]), len(row["words"])) for row in stored} == {(DIMENSIONS, 256)}
    assert read_index_states(album.graph)["image_embedding_default_images"].online


def test_replaced_image_is_embedded_again(album: Album, driver: neo4j.Driver) -> None:
    album.work()
    before = _vector(driver, "red.png")
    album.pictures.add(plain("blue"), "red.png")
    assert (album.counts().embedded, album.counts().missing) == (2, 1), (
        "its old vector has gone with its file"
    )
    album.work()
    assert album.counts().embedded == 3
    assert _vector(driver, "red.png") == _vector(driver, "blue.png") != before
    made = album.pictures.record(plain("blue"), "red.png")
    store_document(album.graph, replace(made, title="Blue", content_hash="changed"))
    assert album.counts().embedded == 3, "the file is the same"
    album.pictures.damage(plain("green"))
    with pytest.raises(FileLost):
        album.pictures.read(compute_blob_key(plain("green")))
    album.pictures.add(plain("green"), "green.png")
    assert album.counts().embedded == 3, "it was embedded before its file was damaged"


def test_image_rejected_by_the_model_is_retried(album: Album) -> None:
    album.grid.rejects_dark = True
    album.add_images("black")
    album.work()
    assert album.counts() == VectorCounts(total=4, embedded=3, missing=0, stale=0, refused=1)
    album.grid.rejects_dark = False
    started = album.requests.regenerate(Regeneration(ontology="notes", type="image"))
    assert [(each.type, each.due) for each in started.ontologies] == [("image", 1)]
    album.work()
    assert album.counts().embedded == 4


@pytest.mark.parametrize("damaged", [False, True])
def test_image_with_missing_file_is_skipped_until_stored(album: Album, damaged: bool) -> None:
    if damaged:
        album.pictures.damage(plain("green"))
    else:
        album.pictures.lose(plain("green"))
    album.work()
    assert (album.counts().embedded, album.counts().refused) == (2, 1)
    album.add_images("green")  # it says the same as before
    assert (album.counts().refused, album.counts().missing) == (0, 1)
    enqueue_slot(album.graph, "backfill", "1")
    album.work()
    assert album.counts().embedded == 3


def test_unavailable_store_leaves_images_pending(album: Album, driver: neo4j.Driver) -> None:
    folder = album.pictures.folder
    away = folder.rename(folder.with_name("not mounted"))
    folder.mkdir()
    album.work()
    assert (album.counts().missing, album.counts().refused) == (3, 0)
    folder.rmdir()
    away.rename(folder)
    rows(driver, "MATCH (j:Job {state: 'queued'}) SET j.run_after = j.created_at, j.queued_at = j.created_at")
    album.work()
    assert album.counts().embedded == 3


def test_unavailable_model_leaves_images_pending(album: Album) -> None:
    well = check_image_models(album.image_spaces.list_all())
    assert [(each.ok, each.detail.endswith("for images in the space 'default_images'")) for each in well] == [
        (True, True)
    ]
    album.grid.down = True
    album.work()
    assert album.counts().missing == 3
    (ill,) = check_image_models(album.image_spaces.list_all())
    assert (ill.ok, "images are found only by their text" in ill.detail) == (False, True)
    album.grid.down = False
    assert album.image_spaces.list_all()[0].find_problem(), "it is told"


def _vector(driver: neo4j.Driver, name: str) -> list[float]:
    found = "MATCH (s:Image {document: $name}) RETURN s.embedding_default_images AS vector"
    return [round(each, 5) for each in rows(driver, found, name=name)[0]["vector"]]


def test_image_and_text_spaces_are_not_interchangeable(album: Album) -> None:
    album.add_space("fine")
    with pytest.raises(InvalidInput, match="is for images"):
        album.configure.change("notes", EmbeddingConfigChange(space="fine"), dry_run=False)
    with pytest.raises(ValueError, match="no models for pictures"):
        NewSpace(slug="x", modality="image", provider="local")
    with pytest.raises(ValueError, match="no models for texts"):
        NewSpace(slug="x", provider="onnx")
    with pytest.raises(Conflict, match="already exists"):
        album.add_space("fine", cells=8)
    with pytest.raises(NotFound):
        album.switch.build("none", SpaceBuild())


def test_another_model_under_the_same_name_embeds_nothing(graph: Graph, tmp_path: Path) -> None:
    first = Album(graph, tmp_path / "blobs")
    first.add_images("red")
    first.work()
    first.grid.revision = "2"
    other = Album(graph, tmp_path / "blobs")
    other.grid.revision = "2"
    other.image_spaces = open_image_spaces(graph, other.grid)
    other.add_images("blue")
    other.work()
    assert (other.counts().embedded, other.counts().missing) == (1, 1)
    assert "Add another space" in str(other.image_spaces.list_all()[0].find_problem())

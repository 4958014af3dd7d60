import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from kg_api.blobs.images import StoredFiles
from kg_api.blobs.store import FileBlobStore
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from kg_api.jobs.embedding import EmbeddingJob, ImageModel
from kg_api.providers.pixels import HistogramEmbedder
from kg_api.schemas.spaces import FIRST_IMAGE_SLUG
from kg_api.spaces.images import ImageSpaceRegistry
from tests.service.asking import Json, ingest, problem, search
from tests.service.test_formats import upload
from tests.support.colour_grid import unpack
from tests.support.embedding import run_jobs
from tests.support.images import drawn, encoded, exif
from tests.support.running import Service
from tests.unit.convert.test_epub import book

BOAT = encoded(
    drawn(600, 400),
    "JPEG",
    exif=exif({0x010E: "A red boat before the storm"}, gps=True, taken="2019:07:01 12:30:00"),
)


def blobs(service: Service) -> list[Path]:
    folder = service.log.parent / "home" / "blobs"
    return [path for path in folder.rglob("*/*") if path.is_file()]


@pytest.fixture
def empty(service: Service, http: httpx.Client) -> None:
    assert http.get("/images").json()["total"] == 0
    for path in blobs(service):
        path.unlink()


def one(answer: dict[str, Any]) -> dict[str, Any]:
    (hit,) = answer["sources"]
    return hit


@pytest.mark.usefixtures("empty")
def test_image_is_found_by_text_and_downloaded(http: httpx.Client, graph: Graph) -> None:
    stored = upload(http, BOAT, "holidays/IMG_0042.jpg")
    assert (stored["title"], stored["sources"]["added"]) == ("A red boat before the storm", 1)
    run_jobs(graph)
    hit = one(search(http, "red boat"))
    (counted,) = http.get("/ontologies").json()["ontologies"]
    assert (counted["sources"], counted["images"]) == (1, 1)
    assert hit["ranks"]["vector"] == hit["ranks"]["text"] == 1
    assert hit["full_text"] == "holidays IMG 0042\nA red boat before the storm\nTaken 2019-07-01"
    assert hit["metadata"] == {"date": "2019-07-01T12:30:00"}
    assert (hit["kind"], hit["format"]) == ("image", "image")
    image = hit["image"]
    assert (image["content_type"], image["width"], image["height"]) == ("image/jpeg", 600, 400)

    answer = http.get(f"/images/{hit['source_id']}")
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''IMG_0042.jpg"
    assert len(answer.content) == image["bytes"] < len(BOAT)  # without its place
    shown = Image.open(io.BytesIO(answer.content))
    assert shown.size == (600, 400)
    assert not shown.getexif().get_ifd(0x8825)
    tag = answer.headers["etag"]
    assert tag == f'"{image["storage_key"]}"'
    again = http.get(f"/images/{hit['source_id']}", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")

    for path in (f"/images/{hit['source_id']}", f"/images/{hit['source_id'][:8]}/thumbnail"):
        head = http.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["etag"] == http.get(path).headers["etag"]

    thumbnail = http.get(f"/images/{hit['source_id'][:8]}/thumbnail")
    assert thumbnail.headers["content-type"] == "image/webp"
    assert Image.open(io.BytesIO(thumbnail.content)).size == (256, 171)


def test_names_that_no_header_takes_are_cleaned(http: httpx.Client) -> None:
    upload(http, encoded(drawn()), "x.png", document='a"\u202egnp.\u200b\\b; x="y.png')
    (image,) = http.get("/images").json()["images"]
    answer = http.get(f"/images/{image['source_id']}")
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''b%3B%20x%3D%22y.png"


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize(
    "delete",
    [
        lambda http: http.post("/documents/delete", json={"where": ["kind=image"], "dry_run": False}),
        lambda http: http.delete("/documents/boat.jpg"),
        lambda http: http.delete("/ontologies/holidays"),
    ],
    ids=["filter", "name", "ontology"],
)
def test_deletion_deletes_the_files(
    http: httpx.Client, service: Service, delete: Callable[[httpx.Client], httpx.Response]
) -> None:
    upload(http, BOAT, "boat.jpg", ontology="holidays")
    assert len(blobs(service)) == 2, "the image and its thumbnail"
    assert delete(http).json()["documents"] == 1
    assert blobs(service) == []


def test_text_source_has_no_image(http: httpx.Client) -> None:
    upload(http, b"Only words.", "a.txt")
    source = one(search(http, "words", mode="text"))
    assert (source["kind"], source["image"]) == ("passage", None)
    assert "not an image" in problem(http.get(f"/images/{source['source_id']}"), 404)
    problem(http.get("/images/0123456789abcdef/thumbnail"), 404)


BEFORE, AFTER = ("Of the harbour much is said here. " * 9, "And of the ships still more is said. " * 9)
CHAPTER = f'<h1>Harbours</h1><p>{BEFORE}</p><img alt="Red boat" src="../images/boat.jpg"/><p>{AFTER}</p>'
PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="text/a.xhtml" '
    'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>'
)


def harbours(image: bytes) -> bytes:
    page = f"<html><body>{CHAPTER}</body></html>"
    return book(package=PACKAGE, more={"OEBPS/text/a.xhtml": page, "OEBPS/images/boat.jpg": image})


def test_book_image_is_placed_between_its_paragraphs(http: httpx.Client) -> None:
    stored = upload(http, harbours(BOAT), "harbours.epub")
    assert stored["sources"]["added"] == 3
    hit = one(search(http, "red boat", mode="text"))
    assert (hit["kind"], hit["format"], hit["heading"]) == ("image", "epub", ["Harbours"])
    assert hit["full_text"].strip() == "![Red boat](boat.jpg)"
    assert http.get(f"/images/{hit['source_id']}").headers["content-type"] == "image/jpeg"
    around = http.get(f"/sources/{hit['source_id']}/context", params={"window_size": 1}).json()["sources"]
    assert [each["kind"] for each in around] == ["passage", "image", "passage"]
    document = http.get(f"/documents/{stored['document_id']}").json()
    assert document["text"][hit["start"] : hit["end"]] == hit["full_text"]
    again = http.post(
        "/documents",
        files={"file": ("harbours.epub", harbours(encoded(drawn(90, 90))))},
        data={"ontology": "notes"},
    ).json()
    assert (again["change"], again["sources"]) == ("updated", {"added": 0, "kept": 3, "removed": 0})
    assert one(search(http, "red boat", mode="text"))["image"]["width"] == 90


SEARCH = "/queries/images/search"
PLAIN_BOAT = encoded(drawn(600, 400), "JPEG")


def search_by_image(http: httpx.Client, content: bytes, **fields: Any) -> httpx.Response:
    return http.post(SEARCH, files={"file": ("x.png", content)}, data=fields)


@pytest.fixture
def picture_id(http: httpx.Client, graph: Graph, service: Service) -> str:
    ensure_space(graph, HistogramEmbedder().identity, FIRST_IMAGE_SLUG)
    upload(http, harbours(PLAIN_BOAT), "harbours.epub")
    upload(http, encoded(drawn(90, 120).rotate(180)), "other.png", ontology="photos")
    store = StoredFiles(graph, FileBlobStore(service.log.parent / "home" / "blobs"))
    spaces = ImageSpaceRegistry(graph, lambda _: HistogramEmbedder(), unpack)
    run_jobs(graph, further=[EmbeddingJob(graph, "image", partial(ImageModel, spaces, store.read, 1), 4)])
    images = http.get("/images").json()["images"]
    return next(each["source_id"] for each in images if each["document"] == "harbours.epub")


def test_upload_finds_image_of_another_size(http: httpx.Client, picture_id: str) -> None:
    response = search_by_image(http, encoded(drawn(300, 200)))
    assert response.status_code == 200, response.text
    found = response.json()
    assert found["degraded"] == []
    assert found["images"][0]["source_id"] == picture_id
    assert found["source"] is None
    both = search_by_image(
        http, PLAIN_BOAT, ontology=["photos", "notes"], limit="1", where=["format=epub", "format exists"]
    )
    assert [each["source_id"] for each in both.json()["images"]] == [picture_id]
    narrow = search_by_image(
        http, PLAIN_BOAT, documents=["harbours.epub"], where='{"field": "format", "value": "epub"}'
    )
    assert [each["source_id"] for each in narrow.json()["images"]] == [picture_id]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"limit": "many"}, "limit"),
        ({"limit": "101"}, "limit"),
        ({"min_similarity": "NaN"}, "min_similarity"),
        ({"limit": ["1", "2"]}, "duplicate field"),
        ({"query_text": "a"}, "query_text"),
        ({"where": "nonsense"}, "where"),
        ({"ontology": "a`"}, "ontology"),
    ],
)
def test_unsupported_form_fields_are_rejected(http: httpx.Client, fields: Json, told: str) -> None:
    assert told in problem(search_by_image(http, PLAIN_BOAT, **fields), 422)


def test_passage_is_not_an_image(http: httpx.Client) -> None:
    ingest(http, "Only words.")
    source = http.post("/queries/sources/search", json={"query_text": "words"}).json()["sources"][0]
    told = problem(http.post(SEARCH, json={"source_id": source["source_id"]}), 422)
    assert "not an image" in told
    problem(http.post(SEARCH, json={"source_id": "0" * 32}), 404)

from __future__ import annotations

from typing import Any

import httpx
import pytest

from kg_api.graph.client import Graph
from tests.service.asking import Json, ingest, problem
from tests.service.test_formats import upload
from tests.support.embedding import run_jobs
from tests.support.images import drawn, encoded
from tests.unit.convert.test_images_within import book

SEARCH = "/queries/images/search"
BOAT = encoded(drawn(600, 400), "JPEG")
BEFORE, AFTER = ("Of the harbour much is said here. " * 9, "And of the ships still more is said. " * 9)
CHAPTER = f'<h1>Harbours</h1><p>{BEFORE}</p><img alt="Red boat" src="../images/boat.jpg"/><p>{AFTER}</p>'


def send(http: httpx.Client, content: bytes, **fields: Any) -> httpx.Response:
    return http.post(SEARCH, files={"file": ("x.png", content)}, data=fields)


def ask(http: httpx.Client, **asked: Any) -> Json:
    response = http.post(SEARCH, json=asked)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture
def picture_id(http: httpx.Client, graph: Graph) -> str:
    upload(http, book(CHAPTER, boat=BOAT), "harbours.epub")
    upload(http, encoded(drawn(90, 120).rotate(180)), "other.png", ontology="photos")
    run_jobs(graph)
    images = http.get("/images").json()["images"]
    return next(each["source_id"] for each in images if each["document"] == "harbours.epub")


def test_upload_finds_image_of_another_size(http: httpx.Client, picture_id: str) -> None:
    response = send(http, encoded(drawn(300, 200)))
    assert response.status_code == 200, response.text
    found = response.json()
    assert found["images"][0]["source_id"] == picture_id
    assert found["images"][0]["near_duplicate"]
    assert found["source"] is None
    assert send(http, BOAT, ontology="photos").json()["images"] == []
    both = send(http, BOAT, ontology=["photos", "notes"], limit="1", where=["format=epub", "format exists"])
    assert [each["source_id"] for each in both.json()["images"]] == [picture_id]
    narrow = send(http, BOAT, documents=["harbours.epub"], where='{"field": "format", "value": "epub"}')
    assert [each["source_id"] for each in narrow.json()["images"]] == [picture_id]


def test_stored_image_and_text_find_images(http: httpx.Client, picture_id: str) -> None:
    again = upload(http, encoded(drawn(150, 100)), "again.png")
    assert again["sources"]["added"] == 1
    like = ask(http, source_id=picture_id)
    assert like["source"]["source_id"] == picture_id
    assert (like["images"][0]["document"], like["images"][0]["near_duplicate"]) == ("again.png", True)
    assert picture_id not in [each["source_id"] for each in like["images"]]
    by_words = ask(http, query_text="red boat", ontology="notes")
    assert by_words["images"][0]["source_id"] == picture_id
    assert "words" in by_words["by"]


def test_image_finds_passages_and_passage_finds_images(http: httpx.Client, picture_id: str) -> None:
    answer: Json = http.post(f"/queries/sources/{picture_id}/related", json={}).json()
    assert [each["paragraph"] for each in answer["sources"]] == [0, 2]
    first = answer["sources"][0]["through"][0]
    assert (first["lane"], first["rank"], first["distance"]) == ("document", 1, 1)
    passage = answer["sources"][0]["source_id"]
    back: Json = http.post(f"/queries/sources/{passage}/related", json={"same_document": True}).json()
    assert [each["source_id"] for each in back["sources"]] == [picture_id]
    assert back["sources"][0]["image"]["content_type"] == "image/jpeg"
    assert "source" in problem(http.post("/queries/sources/none/related", json={}), 404)
    assert "colour" in problem(
        http.post(f"/queries/sources/{picture_id}/related", json={"colour": "red"}), 422
    )


def test_invalid_image_is_rejected(http: httpx.Client) -> None:
    assert "damaged" in problem(send(http, BOAT[:-500]), 422)
    assert http.get("/health").status_code == 200


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
    assert told in problem(send(http, BOAT, **fields), 422)


def test_bodies_that_are_none(http: httpx.Client) -> None:
    assert "multipart" in problem(http.post(SEARCH, content=b"x", headers={"Content-Type": "image/png"}), 415)
    assert "file" in problem(http.post(SEARCH, files={"other": ("a", b"x")}), 422)
    assert "file" in problem(http.post(SEARCH, files={"a": (None, "x")}), 422)
    problem(http.post(SEARCH, content=b"{", headers={"Content-Type": "application/json"}), 400)
    broken = {"Content-Type": "multipart/form-data; boundary=x"}
    problem(http.post(SEARCH, content=b"--y\r\n", headers=broken), 400, 422)


def test_file_is_limited_to_document_size(http: httpx.Client) -> None:
    assert "larger than" in problem(send(http, bytes(70_000_000)), 413)
    assert send(http, BOAT + bytes(9_000_000)).status_code in {200, 422}


def test_passage_is_not_an_image(http: httpx.Client) -> None:
    ingest(http, "Only words.")
    source = http.post("/queries/sources/search", json={"query_text": "words"}).json()["sources"][0]
    told = problem(http.post(SEARCH, json={"source_id": source["source_id"]}), 422)
    assert "not an image" in told
    problem(http.post(SEARCH, json={"source_id": "0" * 32}), 404)

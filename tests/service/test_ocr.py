"""A page that is a picture is found by a sentence of it, and says that OCR read it."""

from __future__ import annotations

import httpx

from kg_api.graph.client import Graph
from kg_api.schemas.documents import unpack
from tests.service.asking import search
from tests.service.test_formats import upload
from tests.support.pictures import pictured

WRITTEN = "Apricots ripen early in July."
PICTURED = "Blueberries need acid soil."


def test_a_picture_is_found_by_its_sentence_and_marked(http: httpx.Client, graph: Graph) -> None:
    answer = upload(http, pictured([WRITTEN], [PICTURED], text_pages=[1]), "fruit.pdf")
    assert any("page 2 was read by OCR" in note for note in answer["notes"])
    hits = search(http, PICTURED, mode="text", ontology="notes")["sources"]
    hit = next(each for each in hits if PICTURED in each["full_text"])
    assert (hit["page"], hit["last_page"], hit["ocr"]) == (1 if WRITTEN in hit["full_text"] else 2, 2, True)
    assert 0.5 < hit["ocr_confidence"] <= 1
    assert "word_boxes" not in hit
    assert "word_boxes" not in http.get(f"/sources/{hit['source_id']}").text
    stored = graph.read("documents/source_places", document_ids=[answer["document_id"]])
    row = next(each["word_boxes"] for each in stored if each["source_id"] == hit["source_id"])
    document = http.get(f"/documents/{answer['document_id']}").json()["text"]
    words = unpack(row, hit["start"])
    assert " ".join(document[word.start : word.end] for word in words) == PICTURED
    assert {word.page for word in words} == {2}


def test_a_page_of_text_is_not_marked(http: httpx.Client) -> None:
    upload(http, pictured([WRITTEN], text_pages=[1]), "fruit.pdf")
    (hit,) = search(http, WRITTEN, mode="text", ontology="notes")["sources"]
    assert (hit["ocr"], hit["ocr_confidence"]) == (False, None)

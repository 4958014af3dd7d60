import io
from typing import Any

import httpx
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from kg_api.graph.client import Graph
from kg_api.schemas.documents import unpack
from tests.service.asking import problem, search
from tests.support.pictures import pictured

SAID = ("Apricots ripen in July.", "Blueberries need acid soil.", "Cherries split after rain.")
PAGE = """<html lang="en"><head><title>Fruit of the garden</title><meta name="author" content="Ada">
</head><body><nav>Home Shop</nav><main><h1>Berries</h1><p>Blueberries need <b>acid</b> soil.</p></main></body>
</html>"""


def pdf() -> bytes:
    made = io.BytesIO()
    canvas = Canvas(made, invariant=1)
    canvas.setTitle("The fruit garden")
    canvas.setAuthor("Ada Lovelace")
    for sentence in SAID:
        canvas.drawString(72, 700, sentence)
        canvas.showPage()
    canvas.save()
    return made.getvalue()


def found(http: httpx.Client, query: str) -> list[dict[str, Any]]:
    return search(http, query, mode="text")["sources"]


def upload(http: httpx.Client, content: bytes, name: str, **fields: str) -> dict[str, Any]:
    response = http.post("/documents", files={"file": (name, content)}, data={"ontology": "notes", **fields})
    assert response.status_code == 202, response.text
    return response.json()


def test_pdf_is_found_by_text_with_its_page(http: httpx.Client) -> None:
    answer = upload(http, pdf(), "garden.pdf")
    assert answer["title"] == "The fruit garden"
    (hit,) = [each for each in found(http, "cherries") if "Cherries" in each["full_text"]]
    assert hit["title"] == "The fruit garden"
    assert hit["page"] <= 3 == hit["last_page"]
    assert hit["format"] == "pdf"
    assert hit["metadata"]["author"] == "Ada Lovelace"
    document = http.get(f"/documents/{answer['document_id']}").json()
    assert document["text"][hit["start"] : hit["end"]] == hit["full_text"]
    assert all(sentence in document["text"] for sentence in SAID)
    for page, records in ((3, 1), (99, 0)):
        asked = {"text": "cherries", "mode": "text", "where": [f"page={page}", "kind=passage"]}
        told = http.post("/queries/augment", json=asked).json()
        assert [each["page"] for each in told["records"]] == [hit["page"]] * records
        assert http.get("/documents", params={"where": f"page={page}"}).json()["total"] == records


def test_html_may_be_sent_as_text_unlike_pdf(http: httpx.Client) -> None:
    documents = [
        {"ontology": "notes", "document": "a.html", "text": PAGE},
        {"ontology": "notes", "document": "b.pdf", "text": "words"},
        {"ontology": "notes", "document": "c.md", "text": "words"},
    ]
    page, refused, text = http.post("/documents/batch", json={"documents": documents}).json()["outcomes"]
    assert page["ingested"]["title"] == "Fruit of the garden"
    assert refused["problem"]["status"] == 422
    assert "kg ingest FILE" in refused["problem"]["detail"]
    assert text["ingested"]["change"] == "created"


WRITTEN = "Apricots ripen early in July."
PICTURED = "Blueberries need acid soil."


def test_ocr_text_is_found_and_marked(http: httpx.Client, graph: Graph) -> None:
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


def hit_of(http: httpx.Client, text: str) -> dict[str, Any]:
    hits = search(http, text, mode="text", ontology="notes")["sources"]
    return next(each for each in hits if text in each["full_text"])


def boxed(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    return int(answer.headers["kg-boxed-words"])


def colours(answer: httpx.Response) -> bool:
    return Image.open(io.BytesIO(answer.content)).mode == "RGB"


def test_page_image_is_returned_and_cached(http: httpx.Client) -> None:
    stored = upload(http, pdf(), "garden/fruit.pdf")
    answer = http.get(f"/documents/{stored['document_id']}/pages/2.png")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"] == "inline; filename*=UTF-8''fruit-2.png"
    assert (answer.headers["kg-pages"], boxed(answer), colours(answer)) == ("3", 0, False)
    head = http.head(f"/documents/{stored['document_id']}/pages/2.png")
    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", answer.headers["etag"])
    picture = Image.open(io.BytesIO(answer.content))
    assert (picture.format, picture.width) == ("PNG", 1200)
    tag = {"If-None-Match": answer.headers["etag"]}
    again = http.get(f"/documents/{stored['document_id']}/pages/2.png", headers=tag)
    assert (again.status_code, again.content) == (304, b"")
    for other in ("1.png", "2.png?width=300", "2.png?query=soil"):
        assert http.get(f"/documents/{stored['document_id']}/pages/{other}", headers=tag).status_code == 200
    same = http.get("/documents/garden%2Ffruit.pdf/pages/2.png?ontology=notes")
    assert same.content == answer.content


def test_words_of_hit_and_question_are_boxed(http: httpx.Client) -> None:
    stored = upload(http, pdf(), "fruit.pdf")
    page = f"/documents/{stored['document_id']}/pages/2.png"
    hit = hit_of(http, SAID[1])
    assert (hit["page"], hit["last_page"]) == (1, 3)  # three short pages are one source
    answer = http.get(page, params={"source_id": hit["source_id"]})
    assert (boxed(answer), colours(answer)) == (4, True)
    assert boxed(http.get(page, params={"query": "blueberry"})) == 1  # as full text finds it
    assert boxed(http.get(page, params={"query": "acid soil"})) == 2
    assert boxed(http.get(page, params={"query": "apricots"})) == 0  # they are on another page
    assert boxed(http.get(page, params={"query": "soil acid", "source_id": hit["source_id"][:8]})) == 6


def test_invalid_page_request_is_rejected(http: httpx.Client) -> None:
    upload(http, pdf(), "fruit.pdf")
    widths = ("width=99", "width=2401", "width=x", "width=300&width=400")
    for query in (*widths, "query=", "colour=red", "source_id="):
        problem(http.get(f"/documents/fruit.pdf/pages/1.png?{query}"), 422)
    http.post("/documents", json={"ontology": "notes", "document": "b.md", "text": "Apricots."})
    page = "/documents/fruit.pdf/pages/1.png"
    assert "'notes/b.md'" in problem(http.get(page, params={"source_id": "notes/b.md#0"}), 422)
    assert problem(http.get(page, params={"source_id": "0" * 32}), 404)

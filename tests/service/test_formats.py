"""Files of other kinds than text: taken in, found, and told by their page."""

from __future__ import annotations

import io
from typing import Any

import httpx
import pytest
from docx import Document
from reportlab.pdfgen.canvas import Canvas

from tests.service.asking import problem, search

SAID = ("Apricots ripen in July.", "Blueberries need acid soil.", "Cherries split after rain.")
PAGE = """<html lang="en"><head><title>Fruit of the garden</title><meta name="author" content="Ada">
</head><body><nav>Home Shop</nav><main><h1>Berries</h1><p>Blueberries need <b>acid</b> soil.</p></main></body>
</html>"""


def pdf() -> bytes:
    """A page for each sentence."""
    made = io.BytesIO()
    canvas = Canvas(made, invariant=1)
    canvas.setTitle("The fruit garden")
    canvas.setAuthor("Ada Lovelace")
    for sentence in SAID:
        canvas.drawString(72, 700, sentence)
        canvas.showPage()
    canvas.save()
    return made.getvalue()


def docx() -> bytes:
    """A heading and a paragraph."""
    made, document = io.BytesIO(), Document()
    document.core_properties.author = "Grace"
    document.add_heading("Berries", 1)
    document.add_paragraph(SAID[1])
    document.save(made)
    return made.getvalue()


def found(http: httpx.Client, query: str) -> list[dict[str, Any]]:
    """What full text finds."""
    return search(http, query, mode="text")["sources"]


def upload(http: httpx.Client, content: bytes, name: str, **fields: str) -> dict[str, Any]:
    response = http.post("/documents", files={"file": (name, content)}, data={"ontology": "notes", **fields})
    assert response.status_code == 202, response.text
    return response.json()


def test_a_pdf_is_found_by_its_words_on_their_page(http: httpx.Client) -> None:
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


def test_each_page_with_much_on_it_is_told(http: httpx.Client) -> None:
    made = io.BytesIO()
    canvas = Canvas(made)
    for sentence in SAID:
        for line in range(40):
            canvas.drawString(72, 750 - 16 * line, f"{line}: {sentence} And so on, for as long as it takes.")
        canvas.showPage()
    canvas.save()
    upload(http, made.getvalue(), "garden.pdf")
    pages = {each["page"] for each in found(http, "cherries")}
    assert 3 in pages
    assert {each["page"] for each in found(http, "apricots")} >= {1}


@pytest.mark.parametrize(
    ("name", "content", "author"), [("a.html", PAGE.encode(), "Ada"), ("a.docx", docx(), "Grace")]
)
def test_pages_and_word_files_come_without_what_is_around_them(
    http: httpx.Client, name: str, content: bytes, author: str
) -> None:
    upload(http, content, name)
    (hit,) = found(http, "blueberries")
    assert hit["full_text"].strip() == f"# Berries\n\n{SAID[1]}"
    assert (hit["heading"], hit["metadata"]["author"], hit["page"]) == (["Berries"], author, None)


def test_what_a_client_says_wins_over_the_file(http: httpx.Client) -> None:
    answer = upload(http, PAGE.encode(), "a.html", title="Mine", metadata='{"author": "me"}')
    document = http.get(f"/documents/{answer['document_id']}").json()
    assert (document["title"], document["metadata"]["author"]) == ("Mine", "me")


def test_the_same_file_again_is_no_change(http: httpx.Client) -> None:
    upload(http, pdf(), "garden.pdf")
    again = http.post("/documents", files={"file": ("garden.pdf", pdf())}, data={"ontology": "notes"})
    assert again.json()["change"] == "unchanged"
    same = http.post("/documents", files={"file": ("a.html", PAGE)}, data={"ontology": "notes"})
    assert same.json()["change"] == "created"
    same = http.post("/documents", files={"file": ("a.html", PAGE)}, data={"ontology": "notes"})
    assert same.json()["change"] == "unchanged"


def test_html_may_come_as_text_and_in_a_batch_and_a_pdf_may_not(http: httpx.Client) -> None:
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


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.epub", "a.xlsx", "a.pptx", "a.ipynb"])
def test_a_broken_file_is_refused_with_what_to_do(http: httpx.Client, name: str) -> None:
    response = http.post(
        "/documents", files={"file": (name, b"PK\x03\x04 broken")}, data={"ontology": "notes"}
    )
    assert problem(response, 422)
    assert http.get("/ontologies").json()["ontologies"] == []


def test_a_preview_converts_as_well(http: httpx.Client) -> None:
    preview = http.post(
        "/documents/preview", files={"file": ("a.docx", docx())}, data={"ontology": "notes"}
    ).json()
    assert preview["sources"]["added"] == 1


def test_front_matter_is_metadata_and_no_passage(http: httpx.Client) -> None:
    text = "---\ntitle: On berries\ndate: 2025-03-01\ntags: [garden, acid]\n---\n\n# Soil\n\nBlueberries.\n"
    answer = upload(http, text.encode(), "soil.md", metadata='{"tags": ["ours"]}')
    (hit,) = found(http, "blueberries")
    assert (hit["title"], hit["metadata"]) == ("On berries", {"date": "2025-03-01", "tags": ["ours"]})
    assert not [each for each in found(http, "acid") if "acid" in each["full_text"]]
    document = http.get(f"/documents/{answer['document_id']}").json()
    assert (document["text"], document["characters"]) == (text, len(text))
    assert text[hit["start"] : hit["end"]] == hit["full_text"]

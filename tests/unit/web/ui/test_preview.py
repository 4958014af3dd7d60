from datetime import UTC, datetime

from lxml.html import document_fromstring

from kg_api.schemas.documents import DocumentSummary
from kg_api.schemas.search import Place, WordMatch
from kg_api.web.ui.rendering import Question, render
from tests.support.hits import make_place

BEES = DocumentSummary(
    document_id="d1",
    ontology="notes",
    document="bees.pdf",
    title="Bees",
    uri=None,
    format="pdf",
    characters=30,
    sources=2,
    updated_at=datetime(2026, 1, 1, tzinfo=UTC),
    metadata={},
)


def place(paragraph: int, text: str, page: int | None) -> Place:
    return make_place(f"s{paragraph}", text, document_id="d1", paragraph=paragraph, page=page)


def show(form: str, page: int | None, number: int | None = 2) -> str:
    marked = [
        (place(3, "Bees **dance** <b>.", page), [WordMatch(start=7, end=12)]),
        (place(4, "After it.", page), []),
    ]
    document = BEES.model_copy(update={"format": form})
    shown = {"question": Question("dance"), "document": document, "marked": marked, "number": number}
    return bytes(render("reading/preview.html", shown).body).decode()


def test_preview_of_markdown_marks_passage_and_words() -> None:
    page = document_fromstring(show("markdown", None))
    (hit,) = page.xpath("//section[@class='passage hit']")
    assert hit.xpath(".//strong/mark/text()") == ["dance"]
    assert "<b>" in hit.text_content()
    assert len(page.xpath("//section")) == 2
    assert page.xpath("//h2/a/@href") == ["/ui/read/d1?at=3&hit=2&q=dance#p3"]
    assert not page.xpath("//img")


def test_preview_of_pdf_shows_page_with_boxed_words() -> None:
    (image,) = document_fromstring(show("pdf", 7)).xpath("//img/@src")
    assert image == "/documents/d1/pages/7.png?source_id=s3&query=dance"

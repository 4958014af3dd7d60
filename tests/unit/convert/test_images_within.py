from __future__ import annotations

import base64
import io
import zipfile
from typing import Any, cast

import docx
import pptx
import pytest
from docx.shared import Inches
from pptx.util import Inches as SlideInches

from kg_api.blobs.images import ImageKeeper
from kg_api.convert.docx.document import convert as convert_docx
from kg_api.convert.epub import convert as convert_epub
from kg_api.convert.html.page import convert as convert_html
from kg_api.convert.image import embedded
from kg_api.convert.pptx import convert as convert_pptx
from kg_api.ingest.reader import place_images
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.documents import Converted, SourceRecord
from tests.support.images import drawn, encoded

BOAT, PLAN = encoded(drawn(64, 48), "JPEG"), encoded(drawn(40, 90))


def sources(made: Converted, form: str = "html") -> list[SourceRecord]:
    kept = ImageKeeper().keep([each.image for each in made.images])
    placed = place_images(made.images, kept.images)
    incoming = Incoming("notes", "x", made.text, format=form, images=placed)  # pyright: ignore[reportArgumentType]
    return list(to_record(incoming)[0].sources)


def shown(made: Converted) -> list[tuple[str, str | None]]:
    return [
        (each.full_text.strip(), each.image.content_type if each.image else None) for each in sources(made)
    ]


def uri(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def page(body: str) -> bytes:
    return f"<html><body><main>{body}</main></body></html>".encode()


def test_html_image_is_placed_between_paragraphs() -> None:
    before, after = "Before it. " * 12, "After it. " * 12
    made = convert_html(page(f'<p>{before}</p><img alt="A red boat" src="{uri(BOAT)}"><p>{after}</p>'))
    assert shown(made) == [
        (before.strip(), None),
        ("![A red boat](image)", "image/jpeg"),
        (after.strip(), None),
    ]
    (found,) = made.images
    assert made.text[found.start : found.end] == "![A red boat](image)"


def test_captions_and_preceding_text_describe_an_image() -> None:
    figure = f'<figure><img alt="A boat" src="{uri(BOAT)}"><figcaption>In the bay</figcaption></figure>'
    bare = f'<p>Of the harbour there is a plan.</p><img src="{uri(PLAN)}">'
    made = convert_html(page(figure + bare))
    assert made.text == (
        "![A boat. In the bay](image)\n\nIn the bay\n\nOf the harbour there is a plan.\n\n"
        "![Of the harbour there is a plan.](image)\n"
    )


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:1/boat.png",
        "//127.0.0.1/boat.png",
        "file:///etc/passwd",
        "../../boat.png",
        "data:image/png;base64,!!!",
        "data:text/html;base64,PGI+",
        uri(b"<svg/>", "image/svg+xml"),
        uri(encoded(drawn(16, 16))),
        "",
    ],
)
def test_remote_damaged_or_tiny_images_leave_their_text(address: str) -> None:
    made = convert_html(page(f'<p>Look: <img alt="A boat" src="{address}"></p>'))
    assert (made.text, made.images) == ("Look: A boat\n", ())


def test_there_is_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "MAX_IMAGES", 2)
    made = convert_html(page(f'<img alt="A boat" src="{uri(BOAT)}">' * 5))
    assert len(made.images) == 2
    assert made.notes == ("skipped: images beyond the first 2 (3)",)


def book(chapter: str, **files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        )
        archive.writestr(
            "OEBPS/book.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
            '<item id="a" href="text/a.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="a"/></spine></package>',
        )
        archive.writestr("OEBPS/text/a.xhtml", f"<html><body>{chapter}</body></html>")
        for name, content in files.items():
            archive.writestr(f"OEBPS/images/{name.replace('__', ' ')}.jpg", content)
    return made.getvalue()


def test_images_of_an_epub_are_read() -> None:
    chapter = (
        '<p>The boat.</p><img alt="Red" src="../images/red%20boat.jpg"/><p>No more.</p>'
        '<img alt="Broken" src="../images/broken.jpg"/><img alt="Gone" src="../images/gone.jpg"/>'
        '<img alt="Out" src="../../../../etc/passwd"/>'
    )
    made = convert_epub(book(chapter, red__boat=BOAT, broken=BOAT[:99]))
    assert made.text == "The boat.\n\n![Red](red%20boat.jpg)\n\nNo more.\n\nBroken Gone Out\n"
    assert [each.image.content_type for each in sources(made, "epub") if each.image] == ["image/jpeg"]
    assert made.notes == ("skipped: images in an unsupported format, or damaged (1)",)


def test_images_of_a_word_document_are_read() -> None:
    made, document = io.BytesIO(), docx.Document()
    document.add_paragraph("The harbour.")
    document.add_picture(io.BytesIO(BOAT), Inches(2))
    document.add_paragraph("The end.")
    document.save(made)
    found = convert_docx(made.getvalue())
    assert [each.image.content_type for each in found.images] == ["image/jpeg"]
    assert [text for text, kind in shown(found) if kind] == ["![The harbour.](image1)"]
    assert [
        text.strip() for text in (found.text[: found.images[0].start], found.text[found.images[0].end :])
    ] == ["The harbour.", "The end."]


def test_images_of_slides_are_read_with_their_slide() -> None:
    made, slides = io.BytesIO(), cast("Any", pptx).Presentation()
    for title in ("Harbour", "Ships"):
        slide = slides.slides.add_slide(slides.slide_layouts[5])
        slide.shapes.title.text = title
        picture = slide.shapes.add_picture(io.BytesIO(BOAT), SlideInches(1), SlideInches(3))
        picture._element.nvPicPr.cNvPr.set("descr", f"{title} seen from above")
    slides.save(made)
    found = convert_pptx(made.getvalue())
    assert [found.text[each.start : each.end] for each in found.images] == [
        "![Harbour seen from above](image.jpg)",
        "![Ships seen from above](image.jpg)",
    ]
    assert len(found.pages) == 2
    assert found.pages[1] < found.images[1].start

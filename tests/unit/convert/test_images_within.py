import base64
import io
from email.message import EmailMessage
from typing import Any, cast

import docx
import nbformat
import pptx
import pytest
from docx.shared import Inches
from pptx.util import Inches as SlideInches

from kg_api.blobs.images import ImageKeeper
from kg_api.convert.docx.document import convert as convert_docx
from kg_api.convert.epub import convert as convert_epub
from kg_api.convert.html.page import convert as convert_html
from kg_api.convert.image import embedded
from kg_api.convert.mail import convert as convert_mail
from kg_api.convert.notebook import convert as convert_notebook
from kg_api.convert.pptx import convert as convert_pptx
from kg_api.ingest.reader import place_images
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.documents import Converted, SourceRecord
from kg_api.settings import ConversionSettings
from tests.support.images import drawn, encoded, png_of
from tests.unit.convert.test_epub import book
from tests.unit.convert.test_notebook import new

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


def test_images_can_be_omitted() -> None:
    settings = ConversionSettings(images_within=False)
    made = convert_html(page(f'<p>The bay.</p><img alt="A boat" src="{uri(BOAT)}">'), settings)
    assert (made.text, made.images, made.notes) == ("The bay.\n\nA boat\n", (), ())


def test_images_of_an_epub_are_read() -> None:
    chapter = (
        '<p>The boat.</p><img alt="Red" src="../images/red%20boat.jpg"/><p>No more.</p>'
        '<img alt="Broken" src="../images/broken.jpg"/><img alt="Gone" src="../images/gone.jpg"/>'
        '<img alt="Out" src="../../../../etc/passwd"/>'
    )
    images = {"red boat": BOAT, "broken": BOAT[:99]}
    more = {f"OEBPS/images/{name}.jpg": content for name, content in images.items()}
    made = convert_epub(book(more={**more, "OEBPS/text/one a.xhtml": f"<html><body>{chapter}</body></html>"}))
    assert (
        made.text.partition("A note.\n\n")[2]
        == "The boat.\n\n![Red](red%20boat.jpg)\n\nNo more.\n\nBroken Gone Out\n"
    )
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
    (image,) = found.images
    assert (found.text[: image.start].strip(), found.text[image.end :].strip()) == (
        "The harbour.",
        "The end.",
    )


def test_image_in_a_word_table_follows_the_table() -> None:
    made, document = io.BytesIO(), docx.Document()
    table = document.add_table(2, 2)
    for at, text in enumerate(("Name", "Look", "Boat")):
        table.cell(at // 2, at % 2).text = text
    table.cell(1, 1).paragraphs[0].add_run().add_picture(io.BytesIO(BOAT), Inches(2))
    document.save(made)
    found = convert_docx(made.getvalue())
    assert found.text == "| Name | Look |\n| --- | --- |\n| Boat |  |\n\n![Boat](image1)\n"


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


def message(text: str, html: str = "", **images: bytes) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["Subject"] = "a@a.example", "Boats"
    made.set_content(text)
    if html:
        made.add_alternative(html, subtype="html")
        for identity, content in images.items():
            part: Any = made.get_payload(1)
            part.add_related(content, "image", "jpeg", cid=f"<{identity}@a>", filename=f"{identity}.jpg")
    return made


def attached(made: EmailMessage, content: bytes, name: str, kind: str = "png") -> EmailMessage:
    made.add_attachment(content, maintype="image", subtype=kind, filename=name)
    return made


def words(text: str) -> list[str]:
    return text.strip().split("\n\n")[2:]


def test_html_mail_shows_its_embedded_images() -> None:
    others = '<img src="cid:gone"><img src="http://127.0.0.1:1/b.png">'
    html = f'<p>Look.</p><img alt="A boat" src="cid:boat%40a"><p>The end.</p>{others}'
    made = convert_mail(message("", html, boat=BOAT).as_bytes())
    assert words(made.text) == ["Look.", "![A boat](image)", "The end."]
    (found,) = made.images
    assert made.text[found.start : found.end] == "![A boat](image)"
    assert [each.image.content_type for each in sources(made, "email") if each.image] == ["image/jpeg"]


def test_html_mail_shows_images_in_its_text() -> None:
    made = convert_mail(message("", f'<p>Look.</p><img alt="A boat" src="{uri(BOAT)}">').as_bytes())
    assert words(made.text) == ["Look.", "![A boat](image)"]


def test_attached_images_keep_their_position() -> None:
    made = attached(message("See below."), PLAN, "Plan of 1911.png")
    attached(made, BOAT, "boat.jpg", "jpeg")
    made.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="plan.pdf")
    found = convert_mail(made.as_bytes())
    assert words(found.text) == ["See below.", "![Plan of 1911](Plan%20of%201911.png)", "![boat](boat.jpg)"]
    assert [each.image.height for each in found.images] == [90, 48]
    assert found.notes == ("attachments that were not read: plan.pdf",)


def test_invalid_attached_images_are_reported() -> None:
    made = attached(message("See below."), b"<svg/>", "drawing.svg", "svg+xml")
    attached(made, BOAT[:300], "cut.jpg", "jpeg")
    attached(made, png_of(50_000, 50_000), "bomb.png")
    attached(made, encoded(drawn(9, 9)), "dot.png")
    found = convert_mail(made.as_bytes())
    assert found.images == ()
    assert found.notes == (
        "attachments that were not read: drawing.svg, cut.jpg, bomb.png, dot.png",
        "skipped: images in an unsupported format, or damaged (3)",
    )


def notebook(text: str, source: str, content: bytes) -> bytes:
    """Return a notebook with a text and a figure that the code draws."""
    image = base64.encodebytes(content).decode()
    data = {"image/png": image, "text/plain": "<Figure size 640x480 with 1 Axes>"}
    drawn = new.new_code_cell(source, outputs=[new.new_output("display_data", data=data)])
    book = new.new_notebook(cells=[new.new_markdown_cell(text), drawn])
    return cast("Any", nbformat).writes(book).encode()


def test_notebook_image_is_described_by_preceding_text() -> None:
    made = convert_notebook(notebook("# Harbour\n\nShips by year.", 'ax.set_title("Ships")', PLAN))
    assert made.text.rstrip().endswith("\n```\n\n![Ships by year.](output)")
    assert "<Figure" not in made.text
    assert [each.image.height for each in made.images] == [90]
    assert [each.image.content_type for each in sources(made, "notebook") if each.image] == ["image/png"]


def test_images_in_html_tables_follow_the_table() -> None:
    rows = (
        f'<tr><th>Name</th><th>Look</th></tr><tr><td>Boat</td><td><img alt="Red" src="{uri(BOAT)}"></td></tr>'
        f'<tr><td>Plan of 1911</td><td><img src="{uri(PLAN)}"></td></tr>'
        f'<tr hidden><td>x</td><td><img src="{uri(PLAN)}"></td></tr>'
    )
    made = convert_html(page(f"<p>Before.</p><table>{rows}</table><p>After.</p>"))
    table, *rest = made.text.strip().split("\n\n")[1:]
    assert table.splitlines()[2:4] == ["| Boat | Red |", "| Plan of 1911 |  |"]
    assert rest == ["![Red](image)", "![Plan of 1911](image)", "After."]
    assert len(made.images) == 2

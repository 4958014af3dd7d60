import io
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pypdfium2 as pdfium
from reportlab.lib.enums import TA_JUSTIFY
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate, Paragraph, Preformatted

STYLES = getSampleStyleSheet()
BODY = ParagraphStyle(
    "body", fontName="Times-Roman", fontSize=10, leading=12, alignment=TA_JUSTIFY, spaceAfter=6
)
WIDTH, HEIGHT = 595.0, 842.0

_TEXT = """\
The harbour master of Klippan kept two books. In the first he wrote the ships that came, in the
second those that did not, and the second was the thicker one. Nobody had asked him to keep it.

When the railway reached the coast in 1893 the ferry stopped, and with it went the inn, the rope
walk and most of the children; what stayed were the gulls, the books, and a well-kept garden behind
the customs house.

Visitors to the museum find both volumes open under glass. The ink of the first has faded to brown.
That of the second is still black, which chemists explain by its iron, and the warden by the care
with which it was written.

An inventory of 1911 lists a clock without hands, eleven lamps, a barometer by Adie of Edinburgh,
and a telescope whose lens shows the island twice. All of these are in the collection, save for one
lamp.
"""
STORY = tuple(" ".join(text.split()) for text in _TEXT.split("\n\n"))


def words(text: str) -> list[str]:
    """The words as a reader sees them, without marks of Markdown at the beginnings of lines."""
    bare = re.sub(r"(?m)^(?:#{1,6} |- |\\|```.*$)", "", text)
    return bare.split()


def story(
    *flowables: Flowable, columns: int = 1, on_page: Callable[[Canvas, Any], None] | None = None
) -> bytes:
    """Give a document that flows through one column a page or several."""
    gap, margin = 20.0, 72.0
    width = (WIDTH - 2 * margin - gap * (columns - 1)) / columns
    frames = [
        Frame(margin + i * (width + gap), margin, width, HEIGHT - 2 * margin, 0, 0, 0, 0)
        for i in range(columns)
    ]
    buffer = io.BytesIO()
    document = BaseDocTemplate(buffer, pagesize=(WIDTH, HEIGHT))
    template = partial(PageTemplate, frames=frames)
    document.addPageTemplates([template(onPage=on_page) if on_page else template()])
    document.build(list(flowables))
    return buffer.getvalue()


def paragraphs(texts: Sequence[str], style: ParagraphStyle = BODY) -> list[Flowable]:
    return [Paragraph(text, style) for text in texts]


def heading(text: str, level: int = 1) -> Flowable:
    return Paragraph(text, STYLES[f"Heading{level}"])


def listing(code: str) -> Flowable:
    return Preformatted(code, ParagraphStyle("code", fontName="Courier", fontSize=9, leading=11))


def drawn(*pages: Callable[[Canvas], None], **options: Any) -> bytes:
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(WIDTH, HEIGHT), **options)
    for page in pages:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def lines(*texts: str, x: float = 72, y: float = 740, font: str = "Times-Roman", size: float = 10) -> Any:
    """Give a page that has these lines, one below the other."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont(font, size)
        for i, text in enumerate(texts):
            canvas.drawString(x, y - 12 * i, text)

    return draw


def picture_of(page: Callable[[Canvas], None], dpi: int = 200) -> Callable[[Canvas], None]:
    drawing = pdfium.PdfDocument(drawn(page))[0]
    scale: Any = dpi / 72
    picture = ImageReader(drawing.render(scale=scale, grayscale=True).to_pil())

    def draw(canvas: Canvas) -> None:
        canvas.drawImage(picture, 0, 0, WIDTH, HEIGHT)

    return draw

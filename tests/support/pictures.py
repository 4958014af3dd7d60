import io
from collections.abc import Sequence
from typing import Any

import pypdfium2 as pdfium
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

SIZE = (420.0, 120.0)


def pictured(*pages: Sequence[str], text_pages: Sequence[int] = ()) -> bytes:
    """Return a PDF with these lines. They are images, but you can pass pages to use text on."""
    made = io.BytesIO()
    canvas = Canvas(made, pagesize=SIZE, invariant=1)
    for number, lines in enumerate(pages, 1):
        if number in text_pages:
            _write(canvas, lines)
        else:
            canvas.drawImage(_picture(lines), 0, 0, *SIZE)
        canvas.showPage()
    canvas.save()
    return made.getvalue()


def _picture(lines: Sequence[str]) -> ImageReader:
    made = io.BytesIO()
    canvas = Canvas(made, pagesize=SIZE)
    _write(canvas, lines)
    canvas.save()
    scale: Any = 200 / 72
    return ImageReader(pdfium.PdfDocument(made.getvalue())[0].render(scale=scale, grayscale=True).to_pil())


def _write(canvas: Canvas, lines: Sequence[str]) -> None:
    canvas.setFont("Times-Roman", 14)
    for at, line in enumerate(lines):
        canvas.drawString(20, 90 - 18 * at, line)

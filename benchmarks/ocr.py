"""OCR of pages that are pictures: words right and wrong, sentences that are whole, seconds and memory a page.

    python -m benchmarks.ocr --pages 1

The text of the Apache-2.0 licence is drawn in three fonts, in one column and in two, made a picture of 150
or 200 dpi with light noise, and read through the processes that convert files.
"""

from __future__ import annotations

import argparse
import io
import resource
import time
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2 as pdfium
from PIL import Image
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph

from kg_api.convert.isolated.pool import ConverterPool
from kg_api.settings import ConversionSettings

ROOT = Path(__file__).parents[1]
FONTS = (("Times-Roman", 10, 1), ("Helvetica", 11, 1), ("Courier", 9, 1), ("Times-Roman", 9, 2))
WIDTH, HEIGHT = 595.0, 842.0


def paragraphs() -> list[str]:
    """Real text without markup: each paragraph on one line."""
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    blocks = [" ".join(block.split()) for block in licence.split("\n\n")]
    return [block for block in blocks if len(block) > 80 and "http" not in block]


def drawn(font: str, size: int, columns: int, pages: int) -> tuple[bytes, list[str]]:
    """A PDF of text, and the words of each page as PDFium gives them."""
    margin, gap = 60.0, 20.0
    width = (WIDTH - 2 * margin - gap * (columns - 1)) / columns
    frames = [
        Frame(margin + i * (width + gap), margin, width, HEIGHT - 2 * margin, 0, 0, 0, 0)
        for i in range(columns)
    ]
    style = ParagraphStyle("p", fontName=font, fontSize=size, leading=size * 1.25, spaceAfter=size * 0.7)
    buffer = io.BytesIO()
    document = BaseDocTemplate(buffer, pagesize=(WIDTH, HEIGHT))
    document.addPageTemplates([PageTemplate(frames=frames)])
    document.build([Paragraph(text, style) for text in paragraphs() * 3])
    read = pdfium.PdfDocument(buffer.getvalue())
    kept = pdfium.PdfDocument.new()
    kept.import_pages(read, list(range(pages)))
    out = io.BytesIO()
    kept.save(out)
    return out.getvalue(), [read[page].get_textpage().get_text_range() for page in range(pages)]


def pictured(data: bytes, dpi: int) -> bytes:
    """The same pages as noisy pictures."""
    out, noise = io.BytesIO(), np.random.default_rng(7)
    canvas, scale = Canvas(out, pagesize=(WIDTH, HEIGHT)), dpi / 72
    for page in pdfium.PdfDocument(data):
        drawing: Any = page
        shades = np.asarray(drawing.render(scale=scale, grayscale=True).to_pil(), dtype=np.float32)
        shades = np.clip(shades * 0.9 + 10 + noise.normal(0, 10, shades.shape), 0, 255).astype(np.uint8)
        made = io.BytesIO()
        Image.fromarray(shades).save(made, "JPEG", quality=80)
        canvas.drawImage(ImageReader(made), 0, 0, WIDTH, HEIGHT)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def sentences(words: list[str]) -> Iterator[str]:
    """Sentences of eight words and more."""
    held: list[str] = []
    for word in words:
        held.append(word)
        if word.endswith("."):
            if len(held) > 7:
                yield " ".join(held)
            held = []


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--pages", type=int, default=2)
    asked = given.parse_args()
    print(
        "font, size | columns | dpi | words | right | wrong | sentences whole | confidence | CPU s | s | MB"
    )
    for font, size, columns in FONTS:
        data, texts = drawn(font, size, columns, asked.pages)
        truth = " ".join(texts).split()
        for dpi in (150, 200):
            measure((font, size, columns, dpi), pictured(data, dpi), truth, asked.pages)


def measure(what: tuple[Any, ...], data: bytes, truth: list[str], pages: int) -> None:
    font, size, columns, dpi = what
    pool = ConverterPool(ConversionSettings(processes=1, ocr_max_seconds=3000))
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    made = pool.convert(data, "pdf")
    seconds = (time.monotonic() - begun) / pages
    pool.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / pages
    found = made.text.split()
    blocks = SequenceMatcher(None, truth, found, autojunk=False).get_matching_blocks()
    right = sum(block.size for block in blocks)
    asked = list(sentences(truth))
    whole = sum(each in " ".join(found) for each in asked)
    sure = np.mean([box.confidence for box in made.words]) / 100
    memory = after.ru_maxrss // 1024
    print(
        f"{font} {size} | {columns} | {dpi} | {len(truth)} | {right / len(truth):.4f} | "
        f"{len(found) - right} | {whole} of {len(asked)} | {sure:.2f} | {cpu:.1f} | {seconds:.1f} | {memory}",
        flush=True,
    )


if __name__ == "__main__":
    main()

"""Tests that you can still read the text if a document contains harmful images (HARDENING 55-59)."""

import base64
import http.server
import json
import threading
import zlib
from collections.abc import Callable, Iterator
from email.message import EmailMessage

import pytest

from kg_api.convert.isolated.pool import ConverterPool
from kg_api.schemas.documents import Converted
from kg_api.schemas.formats import ConvertedFormat
from kg_api.settings import ConversionSettings
from tests.process.convert.test_hardening import peak_mb
from tests.support.hostile_files import newest_reader
from tests.support.images import drawn, encoded, exif, gif_of, png_of

CPU_SECONDS, MEMORY_MB = 20, 700
WORDS = "Words of a document"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><image href="ADDRESS"/><script>alert(1)</script></svg>'
GOOD = encoded(drawn(64, 48), "JPEG", exif=exif({}, gps=True))
BAD = {
    "55 bomb": png_of(50_000, 50_000),
    "56 frames": gif_of(100_000),
    "57 page": b"<html><script>alert(1)</script></html>",
    "58 svg": SVG,
    "59 cut": GOOD[: len(GOOD) // 2],
    "59 empty": b"",
}
PLACE = b"\x34\0\0\0\x01\0\0\0\x1f"
"""52 degrees, and only the beginning of 31 minutes."""
Wrap = Callable[[bytes], bytes]


def mail(content: bytes) -> bytes:
    made = EmailMessage()
    made["From"], made["Subject"] = "a@a.example", "Boats"
    made.set_content(WORDS)
    made.add_alternative(f'<p>{WORDS}</p><img src="cid:b"><img src="ADDRESS">', subtype="html")
    made.get_payload(1).add_related(content, "image", "png", cid="<b>")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    made.add_attachment(content, maintype="image", subtype="jpeg", filename="b.jpg")
    return made.as_bytes()


def notebook(content: bytes) -> bytes:
    coded = {"image/png": base64.b64encode(content).decode()}
    shown = {"output_type": "display_data", "metadata": {}, "data": coded}
    code = {"cell_type": "code", "source": "x", "metadata": {}, "execution_count": 1, "outputs": [shown]}
    text = f"{WORDS}\n\n![a](attachment:a.png) ![b](ADDRESS)"
    prose = {"cell_type": "markdown", "source": text, "metadata": {}, "attachments": {"a.png": coded}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [prose, code]}).encode()


def page(content: bytes) -> bytes:
    coded = base64.b64encode(content).decode()
    return f'<p>{WORDS}</p><table><tr><td><img src="data:image/png;base64,{coded}">'.encode()


WRAPS: dict[ConvertedFormat, Wrap] = {"email": mail, "notebook": notebook, "html": page}


def pdf(
    content: bytes, *, width: int = 64, height: int = 48, form: str = "DCTDecode", more: str = ""
) -> bytes:
    """Return a PDF page with text and an image that uses the given dictionary."""
    text = f"BT /F1 12 Tf 72 700 Td ({WORDS}) Tj ET q 200 0 0 150 72 400 cm /I Do Q".encode()
    size = f"/Width {width} /Height {height} /BitsPerComponent 8"
    head = f"/Type /XObject /Subtype /Image {size} /Filter /{form} {more}"
    used = b"/Font << /F1 6 0 R >> /XObject << /I 5 0 R >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << %s >> >>" % used,
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
        b"<< %s /Length %d >>\nstream\n%s\nendstream" % (head.encode(), len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (i, each) for i, each in enumerate(objects, 1))
    return b"%PDF-1.7\n" + body + b"trailer << /Root 1 0 R /Size 7 >>\n%%EOF\n"


RGB = "/ColorSpace /DeviceRGB"
PDFS = {
    "55 bomb": lambda: pdf(
        zlib.compress(bytes(3 * 9_000 * 9_000), 9), width=9_000, height=9_000, form="FlateDecode", more=RGB
    ),
    "55 larger than may be": lambda: pdf(b"x", width=50_000, height=50_000, form="FlateDecode", more=RGB),
    "55 says it is small": lambda: pdf(encoded(drawn(9_000, 9_000), "JPEG"), width=4, height=4, more=RGB),
    "55 says it is large": lambda: pdf(GOOD, width=9_000, height=9_000, more=RGB),
    "55 beyond all numbers": lambda: pdf(GOOD, width=2**31 - 1, height=2**31 - 1, more=RGB),
    "57 page": lambda: pdf(BAD["57 page"], more=RGB),
    "57 no jpeg 2000": lambda: pdf(GOOD, form="JPXDecode", more=RGB),
    "57 no fax": lambda: pdf(GOOD, form="CCITTFaxDecode", more=RGB),
    "57 no jbig2": lambda: pdf(GOOD, form="JBIG2Decode", more=RGB),
    "58 svg": lambda: pdf(SVG, more=RGB),
    "59 cut": lambda: pdf(GOOD[:200], more=RGB),
    "59 masks itself": lambda: pdf(GOOD, more=f"{RGB} /SMask 5 0 R"),
}


@pytest.fixture(scope="module")
def pool() -> Iterator[ConverterPool]:
    made = ConverterPool(ConversionSettings(processes=1, max_seconds=60, max_memory_mb=1024))
    yield made
    made.close()


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    seen: list[str] = []

    class Note(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)

    server = http.server.HTTPServer(("127.0.0.1", 0), Note)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/a.png", seen
    server.shutdown()
    server.server_close()


def converted(pool: ConverterPool, data: bytes, form: ConvertedFormat) -> Converted:
    """Convert a file within the cost limit, using a process that has read files before."""
    pool.convert(b"<p>fine</p>", "html")
    child = newest_reader()
    before = sum(child.cpu_times()[:2])
    made = pool.convert(data, form)
    assert child.is_running(), made.notes
    assert sum(child.cpu_times()[:2]) - before < CPU_SECONDS
    assert peak_mb(child.pid) < MEMORY_MB
    return made


@pytest.mark.parametrize("item", BAD)
@pytest.mark.parametrize(("form", "wrap"), [*WRAPS.items(), ("pdf", pdf)], ids=[*WRAPS, "pdf"])
def test_hostile_image_is_skipped_and_text_is_read(
    pool: ConverterPool, form: ConvertedFormat, wrap: Wrap, item: str, asked: tuple[str, list[str]]
) -> None:
    address, seen = asked
    made = converted(pool, wrap(BAD[item].replace(b"ADDRESS", address.encode())), form)
    assert WORDS in made.text
    assert made.images == ()
    assert seen == []


@pytest.mark.parametrize("item", PDFS)
def test_hostile_pdf_image_has_bounded_cost(pool: ConverterPool, item: str) -> None:
    made = converted(pool, PDFS[item](), "pdf")
    assert WORDS in made.text
    assert all(len(each.image.content) < 30_000_000 for each in made.images)
    assert all(each.image.content_type in {"image/png", "image/jpeg"} for each in made.images)


@pytest.mark.parametrize(("form", "wrap"), WRAPS.items())
def test_57_image_that_is_also_html_stays_image(
    pool: ConverterPool, form: ConvertedFormat, wrap: Wrap
) -> None:
    made = converted(pool, wrap(GOOD + b"<html><script>alert(1)</script></html>"), form)
    assert {each.image.content_type for each in made.images} == {"image/jpeg"}


def test_59_location_is_removed_from_images_in_documents(pool: ConverterPool) -> None:
    assert PLACE in GOOD
    ways: dict[ConvertedFormat, Wrap] = {**WRAPS, "pdf": lambda content: pdf(content, more=RGB)}
    for form, wrap in ways.items():
        images = converted(pool, wrap(GOOD), form).images
        assert images, form
        assert all(PLACE not in each.image.content for each in images), form

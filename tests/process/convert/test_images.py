"""Pictures through the process that reads files: what is meant to harm never reaches the service's own."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from kg_api.convert.isolated.pool import ConverterPool
from kg_api.errors import UnreadableDocument
from kg_api.settings import ConversionSettings
from tests.support.images import drawn, encoded, exif, gif_of, png_of
from tests.support.pictures import pictured

MAX_MEMORY_MB = 1024


@pytest.fixture(scope="module")
def pool() -> Iterator[ConverterPool]:
    made = ConverterPool(ConversionSettings(processes=1, max_memory_mb=MAX_MEMORY_MB, ocr="off"))
    yield made
    made.close()


def test_a_picture_comes_back_with_its_thumbnail(pool: ConverterPool) -> None:
    content = encoded(drawn(640, 480), "JPEG", exif=exif({0x010E: "A red boat"}, gps=True))
    made = pool.convert(content, "image")
    (found,) = made.images
    assert (made.text, found.start, found.end) == ("A red boat", 0, 10)
    assert (found.image.content_type, found.image.width, found.image.height) == ("image/jpeg", 640, 480)
    assert found.image.thumbnail[8:12] == b"WEBP"
    assert len(found.image.content) < len(content)  # without its place


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (png_of(50_000, 50_000), "KG_CONVERSION__IMAGE_MAX_MEGAPIXELS"),
        (gif_of(100_000), "frames"),
        (encoded(drawn(), "JPEG")[:-200], "damaged"),
        (b"", "not a picture"),
        (b"<html></html>", "not a picture"),
    ],
    ids=["bomb", "frames", "truncated", "empty", "html"],
)
def test_what_is_meant_to_harm_costs_itself_alone(pool: ConverterPool, content: bytes, told: str) -> None:
    with pytest.raises(UnreadableDocument, match=told):
        pool.convert(content, "image")
    assert pool.convert(encoded(drawn()), "image").images
    assert psutil.Process(pool._idle[0]._process.pid).memory_info().rss < MAX_MEMORY_MB * 1024 * 1024 / 2


def test_a_picture_that_needs_more_memory_than_there_is_is_refused() -> None:
    pool = ConverterPool(
        ConversionSettings(processes=1, max_memory_mb=512, ocr="off", image_max_megapixels=1000)
    )
    try:
        with pytest.raises(UnreadableDocument, match=r"KG_CONVERSION__MAX_MEMORY_MB|damaged"):
            pool.convert(png_of(20_000, 20_000), "image")
    finally:
        pool.close()


def test_words_on_a_picture_are_read_where_ocr_is_on() -> None:
    pdf = pictured(("Blueberries need acid soil.",))
    pool = ConverterPool(ConversionSettings(processes=1, ocr="rapidocr"))
    try:
        content = _first_picture(pdf)
        made = pool.convert(content, "image")
        assert made.text == "Blueberries need acid soil."
        assert made.images[0].end == len(made.text)
        assert any("read by OCR (rapidocr" in note for note in made.notes)
        silent = pool.convert(encoded(drawn(200, 200), "JPEG"), "image")
        assert (silent.text, silent.notes) == ("", ())
    finally:
        pool.close()


def _first_picture(pdf: bytes) -> bytes:
    import pypdfium2 as pdfium  # noqa: PLC0415

    return encoded(pdfium.PdfDocument(pdf)[0].render(scale=3).to_pil())  # pyright: ignore[reportArgumentType]

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import psutil
import pytest

from kg_api.convert.isolated.pool import ConverterPool, ConverterProcess
from kg_api.errors import UnreadableDocument
from kg_api.providers.embedding_port import Rendering
from kg_api.settings import ConversionSettings
from tests.support.images import drawn, encoded, exif, gif_of, png_of

MAX_MEMORY_MB = 1024


@pytest.fixture(scope="module")
def pool() -> Iterator[ConverterPool]:
    made = ConverterPool(ConversionSettings(processes=1, max_memory_mb=MAX_MEMORY_MB, ocr="off"))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (png_of(50_000, 50_000), "more than 100 million"),
        (gif_of(100_000), "frames"),
        (encoded(drawn(), "JPEG")[:-200], "damaged"),
        (b"", "not an image"),
        (b"<html></html>", "not an image"),
    ],
    ids=["bomb", "frames", "truncated", "empty", "html"],
)
def test_hostile_content_affects_only_itself(pool: ConverterPool, content: bytes, told: str) -> None:
    for read in (lambda: pool.convert(content, "image"), lambda: pool.render(content, SIZE)):
        with pytest.raises(UnreadableDocument, match=told):
            read()
    assert pool.convert(encoded(drawn()), "image").images
    assert pool.render(encoded(drawn()), SIZE).any()
    assert psutil.Process(pool._idle[0]._process.pid).memory_info().rss < MAX_MEMORY_MB * 1024 * 1024 / 2


HOSTILE = partial(ConverterProcess, module="tests.support.hostile_child")
SIZE = Rendering(64, 48, "stretch")


@pytest.fixture(scope="module")
def hostile() -> Iterator[ConverterPool]:
    made = ConverterPool(ConversionSettings(processes=1, max_memory_mb=MAX_MEMORY_MB), HOSTILE)
    yield made
    made.close()


def test_image_pixels_are_returned(pool: ConverterPool) -> None:
    picture = drawn(64, 48)
    assert np.array_equal(pool.render(encoded(picture), SIZE), np.asarray(picture))
    lying = encoded(drawn(640, 480), "JPEG", exif=exif({0x0112: 6}))
    assert pool.render(lying, Rendering(64, 64, "within")).shape == (64, 48, 3)


@pytest.mark.parametrize(
    "given", ["64x48:9216", "48x64:9216", "64x48:9215", "64x48:0", "1x1:3", "0x0:0", "text"]
)
def test_compromised_process_can_return_only_pixels(hostile: ConverterPool, given: str) -> None:
    asked = f"pixels:{given}".encode()
    if given == "64x48:9216":
        assert hostile.render(asked, SIZE).shape == (48, 64, 3)
        return
    with pytest.raises(UnreadableDocument, match=r"unexpected pixels|unexpected response|crashed|far more"):
        hostile.render(asked, SIZE)

from __future__ import annotations

import io
import random
from typing import Any, cast

import pytest
from PIL import Image, ImageChops, ImageStat

from kg_api.convert.image.embedded import convert, read_image
from kg_api.errors import UnreadableDocument
from kg_api.settings import ConversionSettings
from tests.support import placed
from tests.support.images import drawn, encoded

SETTINGS = ConversionSettings()
FILES = {
    "jpeg": placed.jpeg(),
    "jpeg progressive": placed.jpeg(progressive=True),
    "jpeg cmyk": placed.jpeg(drawn(640, 480, "CMYK"), icc_profile=None),
    "jpeg grey": placed.jpeg(drawn(640, 480, "L"), icc_profile=None, restart_marker_rows=1),
    "jpegs": placed.several_jpegs(),
    "png": placed.png(),
    "apng": placed.animated_png(),
    "webp": placed.webp(),
    "webp lossless": placed.webp(lossless=True),
    "webp animated": placed.animated_webp(),
    "tiff": placed.tiff(),
    "tiff big": placed.tiff(big_tiff=True),
    "tiff lzw": placed.tiff("tiff_lzw"),
    "tiff deflate": placed.tiff("tiff_adobe_deflate"),
    "tiff packbits": placed.tiff("packbits", "P", icc_profile=None),
    "tiff jpeg": placed.tiff("jpeg"),
    "tiff fax": placed.tiff("group4", "1", icc_profile=None),
    "tiff cmyk": placed.tiff("raw", "CMYK", icc_profile=None),
    "gif": placed.gif(),
    "bmp": placed.bmp(),
    "bmp with profile": placed.bmp_with_profile(),
    "bmp of runs": placed.bmp_of_runs(8),
    "bmp of short runs": placed.bmp_of_runs(4),
    "bmp without an end": placed.bmp_without_an_end(),
}
LOSSY = {"tiff cmyk", "webp", "webp animated", *(name for name in FILES if name.startswith("jpeg"))}
SAID = {"jpeg", "jpeg progressive", "jpeg cmyk", "jpeg grey", "jpegs", "png", "webp", "webp animated", "tiff"}


def stored(content: bytes) -> bytes:
    return read_image(content, SETTINGS).content


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def gps(content: bytes) -> dict[int, Any]:
    return cast("Any", opened(content).getexif()).get_ifd(0x8825)


@pytest.mark.parametrize("name", FILES)
def test_stored_file_contains_no_location(name: str) -> None:
    content = FILES[name]
    assert placed.tells(content) or gps(content)  # or the test proves nothing
    kept = stored(content)
    assert not placed.tells(kept)
    said = cast("Any", opened(kept).getexif())
    assert not gps(kept)
    assert not {0x927C, 0x9011} & said.get_ifd(0x8769).keys()
    assert not {700, 33723, 34377, 33922, 34737, 0xC000} & said.keys()
    assert not {"xmp", "comment", "photoshop", "mp"} & opened(kept).info.keys()


@pytest.mark.parametrize("name", FILES)
def test_stored_pixels_are_the_original_ones(name: str) -> None:
    came, kept = placed.frames(FILES[name]), placed.frames(stored(FILES[name]))
    if name == "jpegs" or name.startswith("tiff"):
        came = came[:1]
    if name not in LOSSY:
        assert kept == came
        return
    assert len(kept) == len(came)
    for (_, size, before), (_, other_size, after) in zip(came, kept, strict=True):
        assert size == other_size
        pair = (Image.frombytes("RGBA", size, each) for each in (before, after))
        assert max(ImageStat.Stat(ImageChops.difference(*pair)).mean) < 1


@pytest.mark.parametrize("name", FILES)
def test_colours_turn_and_animation_stay(name: str) -> None:
    came, kept = opened(FILES[name]), opened(stored(FILES[name]))
    for key in ("icc_profile", "loop", "duration", "transparency", "adobe"):
        assert kept.info.get(key) == came.info.get(key), key
    if "dpi" in came.info:
        assert kept.info["dpi"] == pytest.approx(came.info["dpi"], rel=0.01)
    if not name.startswith("tiff"):  # Pillow turns it upright
        assert kept.getexif().get(0x0112) == came.getexif().get(0x0112)


@pytest.mark.parametrize("name", sorted(SAID))
def test_title_and_date_become_metadata(name: str) -> None:
    kept = cast("Any", opened(stored(FILES[name])))
    assert 0x010E not in kept.getexif()
    assert placed.TITLE not in kept.info.values()
    made = convert(FILES[name], SETTINGS)
    assert (made.title, made.metadata["date"]) == (placed.TITLE, "2019-07-01T12:30:00")


def test_xmp_orientation_is_kept() -> None:
    xmp = b"<x:xmpmeta><rdf:Description tiff:Orientation='6' photoshop:City='" + placed.PLACE + b"'/>"
    content = encoded(drawn(), "JPEG", xmp=xmp.replace(b"'", b'"'))
    kept = stored(content)
    assert (kept.count(placed.PLACE), opened(kept).getexif()[0x0112]) == (0, 6)
    assert read_image(content, SETTINGS).width == 48


DAMAGED = ["jpeg", "png", "webp animated", "tiff", "tiff big", "tiff jpeg", "gif", "bmp", "bmp of runs"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow warns of damages
@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_file_is_rejected_or_stored_without_location(name: str) -> None:
    chance = random.Random(name)
    for _ in range(60):
        content = bytearray(FILES[name])
        for _ in range(chance.choice((1, 4, 30))):
            content[chance.randrange(min(len(content), 3000))] = chance.randrange(256)
        try:
            kept = stored(
                bytes(content[: chance.choice((len(content), chance.randrange(len(content)))) or 1])
            )
        except UnreadableDocument:
            continue
        assert not placed.tells(kept)

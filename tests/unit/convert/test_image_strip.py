"""What is stored of a picture: its pixels as they came, and not where it was taken."""

from __future__ import annotations

import io
import random
import struct
from typing import Any, cast

import pytest
from PIL import Image

from kg_api.convert.image.embedded import convert, read_image
from kg_api.errors import UnreadableDocument
from kg_api.settings import ConversionSettings
from tests.support import bitmaps, placed
from tests.support.images import drawn, encoded

SETTINGS, KEEPING = ConversionSettings(), ConversionSettings(image_keep_place=True)
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
    "gif": placed.gif(),
    "bmp": placed.bmp(),
    "bmp with profile": placed.bmp_with_profile(),
    "bmp of runs": placed.bmp_of_runs(8),
    "bmp of short runs": placed.bmp_of_runs(4),
    "bmp without an end": placed.bmp_without_an_end(),
}
SAID = {"jpeg", "jpeg progressive", "jpeg cmyk", "jpeg grey", "jpegs", "png", "webp", "webp animated", "tiff"}


def stored(content: bytes) -> bytes:
    return read_image(content, SETTINGS).content


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def gps(content: bytes) -> dict[int, Any]:
    return cast("Any", opened(content).getexif()).get_ifd(0x8825)


@pytest.mark.parametrize("name", FILES)
def test_no_stored_file_tells_where_it_was_taken(name: str) -> None:
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
def test_the_pixels_are_those_that_came(name: str) -> None:
    came, kept = placed.frames(FILES[name]), placed.frames(stored(FILES[name]))
    assert kept == (came[:1] if name == "jpegs" else came)


@pytest.mark.parametrize("name", FILES)
def test_colours_turn_and_animation_stay(name: str) -> None:
    came, kept = opened(FILES[name]), opened(stored(FILES[name]))
    for key in ("icc_profile", "loop", "duration", "transparency", "adobe", "dpi"):
        assert kept.info.get(key) == came.info.get(key), key
    assert kept.getexif().get(0x0112) == came.getexif().get(0x0112)


@pytest.mark.parametrize("name", sorted(SAID))
def test_title_and_date_stay(name: str) -> None:
    kept = cast("Any", opened(stored(FILES[name])).getexif())
    assert (kept[0x010E], kept.get_ifd(0x8769)[0x9003]) == (placed.TITLE, placed.TAKEN)
    assert convert(FILES[name], SETTINGS).metadata["date"] == "2019-07-01T12:30:00"


@pytest.mark.parametrize("name", FILES)
def test_what_was_stored_is_stored_again_as_it_is(name: str) -> None:
    kept = stored(FILES[name])
    assert stored(kept) == kept


@pytest.mark.parametrize("name", FILES)
def test_all_stays_where_the_place_is_kept(name: str) -> None:
    assert read_image(FILES[name], KEEPING).content == FILES[name]


def test_a_turn_that_only_xmp_tells_stays() -> None:
    xmp = b"<x:xmpmeta><rdf:Description tiff:Orientation='6' photoshop:City='" + placed.PLACE + b"'/>"
    content = encoded(drawn(), "JPEG", xmp=xmp.replace(b"'", b'"'))
    kept = stored(content)
    assert (kept.count(placed.PLACE), opened(kept).getexif()[0x0112]) == (0, 6)
    assert read_image(content, SETTINGS).width == 48


DAMAGED = ["jpeg", "png", "webp animated", "tiff", "tiff big", "tiff jpeg", "gif", "bmp", "bmp of runs"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow warns of damages
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_or_stored_without_the_place(name: str) -> None:
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
        assert name == "gif" or not placed.tells(kept)  # there a damaged length makes pixels of words


@pytest.mark.parametrize(("head", "bits"), bitmaps.KINDS)
def test_nothing_of_a_bmp_that_is_no_pixel_is_stored(head: int, bits: int) -> None:
    """Padding, bytes and colours that no pixel has, names, the colours of a screen: all may tell."""
    one, other = (bitmaps.bitmap(head, bits, random.Random(seed)) for seed in (1, 2))
    assert one != other
    assert stored(one) == stored(other)
    assert placed.frames(stored(one)) == placed.frames(one)


@pytest.mark.parametrize(
    ("bits", "colours", "row"),
    [
        (8, [(200, 0, 0), (255, 255, 255)], b"\1" * 16),
        (4, [(200, 0, 0), (255, 255, 255)], b"\x11" * 8),
        (8, [(9, 9, 9), (1, 1, 1), (2, 2, 2)], b"\1\2" * 8),
        (4, [(9, 9, 9), *((at, at, at) for at in range(1, 16))], bytes.fromhex("123456789abcdef1")),
        (8, [(200, 0, 0)], b"\7" * 16),
    ],
)
def test_a_palette_never_becomes_one_that_is_read_otherwise(
    bits: int, colours: list[tuple[int, int, int]], row: bytes
) -> None:
    """A picture of greys, or of black and white, that has its colours in order is read without a palette."""
    about = struct.pack("<IiiHHIIiiII", 40, 16, 3, 1, bits, 0, 0, 0, 0, len(colours), 0)
    palette = b"".join(bytes([blue, green, red, 0]) for red, green, blue in colours)
    offset = 14 + len(about) + len(palette)
    content = b"BM" + struct.pack("<IHHI", 0, 0, 0, offset) + about + palette + row * 3
    assert opened(stored(content)).convert("RGB").tobytes() == opened(content).convert("RGB").tobytes()


def test_masks_in_a_head_of_os2_stay() -> None:
    about = struct.pack("<IiiHHIIiiII", 64, 4, 1, 1, 32, 3, 0, 0, 0, 0, 0)
    about += struct.pack("<4I8x", 0xFF0000, 0xFF00, 0xFF, 0)
    content = b"BM" + struct.pack("<IHHI", 0, 0, 0, 14 + len(about)) + about + bytes(range(16))
    assert opened(stored(content)).convert("RGBA").tobytes() == opened(content).convert("RGBA").tobytes()


@pytest.mark.parametrize("begin", [0xFFFFFFF0, 40])
def test_a_bmp_whose_pixels_would_begin_elsewhere_is_refused(begin: int) -> None:
    """Behind it, or within its head, of which some bytes are no pixels."""
    content = bytearray(placed.bmp_of_runs(8))
    struct.pack_into("<I", content, 10, begin)
    with pytest.raises(UnreadableDocument):
        stored(bytes(content))


def tiff_entries(content: bytes, entries: list[tuple[int, int, int, int]]) -> bytes:
    """A TIFF of one page with these entries: tag, kind, count, value."""
    packed = b"".join(struct.pack("<HHII", *each) for each in sorted(entries))
    return b"II*\0" + struct.pack("<I", 8 + len(content)) + content + struct.pack("<H", len(entries)) + packed


SIZE = [(256, 4, 1, 8), (257, 4, 1, 8), (258, 3, 1, 8), (262, 3, 1, 1)]
STRIPS = [(273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, 8), (279, 4, 1, 64)]


@pytest.mark.parametrize("compression", [6, 50001])
def test_a_tiff_whose_strips_hold_anything_is_refused(compression: int) -> None:
    content = tiff_entries(bytes(64), [*SIZE, *STRIPS, (259, 3, 1, compression)])
    with pytest.raises(UnreadableDocument, match=r"of a rare kind.*KG_CONVERSION__IMAGE_KEEP_PLACE"):
        stored(content + bytes(4))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_parts_of_a_tiff_that_lie_upon_each_other_do_not_make_it_larger() -> None:
    words = [(tag, 2, 50_000, 8) for tag in (270, 306, 315, 33432)]
    content = tiff_entries(bytes(50_000), [*SIZE, *STRIPS, *words, (259, 3, 1, 1)])
    with pytest.raises(UnreadableDocument, match="lie upon each other"):
        stored(content + bytes(4))

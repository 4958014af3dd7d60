import io
import random
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image, ImageChops, ImageDraw, ImageStat, PngImagePlugin

from kg_api.convert.image.embedded import convert, read_image
from kg_api.convert.image.file import MAX_FRAMES, render
from kg_api.errors import UnreadableDocument
from kg_api.providers.embedding_port import Fit, Pixels, Rendering
from kg_api.schemas.images import ReadImage
from kg_api.settings import ConversionSettings
from kg_api.text.documents import get_plain_format
from tests.support import placed
from tests.support.images import drawn, encoded, exif, gif_of, png_of

SETTINGS = ConversionSettings()


def read(data: bytes) -> ReadImage:
    return read_image(data, SETTINGS)


def seen(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


@pytest.mark.parametrize(
    ("kind", "told"),
    [("PNG", "png"), ("JPEG", "jpeg"), ("WEBP", "webp"), ("GIF", "gif"), ("TIFF", "png"), ("BMP", "png")],
)
def test_image_type_is_detected_from_content(kind: str, told: str) -> None:
    content = encoded(drawn(), kind)
    assert get_plain_format(content) == "image"
    assert get_plain_format(content[:2] + b" is how a text may begin, too") is None
    image = read(content)
    assert (image.content_type, image.width, image.height) == (f"image/{told}", 64, 48)
    pair = seen(image.content).convert("RGB"), seen(content).convert("RGB")
    assert max(ImageStat.Stat(ImageChops.difference(*pair)).mean) < (1 if kind in {"WEBP", "JPEG"} else 1e-9)
    thumbnail = seen(image.thumbnail)
    assert (thumbnail.format, thumbnail.size) == ("WEBP", (64, 48))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "I"])
def test_any_kind_of_pixels_can_be_shown(mode: str) -> None:
    wide = drawn(mode="L").convert("I").point(lambda value: value * 256)
    picture = wide if mode.startswith("I") else drawn(mode=mode)
    image = read(encoded(picture.convert(mode), "PNG" if mode != "I" else "TIFF"))
    thumbnail = seen(image.thumbnail).convert("L")
    assert cast("int", thumbnail.getpixel((60, 4))) > cast("int", thumbnail.getpixel((60, 44)))


def test_large_image_has_a_small_thumbnail() -> None:
    image = read(encoded(drawn(4000, 1000), "JPEG"))
    assert (image.width, image.height) == (4000, 1000)
    assert seen(image.thumbnail).size == (256, 64)


UNDO = dict(zip(range(2, 9), map(Image.Transpose, (0, 3, 1, 5, 2, 6, 4)), strict=True))
"""How to store an upright image, by EXIF orientation."""


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_is_shown_as_it_was_taken(orientation: int, kind: str) -> None:
    upright = drawn(64, 48)
    stored = upright.transpose(UNDO[orientation]) if orientation in UNDO else upright
    image = read(encoded(stored, kind, exif=exif({0x0112: orientation})))
    assert (image.width, image.height) == (64, 48)
    thumbnail = seen(image.thumbnail).convert("RGB")
    red, green, _ = cast("tuple[int, int, int]", thumbnail.getpixel((4, 4)))
    assert red > 150 > green
    assert not seen(image.thumbnail).getexif()


def test_camera_metadata_is_stored_and_searchable() -> None:
    tags = {0x010E: "A red boat", 0x013B: "Ada", 0x9C9B: "Boat\0".encode("utf-16-le")}
    made = convert(encoded(drawn(), "JPEG", exif=exif(tags, taken="2019:07:01 12:30:00")), SETTINGS)
    assert made.text == "Boat\nA red boat\nTaken 2019-07-01"
    assert made.title == "Boat"
    assert made.metadata == {"author": "Ada", "date": "2019-07-01T12:30:00"}
    ((start, end),) = [(each.start, each.end) for each in made.images]
    assert (start, end) == (0, len(made.text))


def test_png_metadata_is_searchable() -> None:
    said = PngImagePlugin.PngInfo()
    said.add_text("Title", "A plan")
    said.add_itxt("Description", "Of the harbour", "en")
    assert convert(encoded(drawn(), pnginfo=said), SETTINGS).text == "A plan\nOf the harbour"


HEIC = b"\0\0\0\x18ftypmif1\0\0\0\0heic\0\0\0\0meta"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (png_of(50_000, 50_000), "50,000 x 50,000 pixels, more than 100 million"),
        (gif_of(MAX_FRAMES + 1), "1,001 frames"),
        (b"", "it is empty.*Copy the file again"),
        (b"a shopping list", "not an image but text.*Rename the file to match its content"),
        (b"%PDF-1.7", "not an image but a PDF file"),
        (HEIC, "a HEIC image.*Export the image as JPEG or PNG"),
        (HEIC.replace(b"heic", b"avif"), "an AVIF image.*Export the image as JPEG or PNG"),
        (b"\xfe\1\2\3", "its beginning is damaged. Export the image as JPEG or PNG"),
        (b"<html><script>alert(1)</script></html>", "not an image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not an image"),
        (encoded(drawn(), "JPEG")[:-200], "damaged"),
        (encoded(drawn(640, 480))[:-500], "damaged"),
        (encoded(drawn())[:20], "not an image|damaged"),
        (png_of(100, 100), "damaged"),
    ],
    ids=[
        *("bomb", "frames", "empty", "text", "pdf", "heic", "avif", "bytes"),
        *("html", "svg", "eps", "jpeg", "png", "head", "short"),
    ],
)
def test_invalid_or_hostile_image_is_rejected(content: bytes, told: str) -> None:
    for read in (convert, lambda *given: render(given[0], Rendering(64, 48, "stretch"), given[1])):
        with pytest.raises(UnreadableDocument, match=told):
            read(content, SETTINGS)


def rendered(content: bytes, width: int, height: int, fit: Fit, **options: Any) -> Pixels:
    made = render(content, Rendering(width, height, fit, **options), SETTINGS)
    return np.frombuffer(made.pixels, np.uint8).reshape(made.height, made.width, 3)


@pytest.mark.parametrize(
    ("size", "fit", "shape"),
    [
        ((640, 480), "within", (48, 64)),
        ((480, 640), "within", (64, 48)),
        ((30, 20), "within", (20, 30)),
        ((1000, 1), "within", (1, 64)),
        *((size, "cover", (64, 64)) for size in ((640, 480), (5, 4), (6000, 2))),
        ((640, 480), "stretch", (64, 64)),
        ((1, 1), "stretch", (64, 64)),
    ],
)
def test_image_is_rendered_at_requested_size(size: tuple[int, int], fit: Fit, shape: tuple[int, int]) -> None:
    for kind in ("PNG", "JPEG"):
        assert rendered(encoded(drawn(*size), kind), 64, 64, fit).shape == (*shape, 3)


def test_cover_mode_crops_to_the_centre() -> None:
    picture = Image.new("RGB", (300, 100), "red")
    ImageDraw.Draw(picture).rectangle((100, 0, 199, 99), fill="blue")
    middle = rendered(encoded(picture), 100, 100, "cover")[:, 2:-2]
    assert np.array_equal(middle, np.full((100, 96, 3), (0, 0, 255)))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("fit", ["within", "cover", "stretch"])
def test_exif_orientation_is_applied(orientation: int, fit: Fit) -> None:
    upright = drawn(400, 300)
    lying = upright.transpose(UNDO[orientation]) if orientation in UNDO else upright
    found = rendered(encoded(lying, "PNG", exif=exif({0x0112: orientation})), 64, 40, fit)
    assert np.abs(found.astype(float) - rendered(encoded(upright), 64, 40, fit)).mean() < 1


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
}
LOSSY = {"tiff cmyk", "webp", "webp animated", *(name for name in FILES if name.startswith("jpeg"))}
SAID = {"jpeg", "jpeg progressive", "jpeg cmyk", "jpeg grey", "jpegs", "png", "webp", "webp animated", "tiff"}


def stored(content: bytes) -> bytes:
    return read_image(content, SETTINGS).content


def gps(content: bytes) -> dict[int, Any]:
    return cast("Any", seen(content).getexif()).get_ifd(0x8825)


@pytest.mark.parametrize("name", FILES)
def test_stored_file_contains_no_location(name: str) -> None:
    content = FILES[name]
    assert placed.tells(content) or gps(content)  # or the test proves nothing
    kept = stored(content)
    assert not placed.tells(kept)
    said = cast("Any", seen(kept).getexif())
    assert not gps(kept)
    assert not {0x927C, 0x9011} & said.get_ifd(0x8769).keys()
    assert not {700, 33723, 34377, 33922, 34737, 0xC000} & said.keys()
    assert not {"xmp", "comment", "photoshop", "mp"} & seen(kept).info.keys()


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
    came, kept = seen(FILES[name]), seen(stored(FILES[name]))
    for key in ("icc_profile", "loop", "duration", "transparency", "adobe"):
        assert kept.info.get(key) == came.info.get(key), key
    if "dpi" in came.info:
        assert kept.info["dpi"] == pytest.approx(came.info["dpi"], rel=0.01)
    if not name.startswith("tiff"):  # Pillow turns it upright
        assert kept.getexif().get(0x0112) == came.getexif().get(0x0112)


@pytest.mark.parametrize("name", sorted(SAID))
def test_title_and_date_become_metadata(name: str) -> None:
    kept = cast("Any", seen(stored(FILES[name])))
    assert 0x010E not in kept.getexif()
    assert placed.TITLE not in kept.info.values()
    made = convert(FILES[name], SETTINGS)
    assert (made.title, made.metadata["date"]) == (placed.TITLE, "2019-07-01T12:30:00")


def test_xmp_orientation_is_kept() -> None:
    xmp = b"<x:xmpmeta><rdf:Description tiff:Orientation='6' photoshop:City='" + placed.PLACE + b"'/>"
    content = encoded(drawn(), "JPEG", xmp=xmp.replace(b"'", b'"'))
    kept = stored(content)
    assert (kept.count(placed.PLACE), seen(kept).getexif()[0x0112]) == (0, 6)
    assert read_image(content, SETTINGS).width == 48


DAMAGED = ["jpeg", "png", "webp animated", "tiff", "tiff big", "tiff jpeg", "gif", "bmp"]


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

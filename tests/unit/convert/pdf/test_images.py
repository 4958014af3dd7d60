import io
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from kg_api.convert.pdf import convert
from kg_api.convert.pdf.images import REPEATED, TINY, WHOLE
from kg_api.schemas.documents import Converted
from kg_api.schemas.images import ReadImage
from kg_api.settings import ConversionSettings
from tests.support.images import drawn as picture
from tests.support.images import encoded
from tests.unit.convert.pdf.files import HEIGHT, STORY, WIDTH, drawn, heading, paragraphs, picture_of, story

Page = Callable[[Canvas], None]
BOAT, PLAN = encoded(picture(120, 90), "JPEG"), encoded(picture(90, 120))


def reader(content: bytes) -> ImageReader:
    return ImageReader(io.BytesIO(content))


def page(*parts: tuple[float, str | bytes], left: float = 72, size: tuple[float, float] = (120, 90)) -> Page:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Times-Roman", 10)
        for bottom, each in parts:
            if isinstance(each, str):
                canvas.drawString(left, bottom, each)
            else:
                canvas.drawImage(reader(each), left, bottom, *size, mask="auto")

    return draw


def texts(made: Converted) -> list[str]:
    return made.text.split("\n\n")


def colours(image: ReadImage) -> list[tuple[int, ...]]:
    thumbnail = Image.open(io.BytesIO(image.thumbnail)).convert("RGB")
    width, height = thumbnail.size
    places = ((4, 4), (width - 5, 4), (width - 5, height - 5))
    pixels: list[Any] = [thumbnail.getpixel(place) for place in places]
    return [tuple(round(each / 85) for each in pixel) for pixel in pixels]


RED, LIGHT, DARK = (2, 0, 0), (3, 3, 3), (0, 0, 0)


def test_image_is_placed_by_its_page_position() -> None:
    made = convert(drawn(page((700, "Before it."), (600, BOAT), (560, "After it.")), page((700, "The end."))))
    words = "![Before it.](page-1-image-1.jpg)"
    assert texts(made) == ["Before it.", words, "After it.", "The end."]
    (found,) = made.images
    assert made.text[found.start : found.end] == words
    assert bisect_right(made.pages, found.start) == 1
    assert (found.image.content_type, colours(found.image)) == ("image/jpeg", [RED, LIGHT, DARK])
    assert made.notes == ()


def test_images_do_not_change_the_text() -> None:
    parts = [heading("The harbour"), *paragraphs(STORY)]
    plain = convert(story(*parts, columns=2))

    def beside(canvas: Canvas, _: Any) -> None:
        canvas.drawImage(reader(BOAT), 300, 90, 200, 150)

    illustrated = story(*parts, columns=2, on_page=beside)
    made, without = convert(illustrated), convert(illustrated, ConversionSettings(images_within=False))
    (found,) = made.images
    assert (without.text, without.images, without.notes) == (plain.text, (), ())
    assert made.text[: found.start].rstrip("\n") + made.text[found.end :] == plain.text


@pytest.mark.parametrize(
    "caption",
    [
        "Figure 3: The harbour from above.", "Abb. 2. Der Hafen.", "Fig. 1.2 – A plan", "Bild 7",
        "Plate IV. Fog",
    ],
)  # fmt: skip
def test_caption_describes_its_image(caption: str) -> None:
    made = convert(drawn(page((700, "Something else."), (600, BOAT), (585, caption), (500, "More of it."))))
    assert texts(made)[1:3] == [f"![{caption}](page-1-image-1.jpg)", caption]


def test_sentence_mentioning_an_image_is_not_a_caption() -> None:
    made = convert(drawn(page((700, "All is still."), (600, BOAT), (585, "Figure 3 shows what came."))))
    assert texts(made)[1] == "![All is still.](page-1-image-1.jpg)"


def test_rotated_mirrored_or_masked_image_is_rendered() -> None:
    def turned(canvas: Canvas) -> None:
        canvas.setPageRotation(90)
        canvas.translate(WIDTH, 0)
        canvas.rotate(90)
        page((400, "Turned."), (300, BOAT))(canvas)

    def mirrored(canvas: Canvas) -> None:
        page((700, "Mirrored."))(canvas)
        canvas.translate(400, 500)
        canvas.scale(-1, 1)
        canvas.drawImage(reader(BOAT), 0, 0, 120, 90)

    cmyk = encoded(picture(120, 90, "CMYK"), "JPEG")
    hole = picture(120, 90).convert("RGBA")
    hole.paste((0, 0, 0, 0), (60, 45, 120, 90))
    assert colours(convert(drawn(turned)).images[0].image) == [RED, LIGHT, DARK]
    assert colours(convert(drawn(mirrored)).images[0].image)[:2] == [LIGHT, RED]
    printed = colours(convert(drawn(page((700, "In four colours."), (600, cmyk)))).images[0].image)
    assert (printed[0][0] > printed[0][1], printed[1], max(printed[2]) < 2) == (True, LIGHT, True)
    masked = convert(drawn(page((700, "With a hole."), (600, encoded(hole))))).images[0].image
    assert (masked.content_type, colours(masked)) == ("image/png", [RED, LIGHT, LIGHT])


def test_decorative_images_are_skipped_and_counted() -> None:
    def decorated(number: int) -> Page:
        def draw(canvas: Canvas) -> None:
            canvas.drawImage(reader(PLAN), 480, 750, 60, 60)  # a logo
            canvas.drawImage(reader(BOAT), 72, 790, 16, 12)  # an icon
            canvas.drawImage(reader(BOAT), 72, 60, 400, 14)  # a line
            page((700, f"This is what page {number} says."))(canvas)

        return draw

    def background(canvas: Canvas) -> None:
        canvas.drawImage(reader(BOAT), 0, 0, WIDTH, HEIGHT)
        page((700, "Upon a background."))(canvas)

    scanned = picture_of(page((700, "Scanned.")), dpi=72)
    content = drawn(*(decorated(i) for i in range(3)), background, scanned)
    made = convert(content)
    assert made.images == ()
    skipped = {f"skipped: {TINY} (6)", f"skipped: {REPEATED} (3)", f"skipped: {WHOLE} (1)"}
    assert {*made.notes} >= skipped
    assert skipped.isdisjoint(convert(content, ConversionSettings(images_within=False)).notes)


def test_too_large_image_is_reported() -> None:
    made = convert(drawn(page((700, "Large."), (600, BOAT))), ConversionSettings(image_max_megapixels=0.01))
    assert made.images == ()
    assert made.notes == ("skipped: images of more than 0.01 megapixels (1)",)

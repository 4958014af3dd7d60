from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from kg_api.convert.isolated.pool import add_skipped_images_note
from kg_api.convert.pdf import convert, scans
from kg_api.convert.pdf.scans import PictureReader
from kg_api.convert.shared.ocr import OcrFailed, Picture, PixelLine, PixelWord
from kg_api.schemas.documents import Converted
from kg_api.settings import ConversionSettings
from tests.unit.convert.pdf.files import drawn, lines

LETTER, SIZE = 14.0, 28.0


def line(text: str, left: float, baseline: float, confidence: float = 0.9) -> PixelLine:
    words: list[PixelWord] = []
    for word in text.split():
        right = left + LETTER * len(word)
        words.append(PixelWord(word, left, baseline - 20, right, baseline + 6, confidence))
        left = right + LETTER
    return PixelLine(tuple(words), baseline, SIZE)


@dataclass
class Engine:
    answers: list[Sequence[PixelLine] | Exception]
    shapes: list[tuple[int, ...]] = field(default_factory=list)

    def read(self, picture: Picture) -> list[PixelLine]:
        self.shapes.append(picture.shape)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return list(answer)


def picture(canvas: Canvas) -> None:
    canvas.rect(100, 100, 300, 300, fill=1)


def read(
    engine: Engine, *pages: Callable[[Canvas], None], limits: ConversionSettings | None = None
) -> Converted:
    return convert(drawn(*pages), pictures=PictureReader(engine.read, limits or ConversionSettings()))


def test_columns_are_read_in_order_with_hyphenation_undone() -> None:
    left = ["The harbour master of Klippan did", "keep two books of the ships, and infor-", "mation on it."]
    right = ["The second of them was the thicker", "one, which nobody had asked him to", "keep at all."]
    rows = [row for at, pair in enumerate(zip(left, right, strict=True)) for row in _beside(pair, at)]
    found = read(Engine([rows]), picture)
    assert found.text.startswith(
        "The harbour master of Klippan did keep two books of the ships, and information"
    )
    assert found.text.index("mation on it.") < found.text.index("The second")
    assert {"infor", "mation"} <= {found.text[box.start : box.end] for box in found.words}


def _beside(pair: tuple[str, str], at: int) -> list[PixelLine]:
    return [line(pair[0], 150, 400 + 36 * at), line(pair[1], 850, 400 + 36 * at)]


def test_uncertain_lines_are_dropped_and_reported() -> None:
    found = read(Engine([[line("Sure.", 200, 300), line("xq§ |l", 200, 400, 0.2)]]), picture)
    assert found.text == "Sure."
    assert "1 line is left out" in found.notes[1]


def test_failed_page_does_not_affect_others() -> None:
    engine = Engine([OcrFailed("the engine broke"), [], [line("Three.", 200, 300)]])
    found = add_skipped_images_note(read(engine, picture, picture, picture), "")
    assert (found.text, found.pictures) == ("Three.", (1, 2))
    assert "page 1 could not be read by OCR: the engine broke" in found.notes
    assert "page 2 could not be read by OCR: OCR found no text" in found.notes
    assert found.notes[-1] == "pages 1-2 have no text (scanned images?): they are not searchable"


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (ConversionSettings(ocr_max_pages=1), "OCR reads 1 pages of a file"),
        (ConversionSettings(ocr_max_seconds=1e-9), "s were over"),
    ],
)
def test_pages_beyond_the_limit_are_reported(limits: ConversionSettings, told: str) -> None:
    found = read(Engine([[line("One.", 200, 300)]]), lines("Text."), picture, picture, limits=limits)
    assert 3 in found.pictures
    assert told in "".join(found.notes)


def test_too_large_page_image_is_not_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "MAX_PIXELS", 90_000)
    large = ImageReader(Image.new("L", (301, 300)))

    def page(canvas: Canvas) -> None:
        canvas.drawImage(large, 0, 0)

    found = read(Engine([]), lines("Text."), page)
    assert found.notes[0] == "page 2 could not be read by OCR: an image on the page has 0 megapixels"

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from kg_api.convert.isolated.pool import note_skipped_images
from kg_api.convert.pdf import convert
from kg_api.errors import UnreadableDocument
from tests.unit.convert.pdf.files import STORY, drawn, paragraphs, story


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"GIF89a and more", "is not a PDF"),
        (random.Random(1).randbytes(5000), "is not a PDF"),
        (b"%PDF-1.7\n" + random.Random(2).randbytes(5000), "damaged or cut off"),
    ],
)
def test_bytes_without_pdf_structure_are_rejected(data: bytes, says: str) -> None:
    with pytest.raises(UnreadableDocument, match=says):
        convert(data)


def test_a_file_without_text_seems_to_be_scanned() -> None:
    def picture(canvas: Canvas) -> None:
        canvas.rect(100, 100, 300, 300, fill=1)

    found = convert(drawn(picture, picture))
    assert (found.text, found.pictures) == ("", (1, 2))
    with pytest.raises(UnreadableDocument, match=r"scanned.*OCR is off.*ocrmypdf"):
        note_skipped_images(found, "OCR is off")


WHOLE = story(*paragraphs(STORY * 4))


@given(st.integers(0, len(WHOLE)))
def test_truncated_file_is_read_or_rejected(length: int) -> None:
    _read_or_refuse(WHOLE[:length])


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=60))
def test_damaged_file_is_read_or_rejected(changes: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for place, byte in changes:
        data[place] = byte
    _read_or_refuse(bytes(data))


def _read_or_refuse(data: bytes) -> None:
    try:
        found = convert(data)
    except UnreadableDocument:
        return
    assert found.pages[0] == 0
    assert list(found.pages) == sorted(found.pages)
    assert found.pages[-1] <= len(found.text)

from __future__ import annotations

import random
import re
import unicodedata
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from kg_api.convert import pdf
from kg_api.convert.isolated.pool import note_skipped_images
from kg_api.convert.pdf import convert
from kg_api.convert.pdf.layout import find_columns
from kg_api.convert.pdf.letters import get_visible_text
from kg_api.convert.shared.accounting import find_missing
from kg_api.errors import UnreadableDocument
from tests.unit.convert.pdf.files import STORY, drawn, paragraphs, story

DATA = Path(__file__).parents[3] / "data"
FILES = [*DATA.glob("*.pdf"), *(DATA / "files").glob("*.pdf")]
NUMBER = re.compile(r"\d+")


def read_simply(data: bytes) -> list[str]:
    """Return the text of each page in the order of its content."""
    with pdfium.PdfDocument(data) as document:
        return [get_visible_text(page.get_textpage().get_text_range()) for page in document]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_word_is_stored_without_invented_numbers(path: Path) -> None:
    data = path.read_bytes()
    made, simple = convert(data), read_simply(data)
    assert not [note for note in made.notes if "words of the pages" in note]
    shown = re.sub(r"!\[[^\]]*\]\([^)]*\)|^(?:#+|\d+\\?[.)]) ", " ", made.text, flags=re.MULTILINE)
    shown = unicodedata.normalize("NFKC", shown.replace("⁄", "/"))
    there = set(NUMBER.findall(unicodedata.normalize("NFKC", "\n".join(simple))))
    whole = re.sub(r"\s", "", "".join(simple))
    assert [each for each in NUMBER.findall(shown) if each not in there and each not in whole] == []
    repeated = next((note for note in made.notes if "repeated headers" in note), "")
    missing = find_missing(simple, made.text)
    assert missing is None or (repeated and missing.words < 0.05 * len(made.text.split())), missing


def test_missing_words_become_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layout that loses a column leads to a note."""
    monkeypatch.setattr(pdf, "find_columns", lambda pieces, page: find_columns(pieces[::2], page))
    (note,) = convert(FILES[0].read_bytes()).notes[-1:]
    assert re.fullmatch(r'skipped: [\d,]+ words of the pages, e\.g\. ".*"', note)


GUIDE = Path(__file__).parents[3] / "data" / "amd-user-guide.pdf"


def test_a_manual_made_by_latex() -> None:
    found = convert(GUIDE.read_bytes())
    for sentence in (
        "efficient",
        "Duff",
        "different",
        "It uses an approximate minimum degree ordering algorithm [1, 2] to find a permutation matrix P",
    ):
        assert sentence in found.text
    for heading in ("# AMD User Guide", "## 1 Overview", "### 4.1 Control parameters", "## References"):
        assert heading in found.text.splitlines()
    assert len(found.pages) == 18
    assert found.notes == ("skipped: 18 repeated headers, footers, and page numbers on 18 pages",)


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

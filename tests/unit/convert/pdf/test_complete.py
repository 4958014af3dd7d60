from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pypdfium2 as pdfium
import pytest

from kg_api.convert import pdf
from kg_api.convert.pdf import convert
from kg_api.convert.pdf.layout import find_columns
from kg_api.convert.pdf.letters import get_visible_text
from kg_api.convert.shared.accounting import find_missing

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

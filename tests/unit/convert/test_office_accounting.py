from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest
from defusedxml.ElementTree import fromstring

from kg_api.convert import pptx as slides
from kg_api.convert.docx import document as word
from kg_api.convert.ooxml.package import WORD_PARTS, Package
from kg_api.convert.shared.accounting import note_missing
from kg_api.schemas.documents import Converted
from tests.unit.convert.test_docx_numbering import CLAUSES, item
from tests.unit.convert.test_docx_text import CHARACTER_STYLES, LINES
from tests.unit.convert.test_pptx import presentation
from tests.unit.convert.test_pptx_text import LIMIT, box, choice, deck
from tests.unit.convert.test_pptx_text import paragraph as slide_paragraph
from tests.unit.convert.test_pptx_text import run as slide_run
from tests.unit.convert.word_files import lists, paragraph, run, text_box, word_file

FILES = Path(__file__).parents[2] / "data" / "files"
NUMBERED = item("Scope", style="Heading1") + item("Delivery 30", 1) + item("Rails", 2) + item("Payment")


def save(made: object) -> bytes:
    out = io.BytesIO()
    made.save(out)  # type: ignore[attr-defined]
    return out.getvalue()


DOCUMENTS = {
    **{path.name: path.read_bytes() for path in sorted(FILES.glob("*.docx"))},
    **{name: word_file(paragraph(content), styles=CHARACTER_STYLES) for name, (content, _) in LINES.items()},
    "numbers": word_file(NUMBERED, numbering=lists(CLAUSES)),
    "box": word_file(paragraph(run("Near") + text_box(paragraph(run("40 tons"))))),
    "hidden": word_file(paragraph(run("400") + run(" 250 at worst", "<w:vanish/>"))),
}
DECKS = {
    **{path.name: path.read_bytes() for path in sorted(FILES.glob("*.pptx"))},
    "slides": presentation(),
    "choice": save(deck(choice(LIMIT, LIMIT))[0]),
    "power": save(deck(box(slide_paragraph(slide_run("10") + slide_run("6", 'baseline="30000"'))))[0]),
}
COUNTED = {
    "numbers": {"1", "2"},
    "form list": {"7"},
    "choice of a control": {"5"},
    "date of a control": {"2024", "5", "6"},
    "word art": {"5"},
    "sign": {"5"},
}
"""Numbers that are not in the text: automatic numbers, and the states of controls."""


def get_numbers(archive: zipfile.ZipFile) -> set[str]:
    nodes = (
        node.text or ""
        for name in archive.namelist()
        if name.endswith(".xml") and re.match(r"(?:word|ppt)/", name)
        for node in fromstring(archive.read(name)).iter()
        if str(node.tag).endswith(("}t", "}v"))
    )
    return {number.lstrip("0") for text in nodes for number in re.findall(r"\d+", text)}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_is_complete(name: str) -> None:
    check(word.convert(DOCUMENTS[name]), DOCUMENTS[name], COUNTED.get(name, set()))


@pytest.mark.parametrize("name", DECKS)
def test_deck_is_complete(name: str) -> None:
    check(slides.convert(DECKS[name]), DECKS[name], set())


def check(made: Converted, data: bytes, counted: set[str]) -> None:
    text = re.sub(r"^## Slide \d+$", "", made.text, flags=re.MULTILINE)
    assert [
        note for note in made.notes if "e.g." in note and re.search("words? of the (?:document|slides)", note)
    ] == []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {number.lstrip("0") for number in re.findall(r"\d+", text)} <= get_numbers(archive) | counted


def test_text_that_a_converter_loses_is_noted() -> None:
    with zipfile.ZipFile(io.BytesIO(DOCUMENTS["box"])) as archive:
        assert note_missing(Package(archive).read_pieces(WORD_PARTS), "Near\n", "the document") == (
            'skipped: 2 words of the document, e.g. "40 tons"',
        )

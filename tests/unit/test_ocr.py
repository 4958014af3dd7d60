from pathlib import Path
from typing import Any

import pytest

from kg_api.convert.shared import ocr
from kg_api.graph.images import SourceOnPage
from kg_api.ingest.records import DocumentPages
from kg_api.local.processes import Home
from kg_api.mcp.tools import build_hit
from kg_api.schemas.documents import WordBox, pack, unpack
from kg_api.schemas.search import DescribedPlace, Place
from kg_api.settings import load_settings
from kg_cli.search.views import format_title
from kg_cli.stack import doctor
from kg_cli.terminal.console import style_text
from tests.support.hits import make_hit, make_place

WHERE: dict[str, Any] = {"document": "a.pdf", "paragraph": 3, "heading": [], "page": 2, "last_page": 2}
PLACE = make_place("s", "Blueberries", 100, **WHERE).model_dump()
READ = {**PLACE, "ocr": True, "ocr_confidence": 0.934}


def box(start: int, page: int, confidence: int) -> WordBox:
    return WordBox(start, start + 4, page, 1, 2, 3, 4, confidence)


def test_passage_has_its_ocr_words_and_confidence() -> None:
    pages = DocumentPages((0, 100), [box(96, 1, 10), box(100, 2, 90), box(110, 2, 80), box(120, 2, 10)])
    found = pages.find_pages(100, "word and so word... \n")
    assert found[:3] == (2, 2, 0.85)
    assert unpack(found.word_boxes or b"", 100) == [box(100, 2, 90), box(110, 2, 80)]
    both = SourceOnPage("s", "", 0, pack([box(0, 1, 90), box(5, 2, 90)], 0))
    assert (both.words(1), both.words(2)) == ([box(0, 1, 90)], [box(5, 2, 90)])


def test_longer_words_weigh_more_in_the_confidence() -> None:
    pages = DocumentPages((0,), [WordBox(0, 7, 1, 1, 2, 3, 4, 97), WordBox(8, 9, 1, 1, 2, 3, 4, 17)])
    assert pages.find_pages(0, "picture 7")[2] == pytest.approx((7 * 0.97 + 0.17) / 8, abs=0.001)


def test_passage_of_ocr_page_is_marked_without_words() -> None:
    pages = DocumentPages((0, 100), [box(150, 2, 90)])
    assert pages.find_pages(120, "| |") == (2, 2, 0.9, None)
    assert pages.find_pages(20, "written") == (1, 1, None, None)


def test_hits_say_that_they_were_read_by_ocr() -> None:
    places = map(DescribedPlace.model_validate, (READ, PLACE))
    read, written = (style_text(format_title(each)).plain for each in places)
    assert "page 2 > ¶3 (OCR, confidence 0.93)" in read
    assert "OCR" not in written
    assert build_hit(make_hit(Place.model_validate(READ)))["ocr_confidence"] == 0.934


@pytest.mark.parametrize(
    ("setting", "there", "state", "told"),
    [
        ("auto", True, "ok", "OCR reads PDF pages without text"),
        ("auto", False, "note", "OCR is not installed, so scanned pages are skipped"),
        ("off", True, "note", "OCR is off (KG_CONVERSION__OCR), so scanned pages are skipped"),
    ],
)
def test_doctor_reports_the_ocr_engine(
    monkeypatch: pytest.MonkeyPatch, setting: str, there: bool, state: str, told: str
) -> None:
    monkeypatch.setenv("KG_CONVERSION__OCR", setting)
    monkeypatch.setattr(ocr, "find_spec", lambda _: there or None)
    (finding,) = doctor.examine_ocr(Home(Path()), load_settings())
    assert (finding.state, told in finding.detail) == (state, True), finding

"""The words that stand for a picture: of its name, of what it is given, and its own as they are."""

from __future__ import annotations

from kg_api.ingest.reader import with_words
from kg_api.schemas.documents import Converted


def test_what_is_said_of_it_stands_before_its_own_words() -> None:
    told = with_words(
        Converted("A boat"), "sea/IMG_9.jpg", "Pebbles", {"description": "On  the\nbeach", "n": 1}
    )
    assert told.text == "sea IMG 9\nPebbles\nOn the beach\nA boat"


def test_what_it_says_itself_is_not_said_twice() -> None:
    assert with_words(Converted("A boat\n"), "a.jpg", "A boat", {"caption": "A boat"}).text == "a\nA boat\n"


def test_lines_that_ocr_reads_twice_stay() -> None:
    receipt = "Apple\n2.00\n\nPear\n2.00"
    assert with_words(Converted(receipt), "a.jpg", None, {}).text == f"a\n{receipt}"

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.extraction.replies import clean_value
from kg_api.graph.concepts import clean_name
from kg_api.schemas.base import normalize_spaces

JOINERS = "\u200c\u200d"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Ada\u202e \x00Love\u200blace", "Ada Lovelace"),
        ("a\x1bb\x85c\u2028d\u2029e", "a b c d e"),
        ("co\u00adoperate\ufeff", "cooperate"),
        ("x\U000e0041\U000e007fy\U000e0000", "xy"),
        ("\ud83dx", "x"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("क\u094d\u200dष", "क\u094d\u200dष"),
        ("a\u200d", "a"),
        ("\u200ca 1\u200d2 b\u200c\u200cb", "a 12 bb"),
        (" two\t\nlines ", "two lines"),
    ],
)
def test_one_line_shows_all_it_says(text: str, seen: str) -> None:
    assert normalize_spaces(text) == seen
    assert clean_value(text, 100) == clean_name(text, 100) == seen, "there is one way to clean"


def test_no_unseen_character_is_left() -> None:
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    unseen = [each for each in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(each) in kinds]
    assert normalize_spaces("".join([*unseen, *map(chr, range(0xE0000, 0xE0080))])) == ""


@given(st.text())
def test_a_line_is_its_own_line(text: str) -> None:
    once = normalize_spaces(text)
    assert normalize_spaces(once) == once
    assert not any(unicodedata.category(each) in {"Cc", "Cs", "Zl", "Zp"} for each in once)
    assert all(each in JOINERS for each in once if unicodedata.category(each) == "Cf")

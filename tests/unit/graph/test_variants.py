"""Numbers and letters that people join or part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.graph.text_analysis import MAX_VARIANTS, OMITTED, Variant, find_variants


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("5kg", ["5 kg"]),
        ("5 kg", ["5kg"]),
        ("a load of 5-kg", ["5kg"]),
        ("12㎏ 12 ㎏", ["12 kg", "12kg"]),
        ("1,5 kg 2.5m", ["2.5 m", "1,5kg"]),
        ("100km/h", ["100 km"]),
        ("100 km/h", ["100km"]),
        ("20 °C", ["20C"]),
        ("30 m2", ["m 2", "30m2"]),
        ("30m2", ["30 m2"]),
        ("ISO 9001", ["ISO9001"]),
        ("ISO9001", ["ISO 9001"]),
        ("QX-17", ["QX17"]),
        ("Python 3.11", ["Python3.11"]),
        ("10⁶ x^2 1/2", ["10 6", "1 2", "6x", "x2"]),
        ("A 4", ["A4"]),
        ("A4 in 2024, at 5", []),
        ("2022년 2022 년 第5条", []),
        ("20% 3.11 2024-05-01", []),
        ("", []),
    ],
)
def test_variantss_are_the_other_way_to_write(question: str, expected: list[str]) -> None:
    assert [each.words for each in find_variants(question)] == expected


def test_unit_that_the_index_leaves_out_weighs_half() -> None:
    assert find_variants("16A") == [Variant("16", 0.5)]
    assert find_variants("16 A") == [Variant("16A", 2.0)]


@given(st.text())
def test_variantss_are_few_words_of_letters_and_digits(question: str) -> None:
    found = find_variants(question)
    assert len(found) <= MAX_VARIANTS
    assert all(
        part.replace(",", "").replace(".", "").isalnum() for each in found for part in each.words.split()
    )


@given(st.integers(0, 10**6), st.from_regex("[b-z]{1,4}", fullmatch=True))
def test_joined_and_apart_ask_for_each_other(number: int, unit: str) -> None:
    if unit not in OMITTED:
        assert [each.words for each in find_variants(f"{number}{unit}")] == [f"{number} {unit}"]
    assert [each.words for each in find_variants(f"{number} {unit}")] == [f"{number}{unit}"]

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kg_api.schemas.base import name_id, normalize_concept_name


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Foo-Bar", "foo bar"),
        ("  snake_case ", "snake case"),
        ("a + b", "a b"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("C", "c"),
        ("#include", "include"),
        ("Straße", "strasse"),
        ("ＷＩＤＥ", "wide"),
        ("???", "???"),
        ("P = NP", "p = np"),
        ("P != NP", "p != np"),
        ("x > 5", "x > 5"),
        ("-1", "-1"),
        ("COVID-19", "covid 19"),
        ("@property", "@property"),
        ("$5", "$5"),
        ("Yahoo!", "yahoo"),
        ("AT&T", "at t"),
    ],
)
def test_normalized_name_ignores_case_and_punctuation(label: str, name: str) -> None:
    assert normalize_concept_name(label) == name


@given(st.text())
@example("_+x")
def test_a_name_is_its_own_name(label: str) -> None:
    once = normalize_concept_name(label)
    assert normalize_concept_name(once) == once
    assert name_id("o", once) == name_id("o", label)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.models.identity import concept_name, name_id


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
    ],
)
def test_a_name_is_what_is_left_without_case_and_punctuation(label: str, name: str) -> None:
    assert concept_name(label) == name


@given(st.text())
def test_a_name_is_its_own_name(label: str) -> None:
    once = concept_name(label)
    assert concept_name(once) == once
    assert name_id("o", once) == name_id("o", label)

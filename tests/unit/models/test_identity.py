from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kg_api.schemas.base import (
    build_concept_text,
    build_document_scope,
    build_ontology_scope,
    chunk_id,
    content_hash,
    digest,
    document_id,
    source_ids,
)

TEXT = st.text()
PARTS = st.lists(TEXT, max_size=4)


def test_ids_never_change_between_releases() -> None:
    """If these change, data that is stored cannot be used."""
    assert document_id("notes", "a.md") == "ed38a806b94b9ade97b547254c487926"
    assert content_hash("text") == "d41d7ee6513fe47e3df380f74cb14ea4"
    first, second = source_ids("d", ["h", "h"])
    assert (first, second) == ("680f783d4cee4818bd5bc8ddc9922429", "0772f10355b56b32a6e3ba22ef784a0d")
    assert chunk_id("s", 0, 1) == "3d120a21b22efb2efa9ea5e7ccc197f8"


@given(PARTS, PARTS)
def test_different_parts_have_different_digests(one: list[str], two: list[str]) -> None:
    assert (digest(*one) == digest(*two)) == (one == two)


@given(st.lists(st.sampled_from("abc")))
def test_equal_paragraphs_have_separate_stable_ids(hashes: list[str]) -> None:
    ids = [*source_ids("d", hashes)]
    assert len(set(ids)) == len(ids)
    assert Counter(source_ids("d", sorted(hashes))) == Counter(ids)
    assert not set(ids) & {*source_ids("other", hashes)}


@given(TEXT)
def test_a_scope_is_one_plain_token(name: str) -> None:
    assert build_ontology_scope(name).isalnum()
    assert build_document_scope(document_id("o", name)).isalnum()
    assert build_ontology_scope(name).islower()


def test_only_code_names_are_split_for_embedding() -> None:
    """With some models, a nonsense word was near to everything and was used as `__gt__` (ADR 29)."""
    assert build_concept_text("__gt__", "", ()) == "gt"
    assert (
        build_concept_text("MAX_AGE", "Of my_cache.", ["max_age", "age"])
        == "MAX AGE\nOf my_cache.\nmax age, age"
    )
    assert build_concept_text("___", "", ()) == "___"
    assert build_concept_text("rare  gem", "", ()) == "rare  gem"

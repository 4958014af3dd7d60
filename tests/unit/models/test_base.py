import inspect
import unicodedata
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from kg_api.extraction.replies import clean_value
from kg_api.graph.concepts import clean_name
from kg_api.schemas import base
from kg_api.schemas.base import (
    Called,
    DocumentName,
    OntologyName,
    Text,
    build_concept_text,
    build_source_ids,
    compute_digest,
    normalize_concept_name,
    normalize_spaces,
    require_storable,
)
from kg_api.schemas.concepts import Phrase
from kg_api.schemas.documents import Author

ANY_CHARACTER = st.text(st.characters())


def accepts(kind: Any, value: object) -> bool:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


@given(ANY_CHARACTER)
def test_storable_text_excludes_null_and_surrogates(text: str) -> None:
    bad = "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text)
    assert accepts(Text, text) == (not bad)
    if not bad:
        assert require_storable(text) == text


@pytest.mark.parametrize(
    "name",
    ["a", "_", "1", "notes", "Büro 2", "v1.2-final", "本棚", "हिन्दी", "a" * 100, "e\u0301", "a  b", "a."],
)
def test_names_of_ontologies_in_any_script(name: str) -> None:
    assert accepts(OntologyName, name)


@pytest.mark.parametrize(
    "name",
    [
        "", " ", " a", "a ", "-a", ".a", "a/b", "a\\b", "a`b", "a'b", 'a"b', "a\nb", "a\n", "a\x00",
        "a" * 101, "a;b", "a{b", "a$b", "../a", "a\u200bb", "a\u202eb", "\u0301a", "🦊", "a\ud800",
    ],
)  # fmt: skip
def test_invalid_ontology_name_is_rejected(name: str) -> None:
    assert not accepts(OntologyName, name)


BLANKS = ["", " ", "\t\n", "\xa0", "\u3000", "\ufeff", "\x1c\x1f", "\x85", "\u2028 \ufeff"]


@pytest.mark.parametrize("kind", [Phrase, Author], ids=["phrase", "author"])
@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_blank_text_is_rejected(kind: Any, blank: str) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(kind)
    with pytest.raises(ValidationError):
        adapter.validate_python(blank)
    assert adapter.validate_python(f"{blank}a") == f"{blank}a"
    assert adapter.json_schema()["pattern"] == r"\S"


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


@given(st.text())
def test_a_line_is_its_own_line(text: str) -> None:
    once = normalize_spaces(text)
    assert normalize_spaces(once) == once
    assert not any(unicodedata.category(each) in {"Cc", "Cs", "Zl", "Zp"} for each in once)
    assert all(each in JOINERS for each in once if unicodedata.category(each) == "Cf")


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("Foo-Bar", "foo bar"),
        ("  snake_case ", "snake case"),
        ("a + b", "a b"),
        ("C++", "c++"),
        ("C#", "c#"),
        ("Straße", "strasse"),
        ("ＷＩＤＥ", "wide"),
        ("???", "???"),
        ("P != NP", "p != np"),
        ("x > 5", "x > 5"),
        ("-1", "-1"),
        ("COVID-19", "covid 19"),
        ("@property", "@property"),
        ("AT&T", "at t"),
        *(("बिल।", "बिल"), ("नीति-आयोग", "नीति आयोग"), ("தமிழ்", "தமிழ்"), ("ที่ อยู่", "ที่ อยู่")),
        *(("Ⅰ️ ❤️ x", "i x"), ("1️⃣ x", "1 x")),
    ],
)
def test_normalized_name_ignores_case_and_punctuation(label: str, name: str) -> None:
    assert normalize_concept_name(label) == name


TEXT = st.text()
PARTS = st.lists(TEXT, max_size=4)


IDS = {
    "build_alias_scope": "kga034d6b35c0b139ef07006ca319337e02",
    "build_community_id": "7f372aa390b18b38cef575a9c10e9ea3",
    "build_concept_id": "4b6a880274229a1284a25d04b07b98c6",
    "build_document_id": "4d95025fce4c3e7e4955481519eca13e",
    "build_document_scope": "kgdPart_0",
    "build_instance_id": "c81487add89dec625c3b4dd775cbb6f7",
    "build_judged_question_id": "d0ed16cee50049155e3733311af7bbe8",
    "build_judgement_id": "98afbb96c8f26020afea2ade1668406b",
    "build_name_id": "9fb4c164fabcba2d5448e1d0014d65a2",
    "build_ontology_scope": "kgoc494621cb5e628c3185b91429e56e90c",
    "build_proposal_id": "cdaffa9a942990fde60c7383e41b9b48",
    "build_relation_id": "4a6b51fc1eed850a4e75006186a8c847",
    "build_relation_type_id": "2c34083948a55189230af9d0570b5eff",
    "hash_concept_text": "98b1edb7930caf8a79ce7b25d6abde57",
    "hash_content": "ad9fbe4acd73dba3245fd2dc0d59dc6f",
    "hash_text": "799391570c08ba81cb75dd0be8842881",
    "hash_type_text": "3d529254f22e1ce60679ae4f2709efd3",
}
"""Ids and hashes of the arguments Part_0, 1, Part_2..."""


def test_ids_never_change_between_releases() -> None:
    """If these change, data that is stored cannot be used."""
    found: dict[str, str] = {}
    for name, function in inspect.getmembers(base, inspect.isfunction):
        if name.endswith(("_id", "_scope")) or name.startswith("hash_"):
            kinds = [each.annotation for each in inspect.signature(function).parameters.values()]
            found[name] = function(*(n if kind == "int" else f"Part_{n}" for n, kind in enumerate(kinds)))
    assert found == IDS
    first, second = build_source_ids("d", ["h", "h"])
    assert (first, second) == ("680f783d4cee4818bd5bc8ddc9922429", "0772f10355b56b32a6e3ba22ef784a0d")


@given(PARTS, PARTS)
def test_different_parts_have_different_digests(one: list[str], two: list[str]) -> None:
    assert (compute_digest(*one) == compute_digest(*two)) == (one == two)


@given(st.lists(st.sampled_from("abc")))
def test_equal_paragraphs_have_separate_stable_ids(hashes: list[str]) -> None:
    ids = [*build_source_ids("d", hashes)]
    assert len(set(ids)) == len(ids)
    assert Counter(build_source_ids("d", sorted(hashes))) == Counter(ids)
    assert not set(ids) & {*build_source_ids("other", hashes)}


def test_longest_names_fit_in_a_reference_to_a_source() -> None:
    ontology = TypeAdapter(OntologyName).validate_python("n" * 100)
    document = TypeAdapter(DocumentName).validate_python("a" * 1000)
    reference = f"{ontology}/{document}#{10**9}"
    assert TypeAdapter(Called).validate_python(reference) == reference


def test_only_code_names_are_split_for_embedding() -> None:
    """With some models, a nonsense word was near to everything and was used as `__gt__` (ADR 29)."""
    assert build_concept_text("__gt__", "", ()) == "gt"
    assert (
        build_concept_text("MAX_AGE", "Of my_cache.", ["max_age", "age"])
        == "MAX AGE\nOf my_cache.\nmax age, age"
    )
    assert build_concept_text("___", "", ()) == "___"
    assert build_concept_text("rare  gem", "", ()) == "rare  gem"

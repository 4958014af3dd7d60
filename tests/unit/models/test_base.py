from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from kg_api.schemas.base import Answer, Body, DocumentName, NodeId, OntologyName, Text, require_storable
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


@pytest.mark.parametrize(("kind", "longest"), [(DocumentName, 1000), (NodeId, 100)])
def test_lengths_are_bounded(kind: object, longest: int) -> None:
    assert accepts(kind, "x" * longest)
    assert not accepts(kind, "x" * (longest + 1))
    assert not accepts(kind, "")


def test_requests_reject_unknown_fields_responses_ignore_them() -> None:
    class Asked(Body):
        a: int

    class Told(Answer):
        a: int

    assert Told.model_validate({"a": 1, "b": 2}).a == 1
    with pytest.raises(ValidationError, match="b"):
        Asked.model_validate({"a": 1, "b": 2})


BLANKS = ["", " ", "\t\n", "\xa0", "\u3000", "\ufeff", "\x1c\x1f", "\x85", "\u2028 \ufeff"]


@pytest.mark.parametrize("kind", [Phrase, Author], ids=["phrase", "author"])
@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_blank_text_is_rejected(kind: Any, blank: str) -> None:
    adapter: TypeAdapter[str] = TypeAdapter(kind)
    with pytest.raises(ValidationError):
        adapter.validate_python(blank)
    assert adapter.validate_python(f"{blank}a") == f"{blank}a"
    assert adapter.json_schema()["pattern"] == r"\S"

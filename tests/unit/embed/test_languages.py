from __future__ import annotations

import pytest

from kg_api.providers.embedding_port import CATALOGUE, describe_unknown_languages, knows_language

BGE = "bge-small-en-v1.5"


@pytest.mark.parametrize("model", [*CATALOGUE, "nomic-embed-text-v1.5", "nomic-embed-text"])
def test_english_models_do_not_know_german(model: str) -> None:
    assert knows_language(model, "english")
    assert not knows_language(model, "german")


def test_note_counts_documents_and_names_the_model() -> None:
    (note,) = describe_unknown_languages(BGE, {"english": 33, "german": 14, "spanish": 8, "unknown": 1})
    assert note.startswith(f"22 of 56 documents are German or Spanish; {BGE} supports English.")
    assert "docs/operations/models.md" in note


@pytest.mark.parametrize(
    ("model", "documents"),
    [
        (BGE, {}),
        (BGE, {"english": 10, "unknown": 5}),
        (BGE, {"english": 97, "romanian": 3}),  # as often as English documents look like another language
        ("text-embedding-3-small", {"german": 10}),
        ("a model of somebody", {"german": 10}),
    ],
)
def test_supported_unknown_and_rare_languages_have_no_note(model: str, documents: dict[str, int]) -> None:
    assert describe_unknown_languages(model, documents) == []

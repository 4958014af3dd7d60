"""What a text is searched for by."""

from __future__ import annotations

from typing import Any

import pytest

from kg_api.errors import InvalidInput
from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.schemas.answers import AugmentRequest
from kg_api.schemas.vocabulary import MAX_QUERY_CHARACTERS
from kg_api.search.augment import (
    MAX_PIECES,
    MEASURED,
    chunk_token_limit,
    consolidate_request,
    counter_of,
    pieces_of,
    threshold,
)

COUNTER = counter_of(DeterministicEmbedder(max_tokens=100))
LONG = "\n\n".join(" ".join(f"word{n}" for _ in range(60)) + "." for n in range(20))


def request(**fields: Any) -> AugmentRequest:
    return AugmentRequest.model_validate({"text": LONG, **fields})


def test_pieces_are_no_longer_than_the_model_takes_at_once() -> None:
    made = pieces_of(LONG, request(overlap_tokens=0), COUNTER)
    assert [each.number for each in made.pieces] == [*range(1, 21)]
    assert all(each.tokens == 60 for each in made.pieces)
    assert all(LONG[each.start : each.end] == each.text for each in made.pieces)
    assert chunk_token_limit(request(), COUNTER) == 100
    assert chunk_token_limit(request(chunk_tokens=64, overlap_tokens=0), COUNTER) == 64


def test_the_overlap_shrinks_with_the_piece() -> None:
    sentences = " ".join(f"Sentence number {n} says this." for n in range(200))
    (_, first), (second, _) = [
        (each.start, each.end) for each in pieces_of(sentences, request(), COUNTER).pieces[:2]
    ]
    assert sentences[second:first].strip() == "Sentence number 13 says this."


def test_a_short_text_is_one_query_and_what_is_short_can_be_said() -> None:
    assert len(pieces_of("a word or two", request(), COUNTER).pieces) == 1
    assert len(pieces_of(LONG, request(one_query_tokens=8000), COUNTER).pieces) == 1
    short = " ".join(f"Sentence {n} says this." for n in range(20))
    assert (
        len(pieces_of(short, request(one_query_tokens=10, chunk_tokens=64, overlap_tokens=0), COUNTER).pieces)
        == 2
    )


def test_the_whole_text_comes_last_and_only_where_there_are_pieces() -> None:
    made = pieces_of(LONG, request(whole=True), COUNTER).pieces
    assert [each.whole for each in made] == [False] * (len(made) - 1) + [True]
    assert (made[-1].text, made[-1].number) == (LONG, len(made))
    assert [each.whole for each in pieces_of("short", request(whole=True), COUNTER).pieces] == [False]


def test_of_a_very_long_text_pieces_are_spread_evenly_and_the_rest_is_counted() -> None:
    text = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(200))
    made = pieces_of(text, request(overlap_tokens=0), COUNTER)
    assert (len(made.pieces), made.left_out) == (MAX_PIECES, 200 - MAX_PIECES)
    assert "Paragraph 0." in made.pieces[0].text
    assert "Paragraph 199." in made.pieces[-1].text


def test_without_a_model_tokens_are_estimated() -> None:
    blind = counter_of(None)
    assert (blind.estimated, COUNTER.estimated, chunk_token_limit(request(), blind)) == (True, False, 1800)
    assert blind.count("one two three") >= 3
    made = pieces_of("x" * 50_000, request(), blind).pieces
    assert all(len(each.text) <= MAX_QUERY_CHARACTERS for each in made)


def test_a_conversation_is_consolidated_and_what_says_nothing_is_refused() -> None:
    talk = {"text": None, "messages": [{"author": "Ada", "text": "# Hi"}, {"author": "Bob", "text": " "}]}
    text, notes = consolidate_request(request(**talk))
    assert (text, len(notes)) == ("## Ada\n\n> # Hi\n\n", 1)
    for said in ("", " \n", "…!?—", "\u200b"):
        with pytest.raises(InvalidInput, match="no word"):
            consolidate_request(request(text=said))


@pytest.mark.parametrize(
    ("model", "fields", "expected"),
    [
        ("bge-small-en-v1.5", {}, (MEASURED["bge-small-en-v1.5"], "model")),
        ("unheard-of", {}, (0.7, "default")),
        ("bge-small-en-v1.5", {"min_similarity": 0.1}, (0.1, "request")),
        ("bge-small-en-v1.5", {"mode": "text"}, (None, "none")),
    ],
)
def test_the_threshold_belongs_to_the_model(model: str, fields: dict[str, Any], expected: object) -> None:
    told = threshold("default", model, request(**fields))
    assert (told.min_similarity, told.source) == expected

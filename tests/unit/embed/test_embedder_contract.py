"""What port.Embedder promises, for every embedder that ships."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

from kg_api.errors import InvalidInput
from kg_api.providers.embedding import DeterministicEmbedder, EmbeddingMetrics, MeteredEmbedder
from kg_api.providers.embedding_port import Embedder
from tests.support.providers import Asking

TEXTS = [
    "The cat sleeps on the warm stove all day.",
    "Interest rates rose again this quarter.",
    "A kitten naps beside the stove.",
    "short",
    "¡Ünïcode 👩‍👩‍👧 works, too!",
    "the same word " * 30,
]


@pytest.fixture(params=["deterministic", "local", "openai", "nomic", "metered"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    match request.param:
        case "local":
            yield request.getfixturevalue("local")
        case "deterministic":
            yield DeterministicEmbedder()
        case "metered":
            yield MeteredEmbedder(DeterministicEmbedder(), EmbeddingMetrics(CollectorRegistry()))
        case provider:
            with Asking(provider, request.getfixturevalue("server")) as asking:
                yield asking.embedder


@pytest.fixture(params=["deterministic", "local", "openai"])
def short_embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    """One that takes few tokens."""
    match request.param:
        case "local":
            yield request.getfixturevalue("short")
        case "deterministic":
            yield DeterministicEmbedder(max_tokens=32)
        case _:
            server = request.getfixturevalue("server")
            sizes: dict[str, Any] = {"embed_dims": 64, "max_tokens": 64}
            server.dimensions["own-model"] = 64
            with Asking("openai", server, embed_model="own-model", **sizes) as asking:
                yield asking.embedder


def test_passages_give_one_unit_row_each(embedder: Embedder) -> None:
    vectors = embedder.embed_passages(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.identity.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_no_passages_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed_passages([]).shape == (0, embedder.identity.dimensions)


def test_a_query_gives_one_unit_vector(embedder: Embedder) -> None:
    vector = embedder.embed_query("cats and stoves")
    assert vector.dtype == np.float32
    assert vector.shape == (embedder.identity.dimensions,)
    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-6)


def test_order_is_kept_and_a_text_gives_the_same_bytes_in_any_company(embedder: Embedder) -> None:
    alone = [embedder.embed_passages([text])[0].tobytes() for text in TEXTS]
    together = [row.tobytes() for row in embedder.embed_passages(TEXTS)]
    backwards = [row.tobytes() for row in embedder.embed_passages(TEXTS[::-1])]
    assert alone == together == backwards[::-1]
    assert len(set(alone)) == len(TEXTS)


def test_related_texts_are_nearer(embedder: Embedder) -> None:
    cat, rates, kitten, *_ = embedder.embed_passages(TEXTS)
    assert cat @ kitten > cat @ rates
    assert (
        embedder.embed_query("a cat by the stove") @ cat > embedder.embed_query("a cat by the stove") @ rates
    )


@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_blank_texts_are_refused(embedder: Embedder, blank: str) -> None:
    with pytest.raises(InvalidInput, match="blank"):
        embedder.embed_passages(["fine", blank])
    with pytest.raises(InvalidInput, match="blank"):
        embedder.embed_query(blank)


def test_half_a_surrogate_pair_is_refused(embedder: Embedder) -> None:
    with pytest.raises(InvalidInput, match="Unicode"):
        embedder.embed_passages(["\ud800"])


def test_a_passage_over_the_limit_is_refused_and_its_spans_are_taken(short_embedder: Embedder) -> None:
    text = "Nothing may be cut off silently. " * 20
    with pytest.raises(InvalidInput, match=r"\d\d tokens"):
        short_embedder.embed_passages([text])
    pieces = [text[start:end] for start, end in short_embedder.spans(text)]
    assert "".join(pieces) == text
    assert len(pieces) > 1
    assert len(short_embedder.embed_passages(pieces)) == len(pieces)


def test_spans_leave_room_for_what_stands_before(short_embedder: Embedder) -> None:
    text, before = "Nothing may be cut off silently. " * 20, "A > B: "
    spans = short_embedder.spans(text, before)
    pieces = [text[start:end] for start, end in spans]
    assert "".join(pieces) == text
    assert len(spans) >= len(short_embedder.spans(text))
    assert len(short_embedder.embed_passages([before + piece for piece in pieces])) == len(pieces)


def test_what_leaves_no_room_is_refused(short_embedder: Embedder) -> None:
    with pytest.raises(InvalidInput, match="no room"):
        short_embedder.spans("text", "heading " * 100)


def test_tokens_of_passages_are_counted(embedder: Embedder) -> None:
    assert embedder.count_tokens([]) == 0
    each = [embedder.count_tokens([text]) for text in TEXTS]
    assert min(each) > 0
    assert embedder.count_tokens(TEXTS) == sum(each)
    assert each[-1] >= 90


def test_a_query_over_the_limit_says_something_of_all_its_parts(short_embedder: Embedder) -> None:
    cats, rates = "The cat sleeps on the stove. " * 8, "Interest rates rose sharply. " * 8
    both = short_embedder.embed_query(cats + rates)
    assert np.isclose(np.linalg.norm(both), 1, atol=1e-6)
    cat, rate = (short_embedder.embed_query(text.strip()) for text in (cats, rates))
    assert both @ cat > cat @ rate
    assert both @ rate > cat @ rate


def test_a_long_query_may_hold_a_desert_of_white_space(short_embedder: Embedder) -> None:
    vector = short_embedder.embed_query("one" + " " * 30_000 + "two")
    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-6)


def test_texts_without_a_word_have_a_vector(embedder: Embedder) -> None:
    assert np.isfinite(embedder.embed_passages(["...", "\u200b", "\x00"])).all()

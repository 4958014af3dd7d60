from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from prometheus_client import CollectorRegistry

from kg_api.errors import EmbeddingFailed, InvalidInput
from kg_api.providers.embedding import DeterministicEmbedder, EmbeddingMetrics, MeteredEmbedder
from kg_api.providers.embedding_port import Embedder, unit
from tests.support.providers import Asking

TEXTS = [
    "The cat sleeps on the warm stove all day.", "Interest rates rose again this quarter.",
    "A kitten naps beside the stove.", "short", "¡Ünïcode 👩‍👩‍👧 works, too!", "the same word " * 30,
]  # fmt: skip


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


def test_order_is_kept_and_batches_do_not_matter(embedder: Embedder) -> None:
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
def test_blank_texts_are_rejected(embedder: Embedder, blank: str) -> None:
    with pytest.raises(InvalidInput, match="blank"):
        embedder.embed_passages(["fine", blank])
    with pytest.raises(InvalidInput, match="blank"):
        embedder.embed_query(blank)


def test_passage_over_the_limit_is_rejected_unless_split(short_embedder: Embedder) -> None:
    text = "Nothing may be cut off silently. " * 20
    with pytest.raises(InvalidInput, match=r"\d\d tokens"):
        short_embedder.embed_passages([text])
    pieces = [text[start:end] for start, end in short_embedder.spans(text)]
    assert "".join(pieces) == text
    assert len(pieces) > 1
    assert len(short_embedder.embed_passages(pieces)) == len(pieces)


def test_spans_leave_room_for_context(short_embedder: Embedder) -> None:
    text, before = "Nothing may be cut off silently. " * 20, "A > B: "
    spans = short_embedder.spans(text, before)
    pieces = [text[start:end] for start, end in spans]
    assert "".join(pieces) == text
    assert len(spans) >= len(short_embedder.spans(text))
    assert len(short_embedder.embed_passages([before + piece for piece in pieces])) == len(pieces)


def test_tokens_of_passages_are_counted(embedder: Embedder) -> None:
    assert embedder.count_tokens([]) == 0
    each = [embedder.count_tokens([text]) for text in TEXTS]
    assert min(each) > 0
    assert embedder.count_tokens(TEXTS) == sum(each)
    assert each[-1] >= 90


def test_long_query_represents_all_its_parts(short_embedder: Embedder) -> None:
    cats, rates = "The cat sleeps on the stove. " * 8, "Interest rates rose sharply. " * 8
    both = short_embedder.embed_query(cats + rates)
    assert np.isclose(np.linalg.norm(both), 1, atol=1e-6)
    cat, rate = (short_embedder.embed_query(text.strip()) for text in (cats, rates))
    assert both @ cat > cat @ rate
    assert both @ rate > cat @ rate


def test_texts_without_a_word_have_a_vector(embedder: Embedder) -> None:
    assert np.isfinite(embedder.embed_passages(["...", "\u200b", "\x00"])).all()


def test_vectors_never_change_between_releases() -> None:
    """If you change this, you have to change the `revision` in the identity."""
    vector = DeterministicEmbedder(dimensions=16).embed_passages(["Grüße an alle, alle!"])[0]
    expected = [38, 0, 76, -38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 38, 0, 0]
    assert np.round(vector * 100).tolist() == expected


usable = st.floats(-1e6, 1e6, width=32).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(arrays.arrays(np.float32, 8, elements=usable).filter(np.any))
def test_a_vector_is_scaled_to_length_one(vector: np.ndarray) -> None:
    scaled = unit(vector, 8)
    assert scaled.dtype == np.float32
    assert abs(float(np.linalg.norm(scaled.astype(np.float64))) - 1) < 1e-6
    assert np.allclose(scaled * np.linalg.norm(vector.astype(np.float64)), vector, rtol=1e-5)


@pytest.mark.parametrize(
    "bad", [[0, 0], [np.nan, 1], [np.inf, 1], [-np.inf, np.inf], [1], [1, 2, 3], [[1, 2]]]
)
def test_unusable_vector_is_rejected(bad: list[float]) -> None:
    with pytest.raises(EmbeddingFailed):
        unit(np.array(bad, dtype=np.float32), 2)

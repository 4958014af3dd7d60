from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry

from kg_api.errors import ConfigurationError, EmbeddingFailed, InvalidInput
from kg_api.metrics import Meters
from kg_api.providers.embedding import DeterministicEmbedder, MeteredEmbedder
from kg_api.providers.embedding_port import (
    CATALOGUE,
    Embedder,
    TextPart,
    TokenEmbedder,
    counting,
    embed_probed,
    is_token_embedder,
    normalize_vector,
    require_tokens,
)
from kg_api.providers.local_embedding import LocalEmbedder
from kg_api.providers.model_files import ensure_packaged
from kg_api.settings import load_settings
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
            yield MeteredEmbedder(DeterministicEmbedder(), Meters(CollectorRegistry()))
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


@pytest.mark.parametrize("embedder", ["deterministic", "local", "openai", "nomic"], indirect=True)
@pytest.mark.parametrize("query", [False, True])
def test_tokens_are_counted_without_those_of_the_probe(embedder: Embedder, *, query: bool) -> None:
    def count(call: Callable[[], object]) -> int:
        with counting() as tally:
            call()
        return tally.tokens

    embed = embedder.embed_query if query else lambda text: embedder.embed_passages([text])
    counted = [count(partial(embed, text)) for text in TEXTS]
    assert all(counted)
    expected = pytest.approx(sum(counted), rel=0.1)  # a server's count is divided among the texts
    assert count(lambda: embed_probed(embedder, TEXTS, "a probe " * 30, query=query)) == expected
    assert query or count(lambda: embedder.embed_passages(TEXTS)) == expected


def test_order_is_kept_and_batches_do_not_matter(embedder: Embedder) -> None:
    alone = [embedder.embed_passages([text])[0].tobytes() for text in TEXTS]
    together = [row.tobytes() for row in embedder.embed_passages(TEXTS)]
    backwards = [row.tobytes() for row in embedder.embed_passages(TEXTS[::-1])]
    assert alone == together == backwards[::-1]
    assert len(set(alone)) == len(TEXTS)


def test_related_texts_are_nearer(embedder: Embedder) -> None:
    cat, rates, kitten, *_ = embedder.embed_passages(TEXTS)
    assert cat @ kitten > cat @ rates
    query = embedder.embed_query("a cat by the stove")
    assert query @ cat > query @ rates


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


def test_end_of_a_query_of_any_length_counts(short_embedder: Embedder) -> None:
    for count in range(1, 13):  # from one piece to three
        start = "The cat sleeps on the stove. " * count
        end = start + "Interest rates rose sharply."
        assert short_embedder.embed_query(start) @ short_embedder.embed_query(end) < 0.9999, count


def test_texts_without_a_word_have_a_vector(embedder: Embedder) -> None:
    assert np.isfinite(embedder.embed_passages(["...", "\u200b", "\x00"])).all()


def test_vector_of_another_size_is_an_error() -> None:
    for bad in ([1], [1, 2, 3], [[1, 2]]):
        with pytest.raises(EmbeddingFailed, match=r"expected \(2,\)"):
            normalize_vector(np.array(bad, dtype=np.float32), 2)


BANK = "They met by the water. The bank was green and full of flowers. A fish jumped out of the river."
MONEY = "They asked for a loan. The bank was green and full of flowers. The interest was paid in March."
SENTENCE = "The bank was green and full of flowers."


def part(text: str, said: str = SENTENCE) -> TextPart:
    start = text.index(said)
    return TextPart(text, start, start + len(said))


@pytest.fixture(params=["deterministic", "local", "metered", "all-MiniLM-L6-v2", "e5-small-v2"])
def token_embedder(request: pytest.FixtureRequest) -> Iterator[TokenEmbedder]:
    match request.param:
        case "deterministic":
            yield DeterministicEmbedder()
        case "local":
            yield request.getfixturevalue("local")
        case "metered":
            watched = MeteredEmbedder(request.getfixturevalue("local"), Meters(CollectorRegistry()))
            assert is_token_embedder(watched)
            yield watched
        case name:
            model = CATALOGUE[name]
            yield LocalEmbedder(ensure_packaged(model, load_settings().cache), model.spec, threads=2)


def test_parts_give_one_unit_row_each(token_embedder: TokenEmbedder) -> None:
    vectors = token_embedder.embed_parts([part(BANK), part(MONEY), part(BANK, "A fish")])
    assert vectors.dtype == np.float32
    assert vectors.shape == (3, token_embedder.identity.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert token_embedder.embed_parts([]).shape == (0, token_embedder.identity.dimensions)


def test_part_is_embedded_in_its_context(token_embedder: TokenEmbedder) -> None:
    river, money = token_embedder.embed_parts([part(BANK), part(MONEY)])
    (alone,) = token_embedder.embed_passages([SENTENCE])
    fish, loan = token_embedder.embed_passages(["A fish jumped out of the river.", "They asked for a loan."])
    assert river.tobytes() != money.tobytes()
    assert (river - money) @ (fish - loan) > 0
    assert min(river @ alone, money @ alone) > 0.8, "it says what it says, wherever it stands"


def test_context_affects_only_its_own_part(token_embedder: TokenEmbedder) -> None:
    plain = part(BANK)
    titled = TextPart(plain.text, plain.start, plain.end, "Finance > Loans\n\n")
    first, second = token_embedder.embed_parts([plain, titled])
    finance, river = token_embedder.embed_passages(["Finance > Loans", "A river and its fish."])
    assert second @ finance > first @ finance
    assert second @ finance - first @ finance > second @ river - first @ river


def test_text_over_the_limit_is_rejected(token_embedder: TokenEmbedder) -> None:
    text = f"{SENTENCE} " + "word " * token_embedder.identity.max_tokens
    with pytest.raises(InvalidInput, match="tokens"):
        token_embedder.embed_parts([part(text)])


def test_model_prefix_does_not_shift_parts() -> None:
    """If the offset were wrong by two words, only the vector for the whole text would be correct."""
    model = CATALOGUE["e5-small-v2"]
    embedder = LocalEmbedder(ensure_packaged(model, load_settings().cache), model.spec, threads=1)
    mean = embedder._model.embed_spans("passage: " + BANK, [(9 + BANK.index("A fish"), 9 + len(BANK))])[0][0]
    by_hand = states_of(embedder, "passage: " + BANK)[-9:-1].mean(axis=0)  # a fish jumped out of the river .
    assert mean is not None
    assert np.allclose(mean, by_hand / np.linalg.norm(by_hand), atol=1e-5)


def states_of(embedder: LocalEmbedder, text: str) -> NDArray[np.float32]:
    ids, _ = embedder._model._encode(text)
    return embedder._model._compute_states(ids)


@pytest.mark.parametrize("provider", ["openai", "nomic"])
def test_remote_providers_reject_parts_and_name_alternatives(
    provider: str, request: pytest.FixtureRequest
) -> None:
    with Asking(provider, request.getfixturevalue("server")) as asking:  # pyright: ignore[reportArgumentType]
        watched: Embedder = MeteredEmbedder(asking.embedder, Meters(CollectorRegistry()))
        assert not is_token_embedder(watched)
        with pytest.raises(ConfigurationError, match=r"bge-small-en-v1.5.*kg admin spaces create"):
            require_tokens(watched)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.providers.embedding import DeterministicEmbedder


def test_vectors_never_change_between_releases() -> None:
    """A change here needs a new `revision` in the identity."""
    vector = DeterministicEmbedder(dimensions=16).embed_passages(["Grüße an alle, alle!"])[0]
    expected = [38, 0, 76, -38, 0, 0, 0, 0, 0, 0, 0, 0, 0, 38, 0, 0]
    assert np.round(vector * 100).tolist() == expected


@given(st.text(st.characters(exclude_categories=["Cs"])).filter(str.strip), st.sampled_from([1, 2, 64, 256]))
def test_any_text_has_a_unit_vector(text: str, dimensions: int) -> None:
    vector = DeterministicEmbedder(dimensions).embed_passages([text])[0]
    assert vector.shape == (dimensions,)
    assert np.isclose(np.linalg.norm(vector), 1, atol=1e-6)


def test_word_order_counts_a_little_and_case_does_not() -> None:
    embedder = DeterministicEmbedder()
    one, other, loud = embedder.embed_passages(
        ["dog bites man today", "man bites dog today", "DOG Bites Man today"]
    )
    assert 0.4 < one @ other < 0.99
    assert np.array_equal(one, loud)


@pytest.mark.parametrize("dimensions", [64, 256])
def test_the_identity_names_the_size(dimensions: int) -> None:
    identity = DeterministicEmbedder(dimensions).identity
    assert (identity.provider, identity.dimensions) == ("deterministic", dimensions)
    assert identity.fingerprint != DeterministicEmbedder(65).identity.fingerprint

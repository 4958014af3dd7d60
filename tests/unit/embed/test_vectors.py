import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kg_api.errors import EmbeddingFailed, InvalidInput
from kg_api.providers.embedding_port import require_text, unit

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
def test_an_unusable_vector_is_refused(bad: list[float]) -> None:
    with pytest.raises(EmbeddingFailed):
        unit(np.array(bad, dtype=np.float32), 2)


@pytest.mark.parametrize("bad", ["", " ", "\n\t ", "\u2003", "half \ud800 a pair"])
def test_a_text_that_no_model_can_embed_is_refused(bad: str) -> None:
    with pytest.raises(InvalidInput):
        require_text(bad)


@pytest.mark.parametrize("odd", [".", "\u200b", "a\x00b", "👩‍👩‍👧"])
def test_an_odd_text_passes(odd: str) -> None:
    require_text(odd)

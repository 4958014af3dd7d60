from collections.abc import Sequence

from kg_api.providers.embedding import DeterministicEmbedder
from kg_api.spaces.open_spaces import read_pairs

SHORTEST = 12
CALIBRATING = [text for pair in read_pairs() for text in pair]


def small_embedder() -> DeterministicEmbedder:
    return DeterministicEmbedder()


def calibrates(texts: Sequence[str]) -> bool:
    """Check if these are the texts that kg uses to calibrate a model. The tests do not count them."""
    whole = [texts] if isinstance(texts, str) else texts
    return bool(whole) and all(
        len(text) >= SHORTEST and any(known.startswith(text) for known in CALIBRATING) for text in whole
    )

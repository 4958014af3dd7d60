"""Sentence embeddings for `semantic`: a static model (a table of token vectors) in the package wordllama."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load
from tokenizers import Tokenizer

from kg_api.errors import ConfigurationError
from kg_api.text.borders import SentenceVectors

PACKAGE = "wordllama"
_WEIGHTS = (
    "weights/l2_supercat_256.safetensors",
    "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
)
_TOKENIZER = (
    "tokenizers/l2_supercat_tokenizer_config.json",
    "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
)
_MAX_SENTENCE_LENGTH = 4000  # characters to embed of a sentence


def open_sentence_vectors() -> SentenceVectors:
    """Load the model from the installed package (0.2 s, 50 MB) without a download.

    Returns:
        Function that returns float32 unit vectors (zero for texts without tokens), shape (texts, 256). The
        vector of a text does not depend on the other texts.
    """
    table = next(iter(load(_find_file(*_WEIGHTS)).values())).astype(np.float32)
    tokenizer = Tokenizer.from_buffer(_find_file(*_TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
        found = tokenizer.encode_batch_fast(
            [text[:_MAX_SENTENCE_LENGTH] for text in texts], add_special_tokens=False
        )
        summed = [table[each.ids].sum(axis=0) for each in found]
        matrix = np.array(summed, dtype=np.float32).reshape(len(texts), table.shape[1])
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        return matrix / np.maximum(lengths, np.finfo(np.float32).tiny)

    return vectors


def _find_file(name: str, sha256: str) -> bytes:
    spec = find_spec(PACKAGE)  # locates the package without importing it
    if spec is None or spec.origin is None:
        raise ConfigurationError(f"semantic chunking needs the package {PACKAGE}: pip install {PACKAGE}")
    path = Path(spec.origin).parent / name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the package {PACKAGE} lacks {name}. Install the package again") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ConfigurationError(f"{path} is not the expected file. Install {PACKAGE} 0.4.0")
    return data

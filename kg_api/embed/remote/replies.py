"""The vectors that providers answer, to be checked."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.port import Vectors
from kg_api.embed.vectors import unit
from kg_api.errors import EmbeddingFailed

INDEXES_WRONG: Final = (
    "the embedding server does not say which vector is of which text: in its reply every `index` must be the "
    "place of a text, or all must be left out;"
)
MAX_SHOWN = 5


def unit_rows(
    found: Sequence[Any], texts: int, dimensions: int, hint: str, *, what: str = "texts"
) -> Vectors:
    """Check a reply's vectors and scale them to length 1.

    Args:
        found: one per text, in the order of the texts; numbers of any kind.
        texts: how many were sent.
        dimensions: the size that is wanted.
        hint: what to do about another size.
        what: was sent, if no texts.

    Returns:
        float32, shape (texts, dimensions).

    Raises:
        EmbeddingFailed: saying what is wrong with them.
    """
    if len(found) != texts:
        raise EmbeddingFailed(f"{texts} {what} were sent and {len(found)} vectors came back")
    rows = np.empty((texts, dimensions), dtype=np.float32)
    for i, each in enumerate(found):
        vector = _numbers(each)
        if vector.ndim > 1:
            raise EmbeddingFailed(
                f"the reply has {len(vector)} vectors for one of the {what}, perhaps one for each token: "
                "set the server's pooling so that it returns one"
            )
        if vector.shape != (dimensions,):
            raise EmbeddingFailed(f"the vectors have {vector.size} numbers, not {dimensions}; {hint}")
        rows[i] = unit(vector, dimensions)
    return rows


def in_order(indexes: Sequence[object]) -> list[int]:
    """Where each text's vector stands in a reply whose vectors carry their text's index.

    A single missing index is the one that the others leave: servers written in Go omit zeros. With several
    missing, the list is in the order of the texts, which the others must confirm.

    Raises:
        EmbeddingFailed: an index is no number of a text, is there twice, or the order cannot be known.
    """
    said = str(list(indexes[:MAX_SHOWN]))
    indexes = [_index(each) for each in indexes]
    known = [index for index in indexes if index is not None]
    missing = len(indexes) - len(known)
    if missing == 1:
        absent = set(range(len(indexes))).difference(each for each in known if type(each) is int)
        indexes = [min(absent) if index is None else index for index in indexes]
    elif missing:
        indexes = [at if index is None else index for at, index in enumerate(indexes)]
    places = {index: at for at, index in enumerate(indexes) if type(index) is int}
    if sorted(places) != list(range(len(indexes))):
        raise EmbeddingFailed(f"{INDEXES_WRONG} {len(indexes)} texts got {said}")
    if missing > 1 and any(places[i] != i for i in places):
        raise EmbeddingFailed(f"{INDEXES_WRONG} several are missing in {said}")
    return [places[i] for i in range(len(indexes))]


def _index(value: object) -> object:
    """Return an index as a number if a server sends it as text or as a float."""
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def plain_vector(embedding: object) -> object:
    """Base64 of little-endian float32 as its numbers; anything else as it is: many servers know no base64.

    Raises:
        EmbeddingFailed: it is a text of another kind.
    """
    if not isinstance(embedding, str):
        return embedding
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    except (binascii.Error, ValueError):
        raise EmbeddingFailed("a vector in the reply is not base64 of float32 numbers") from None


def vector_size(embedding: object) -> int | None:
    """How many numbers a vector in a reply has; None if it is none."""
    try:
        return _numbers(plain_vector(embedding)).size
    except EmbeddingFailed:
        return None


def _numbers(value: object) -> NDArray[np.float64]:
    """A vector as numbers; some servers put it into a list of its own."""
    try:
        with np.errstate(over="ignore"):
            found = np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise EmbeddingFailed("a vector in the reply is not a list of numbers") from None
    if found.ndim == 0:
        raise EmbeddingFailed("a vector in the reply is not a list of numbers")
    return found[0] if found.ndim > 1 and len(found) == 1 else found

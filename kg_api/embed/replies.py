"""What providers answer: vectors to be looked at, and refusals to be understood."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kg_api.embed.port import Vectors
from kg_api.embed.vectors import unit
from kg_api.errors import ConfigurationError, EmbeddingFailed, InvalidInput
from kg_api.redacting import detail
from kg_api.retrying import TryAgain, is_passing, retry_after


@dataclass(frozen=True, slots=True)
class Provider:
    """Whom we ask, and the variables that say how; for messages."""

    address: str
    key: str = field(repr=False)
    key_variable: str
    model_variable: str
    address_variable: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP status that is not success, and what came with it."""

    status: int
    headers: Mapping[str, str]
    message: str = ""
    """The provider's own words; it may repeat a key or a text, so `understood` looks at it first."""
    code: str = ""
    parameter: str = ""
    """Which part of the request was wrong, if it says so."""


def understood(refusal: Refusal, provider: Provider, texts: Sequence[str]) -> Exception:
    """Give the error that a refusal amounts to: `TryAgain`, or a final one that says what to do.

    - 408, 429, 5xx: try again.
    - 401, 403: the key; never repeated, and neither is the message, which may hold it.
    - 404: the model or the address; so are 400 and 422 when they blame the model or its dimensions.
    - 400, 413, 422 otherwise: the texts.
    """
    status = refusal.status
    code = f" {refusal.code}" if re.fullmatch(r"[a-z_]{1,40}", refusal.code) else ""
    said = f"{provider.address} answered {status}{code}"
    if is_passing(status):
        return TryAgain(said, retry_after(refusal.headers))
    if status in {401, 403}:
        return ConfigurationError(
            f"{said}: it does not take the key; set {provider.key_variable} to a valid one"
        )
    said_more = detail(refusal.message, key=provider.key, sent=texts)
    if status == 404:  # noqa: PLR2004 - every reader knows it
        return ConfigurationError(
            f"{said}: there is no such model or no such address; "
            f"correct {provider.model_variable} or {provider.address_variable}{said_more}"
        )
    if refusal.parameter in {"model", "dimensions", "encoding_format"}:
        return ConfigurationError(
            f"{said}: it does not take this {refusal.parameter}; correct {provider.model_variable} and what "
            f"belongs to it{said_more}"
        )
    if status in {400, 413, 422}:
        return InvalidInput(f"{said}: it does not take the texts{said_more}")
    return ConfigurationError(f"{said}: that is no embedding service; correct {provider.address_variable}")


def too_large(provider: Provider, texts: int) -> EmbeddingFailed:
    """The error for a reply that no vectors of so many texts can fill."""
    return EmbeddingFailed(
        f"{provider.address} sends far more than the vectors of {texts} texts; "
        f"check {provider.address_variable}"
    )


def unit_rows(found: Sequence[Any], texts: int, dimensions: int, hint: str) -> Vectors:
    """Check a reply's vectors and scale them to length 1.

    Args:
        found: one per text, in the order of the texts; numbers of any kind.
        texts: how many were sent.
        dimensions: the size that is wanted.
        hint: what to do about another size.

    Returns:
        float32, shape (texts, dimensions).

    Raises:
        EmbeddingFailed: saying what is wrong with them.
    """
    if len(found) != texts:
        raise EmbeddingFailed(f"{texts} texts were sent and {len(found)} vectors came back")
    rows = np.empty((texts, dimensions), dtype=np.float32)
    for i, each in enumerate(found):
        vector = _numbers(each)
        if vector.shape != (dimensions,):
            raise EmbeddingFailed(f"the vectors have {vector.size} numbers, not {dimensions}; {hint}")
        rows[i] = unit(vector, dimensions)
    return rows


def in_order(indexes: Sequence[object]) -> list[int]:
    """Where each text's vector stands in a reply whose vectors carry their text's index.

    Raises:
        EmbeddingFailed: an index is missing, or there twice.
    """
    places = {index: at for at, index in enumerate(indexes) if type(index) is int}
    if sorted(places) != list(range(len(indexes))):
        raise EmbeddingFailed("the vectors' indexes are not those of the texts")
    return [places[i] for i in range(len(indexes))]


def _numbers(value: object) -> NDArray[np.float64]:
    try:
        with np.errstate(over="ignore"):
            return np.asarray(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise EmbeddingFailed("a vector in the reply is not a list of numbers") from None

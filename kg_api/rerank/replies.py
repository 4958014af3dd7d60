"""What providers answer: scores to be looked at, and refusals to be understood."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kg_api.bounded_http import ReplyTooLarge
from kg_api.errors import RerankUnavailable
from kg_api.redacting import detail
from kg_api.retrying import TryAgain, is_passing, retry_after


@dataclass(frozen=True, slots=True)
class Provider:
    """Whom we ask, and the variables that say how; for messages."""

    model: str | None
    address: str
    key: str | None = field(repr=False)
    key_variable: str
    address_variable: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP status that is not success."""

    status: int
    headers: Mapping[str, str]
    message: str = ""
    """The provider's own words; they may repeat the key or a passage."""


def understood(refusal: Refusal, provider: Provider, sent: Sequence[str]) -> Exception:
    """Give the error that a refusal amounts to: `TryAgain`, or a final one that says what to do."""
    status = refusal.status
    said = f"{provider.address} answered {status}"
    if is_passing(status):
        return TryAgain(said, retry_after(refusal.headers))
    if status in {401, 403}:
        return RerankUnavailable(
            f"{said}: it does not take the key; set {provider.key_variable} to a valid one"
        )
    said_more = detail(refusal.message, key=provider.key, sent=sent)
    model = f" (now {provider.model})" if provider.model else ""
    if status in {400, 413, 422}:
        return RerankUnavailable(
            f"{said}: it does not take the passages or the model; correct KG_RERANK__MODEL{model}, or lower "
            f"KG_RERANK__MAX_CHARACTERS or KG_RERANK__BATCH_SIZE{said_more}"
        )
    return RerankUnavailable(
        f"{said}: there is no such model or no such address; "
        f"correct KG_RERANK__MODEL{model} or {provider.address_variable}{said_more}"
    )


def in_order(items: Sequence[tuple[object, object]], texts: int) -> list[float]:
    """Put a reply's (index, score) pairs into the order of the texts.

    Raises:
        RerankUnavailable: an index is missing, foreign or there twice, or a score is no finite number.
    """
    found = dict[int, float]()
    for index, score in items:
        if type(index) is not int or not 0 <= index < texts or index in found:
            raise RerankUnavailable(f"the reranker's reply has a wrong index; {texts} passages were sent")
        found[index] = _number(score)
    if len(found) != texts:
        raise RerankUnavailable(f"the reranker gave {len(found)} scores for {texts} passages")
    return [found[at] for at in range(texts)]


def no_reply(provider: Provider) -> RerankUnavailable:
    """The error for an answer that is not one of this protocol."""
    return RerankUnavailable(
        f"{provider.address} does not answer as a reranking service does; check {provider.address_variable}"
    )


def unreached(provider: Provider, error: Exception) -> Exception:
    """The failure to reach a server or to read its reply, without what its client holds."""
    if isinstance(error, ReplyTooLarge):
        return RerankUnavailable(
            f"{provider.address} sends far more than scores of passages; check {provider.address_variable}"
        )
    kind = re.sub(r"\W", "", type(error).__name__)
    return TryAgain(f"{provider.address} cannot be reached or broke off ({kind})")


def _number(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise RerankUnavailable("a score in the reranker's reply is no finite number")
    return float(score)

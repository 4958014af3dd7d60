"""What a refusal by a language model's server amounts to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kg_api.errors import ConfigurationError, InvalidInput
from kg_api.redacting import detail
from kg_api.retrying import TryAgain, is_passing, retry_after


@dataclass(frozen=True, slots=True)
class Provider:
    """Whom we ask, and the variables that say how; for messages."""

    model: str
    address: str
    key: str = field(repr=False)
    key_variable: str
    address_variable: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP status that is not success, and what came with it."""

    status: int
    headers: Mapping[str, str]
    message: str = ""
    """The provider's own words; they may repeat the key or the text."""
    code: str = ""


def understood(refusal: Refusal, provider: Provider, sent: str) -> Exception:
    """Give the error that a refusal amounts to: `TryAgain`, or a final one that says what to do.

    - 408, 429, 5xx: try again.
    - 401, 403: the key; the message, which may hold it, is not repeated.
    - 404: the model or the address.
    - 400, 413, 422: the text, or the model's limit.
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
    said_more = detail(refusal.message, key=provider.key, sent=[sent])
    if status == 404:  # noqa: PLR2004 - every reader knows it
        return ConfigurationError(
            f"{said}: there is no such model or no such address; "
            f"correct KG_LLM__MODEL or {provider.address_variable}{said_more}"
        )
    if status in {400, 413, 422}:
        return InvalidInput(
            f"{said}: the model {provider.model} does not take what it is asked; choose another one by "
            f"KG_LLM__MODEL, or another context mode{said_more}"
        )
    return ConfigurationError(f"{said}: that is no chat service; correct {provider.address_variable}")

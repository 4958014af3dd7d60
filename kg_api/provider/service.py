"""Whom kg asks over HTTP, and in which errors those who ask learn that it failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import SecretStr

from kg_api.errors import ConfigurationError, InvalidInput, KgError, ModelUnavailable


class RejectedText(KgError):
    """A model does not take a text, or answers with nothing usable; the reason is its message."""


@dataclass(frozen=True, slots=True)
class Service:
    """What providers of one kind do: embed, write, rerank."""

    kind: str
    """What it does, for /metrics and traces: `embed`, `image`, `llm` or `rerank`."""
    name: str
    """What does it, with its article: `an embedding service`."""
    subject: str
    """Who fails in messages: `the language model`."""
    rejection: str
    """What is rejected and what to do about it; `{model}` stands for the model's name in brackets."""
    unavailable: type[ModelUnavailable]
    """It does not answer, after all tries."""
    unusable: type[KgError]
    """It answers, but not as such a service does."""
    rejected: type[KgError] = InvalidInput
    """It does not take what it was sent."""
    misconfigured: type[KgError] = ConfigurationError
    """The key, the model or the address is wrong."""

    def give_up(self, reason: str, retry_after: float | None) -> ModelUnavailable:
        """The error after the last try, from its reason and the seconds that the provider asked for."""
        rest = f"; it asks to be left alone for {retry_after:.0f} s" if retry_after else ""
        return self.unavailable(f"{self.subject} fails: {reason}{rest}", retry_after_seconds=retry_after)

    def own_error(self, failure: Exception) -> Exception:
        """A final failure in the class that this service's callers expect; any other as it is."""
        if isinstance(failure, RejectedText):
            return self.rejected(str(failure))
        return self.misconfigured(str(failure)) if isinstance(failure, ConfigurationError) else failure


class Variables(NamedTuple):
    """The settings that say whom kg asks, for messages."""

    model: str
    address: str
    key: str


@dataclass(frozen=True, slots=True)
class Provider:
    """A model at an address, with its key."""

    service: Service
    variables: Variables
    model: str
    """Empty: the server's own."""
    address: str
    key: SecretStr | None

    @property
    def host(self) -> str:
        """The name of its host, without port and path."""
        return urlsplit(self.address).hostname or "unknown"

    @property
    def secret(self) -> str:
        """The key itself; empty where there is none."""
        return self.key.get_secret_value() if self.key else ""

    def too_large(self) -> KgError:
        """The error for a reply that is longer than any answer to what was asked."""
        return self.service.unusable(
            f"{self.address} sends far more than {self.service.name} answers; check {self.variables.address}"
        )

    def no_service(self) -> KgError:
        """The error for an answer that is not one of the service's protocol."""
        return self.service.unusable(
            f"{self.address} does not answer as {self.service.name} does; check {self.variables.address}"
        )

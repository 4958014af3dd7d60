"""One request to a provider: whatever it fails of becomes an error of kg's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from kg_api.metrics.meters import meters
from kg_api.metrics.spending import require_budget
from kg_api.provider.classify import ErrorReply, classify, reason_of
from kg_api.provider.http import ReplyTooLarge
from kg_api.provider.retrying import RetryableError
from kg_api.provider.service import Provider
from kg_api.tracing.spans import SpanKind, span

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Edge:
    """Sends requests to one provider. No error of its client is chained: it holds the request and key."""

    provider: Provider
    library: Any
    """That sends them: httpx or httpx2."""
    errors: tuple[type[Exception], ...] = ()
    """What an SDK raises besides, for what it cannot read too."""
    wrapper: tuple[type[Exception], ...] = ()
    """In which an SDK wraps what its library raises."""
    reply_of: Callable[[Exception], ErrorReply | None] = lambda _: None
    """The reply that an SDK's error tells of; None when it tells of none."""

    def send(self, request: Callable[[], T], sent: Sequence[str] = ()) -> T:
        """Make one request, by a function that does.

        Args:
            request: sends it and gives what came back.
            sent: the texts in it, which no message may repeat.

        Raises:
            RetryableError: it may work later.
            RateExceeded: the budget of whoever asks is used up.
            KgError: it will not, in the classes of the provider's service.
        """
        require_budget()
        try:
            with self._watched():
                return request()
        except (self.library.HTTPError, *self.errors) as error:
            failure = self._meaning(error, sent)
        raise failure

    def refusal(self, reply: ErrorReply, sent: Sequence[str]) -> Exception:
        """The error to raise for a reply that is no success."""
        self._count(reason_of(reply.status))
        return self.provider.service.own_error(classify(reply, self.provider, sent))

    def _meaning(self, error: Exception, sent: Sequence[str]) -> Exception:
        if (reply := self.reply_of(error)) is not None:
            return self.refusal(reply, sent)
        is_wrapped = isinstance(error, self.wrapper)
        cause = error.__cause__ if is_wrapped and error.__cause__ else error
        if isinstance(cause, ReplyTooLarge):
            self._count("too_large")
            return self.provider.too_large()
        if isinstance(cause, self.library.TimeoutException):
            self._count("timeout")
            return RetryableError(f"{self.provider.address} did not answer in time")
        if is_wrapped or isinstance(cause, self.library.HTTPError):
            kind = type(cause).__name__
            self._count("unreachable")
            return RetryableError(f"{self.provider.address} cannot be reached or broke off ({kind})")
        self._count("no_service")
        return self.provider.no_service()

    def _watched(self) -> ExitStack:
        """Time one request, as a span of the trace at hand."""
        to, kind = self.provider, self.provider.service.kind
        watched = ExitStack()
        watched.enter_context(meters().providers.timing(kind, to.host))
        about = {"server__address": to.host, "gen_ai__request__model": to.model}
        watched.enter_context(span(f"{kind} {to.host}", SpanKind.CLIENT, **about))
        return watched

    def _count(self, reason: str) -> None:
        meters().providers.fail(self.provider.service.kind, self.provider.host, reason)

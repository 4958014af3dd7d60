"""A language model behind an OpenAI-compatible chat endpoint, by the official SDK."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import structlog

from kg_api.errors import LlmFailed, LlmUnavailable, ProviderMissing
from kg_api.metrics import estimate_tokens, spend_tokens
from kg_api.providers.chat import RESTART, Prompt, Reply, no_model, price_of
from kg_api.providers.openai_sdk import SDK_ERRORS, StatusError, omit, open_sdk, sdk_edge
from kg_api.providers.retrying import Provider, RetryPolicy, Service, Variables
from kg_api.sections import LlmSettings
from kg_api.settings import Settings

log = structlog.get_logger(__name__)
T = TypeVar("T")

CHAT = Service(
    kind="llm",
    name="a chat service",
    subject="the language model",
    rejection="the model{model} does not take what it is asked; choose another one by KG_LLM__MODEL, "
    "or another context mode",
    unavailable=LlmUnavailable,
    unusable=LlmFailed,
)
_NO_SCHEMAS = {400, 422, 501}
"""What servers answer that do not know `response_format`."""


class _SchemaRefused(Exception):
    """The server may not know JSON schemas."""


def provider_of(settings: Settings) -> Provider:
    """Say whom the settings name.

    OpenAI's key goes nowhere but where OPENAI_BASE_URL points: another host has a key of its own, or none.

    Raises:
        ConfigurationError: naming the variable that is missing.
    """
    own, openais = settings.llm, settings.openai
    if own.model is None:
        raise no_model()
    address = own.base_url or openais.base_url
    shared = own.api_key is None and _origin(address) == _origin(openais.base_url)
    key = openais.api_key if shared else own.api_key
    variables = Variables(
        "KG_LLM__MODEL",
        "KG_LLM__BASE_URL" if own.base_url else "OPENAI_BASE_URL",
        "OPENAI_API_KEY" if shared else "KG_LLM__API_KEY",
    )
    if key is None and openais.model_copy(update={"base_url": address}).needs_key:
        raise ProviderMissing(
            f"{variables.key} is not set; set it, or KG_LLM__BASE_URL to a server that wants none; {RESTART}"
        )
    return Provider(CHAT, variables, own.model, address, key)


class Chat:
    """Asks one question at a time; thread-safe."""

    def __init__(self, provider: Provider, settings: LlmSettings, policy: RetryPolicy) -> None:
        """Nothing is asked yet.

        Args:
            provider: whom to ask.
            settings: how long one request may take, and what tokens cost.
            policy: when to ask again.
        """
        self._provider = provider
        self._settings = settings
        self._policy = policy
        self._takes_schemas: bool | None = None
        self._tells_usage = True
        """Whether it takes it to be asked for the tokens of a stream."""
        self._edge = sdk_edge(provider)
        self._client = open_sdk(provider)

    @property
    def model(self) -> str:
        return self._provider.model

    def ask(self, question: Prompt) -> str:
        """Give what the model writes; empty when it refuses to.

        A server that does not take the schema is asked without, from then on at once.

        Raises:
            ConfigurationError: the key, the model or the address is wrong.
            InvalidInput: the model does not take the question.
            LlmUnavailable: it does not answer, after all tries; with the time for which it asks to be left
                alone, if it does.
            LlmFailed: what answers is no chat service.
        """
        return self.ask_counted(question).text

    def ask_counted(self, question: Prompt) -> Reply:
        """As `ask`, with the tokens that it took."""
        return self._as_it_takes(lambda with_schema: self._once(question, with_schema=with_schema))

    def stream(self, question: Prompt) -> Generator[str]:
        """Give what the model writes, piece by piece as it does; the time-out is for all of it together.

        A server that does not stream is asked the usual way. It is not asked again in the middle: what was
        given stays given.

        Raises:
            As `ask`; LlmUnavailable also when it breaks off.
        """
        pieces = self._as_it_takes(lambda with_schema: self._open(question, with_schema=with_schema))
        given = False
        with contextlib.closing(pieces):
            try:
                for piece in pieces:
                    given = True
                    yield piece
            except SDK_ERRORS:
                failure = LlmUnavailable(
                    f"{self._provider.address} broke off in the middle of its answer, or took longer than "
                    "KG_LLM__TIMEOUT_SECONDS"
                )
            else:
                failure = None
        if failure is not None:
            raise failure  # outside: the SDK's error holds the request, and with it the key
        if not given:
            yield self.ask(question)

    def close(self) -> None:
        self._client.close()

    def _as_it_takes(self, once: Callable[[bool], T]) -> T:
        """Ask with the schema, and without it where the server does not know such."""
        if self._takes_schemas is not False:
            try:
                answer = self._policy.call(lambda _: once(True), CHAT.give_up, kind=CHAT.kind)
            except _SchemaRefused:
                pass
            else:
                self._takes_schemas = True
                return answer
        answer = self._policy.call(lambda _: once(False), CHAT.give_up, kind=CHAT.kind)
        self._takes_schemas = False
        return answer

    def _once(self, question: Prompt, *, with_schema: bool) -> Reply:
        begun = time.perf_counter()
        reply = self._send(question, with_schema=with_schema, stream=False)
        return self._read(reply, question, time.perf_counter() - begun)

    def _open(self, question: Prompt, *, with_schema: bool) -> Generator[str]:
        """The pieces of an answer whose beginning is there."""
        return self._pieces(self._send(question, with_schema=with_schema, stream=True), question)

    def _pieces(self, reply: Any, question: Prompt) -> Generator[str]:
        """What comes, piece by piece; tokens are counted at the end, or when nobody listens any more."""
        written, usage = 0, None
        try:
            with reply:
                for chunk in reply:
                    usage = getattr(chunk, "usage", None) or usage
                    if piece := _content(_first(chunk, "delta")):
                        written += len(piece)
                        yield piece
        finally:
            if written or usage is not None:  # else it does not stream, and is asked the usual way
                self._count(*_tokens(usage), question, written)

    def _send(self, question: Prompt, *, with_schema: bool, stream: bool) -> Any:
        create: Any = self._client.chat.completions.create  # its overloads want literals

        def ask(*, usage: bool) -> Any:
            return create(
                model=self._provider.model,
                messages=[
                    {"role": "system", "content": question.instruction},
                    {"role": "user", "content": question.data},
                ],
                response_format=_format(question) if with_schema else omit,
                timeout=self._settings.timeout_seconds,
                stream=stream,
                stream_options={"include_usage": True} if usage else omit,
            )

        def request() -> Any:
            return self._with_usage_if_taken(ask) if stream and self._tells_usage else ask(usage=False)

        is_trial = with_schema and not self._takes_schemas
        return self._edge.send(lambda: _tried(request) if is_trial else request(), [question.data])

    def _with_usage_if_taken(self, ask: Callable[..., T]) -> T:
        """Some servers refuse what they do not know: then it is asked without, from now on at once."""
        try:
            return ask(usage=True)
        except StatusError as error:
            if error.status_code not in _NO_SCHEMAS:
                raise
        answer = ask(usage=False)
        self._tells_usage = False
        return answer

    def _read(self, reply: object, question: Prompt, seconds: float) -> Reply:
        message = _first(reply, "message")
        if message is None:
            raise self._provider.no_service()
        text = _content(message)
        read, written = _tokens(getattr(reply, "usage", None))
        log.info(
            "language model asked",
            model=self.model,
            tokens_read=read,
            tokens_written=written,
            ms=round(1000 * seconds, 1),
        )
        self._count(read, written, question, len(text))
        return Reply(text, read, written)

    def _count(self, read: int | None, written: int | None, question: Prompt, characters: int) -> None:
        """Count tokens, and what they cost; where the server does not say how many, by their characters."""
        asked = len(question.instruction) + len(question.data)
        read = estimate_tokens(asked) if read is None else read
        written = estimate_tokens(characters) if written is None else written
        dollars = price_of(self._settings, read, written)
        spend_tokens(CHAT.kind, self._provider.host, read=read, written=written, dollars=dollars)


def open_chat(settings: Settings, policy: RetryPolicy | None = None) -> Chat:
    """Open the language model that the settings name; nothing is asked yet.

    Raises:
        ConfigurationError: naming the variable that is missing.
    """
    return Chat(provider_of(settings), settings.llm, policy or RetryPolicy())


def _format(question: Prompt) -> Any:
    return {
        "type": "json_schema",
        "json_schema": {"name": question.name, "strict": True, "schema": dict(question.schema)},
    }


def _tried(request: Callable[[], T]) -> T:
    """Send a request with a schema to a server of which nobody knows whether it takes such."""
    try:
        return request()
    except StatusError as error:
        if error.status_code not in _NO_SCHEMAS:
            raise
    raise _SchemaRefused  # outside: the SDK's error holds the request, and with it the key


def _first(reply: object, part: str) -> object:
    """Of the first choice of a reply; None where there is none."""
    choices: object = getattr(reply, "choices", None)
    return getattr(cast("list[Any]", choices)[0], part, None) if _is_filled(choices) else None


def _content(part: object) -> str:
    content: object = getattr(part, "content", None)
    return content if isinstance(content, str) else ""


def _tokens(usage: object) -> tuple[int | None, int | None]:
    """Read and written, as the server says."""
    return _number(usage, "prompt_tokens"), _number(usage, "completion_tokens")


def _number(usage: object, name: str) -> int | None:
    found = getattr(usage, name, None)
    return found if isinstance(found, int) and found >= 0 else None


def _is_filled(choices: object) -> bool:
    return isinstance(choices, list) and bool(cast("list[object]", choices))


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc.casefold()

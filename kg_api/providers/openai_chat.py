"""Language model of the settings, which has the chat API of OpenAI."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
import structlog

from kg_api.errors import LlmFailed, LlmUnavailable, ProviderMissing
from kg_api.metrics import estimate_tokens, spend_tokens
from kg_api.providers.chat import Prompt, Reply, compute_price
from kg_api.providers.http import (
    JsonClient,
    Provider,
    ReplyStream,
    Service,
    Variables,
    get_fields,
    get_reply_items,
)
from kg_api.providers.http import Reply as HttpReply
from kg_api.providers.retrying import RetryPolicy
from kg_api.sections import LlmSettings
from kg_api.settings import Settings

log = structlog.get_logger(__name__)
T = TypeVar("T")

CHAT = Service(
    kind="llm",
    name="a chat service",
    subject="the language model",
    rejection="the model{model} rejects the request. Choose another model in KG_LLM__MODEL, or "
    "another context mode",
    unavailable=LlmUnavailable,
    unusable=LlmFailed,
)
_NO_SCHEMAS = {400, 422, 501}  # statuses of servers without `response_format`


class _SchemaRefused(Exception):
    """Signal that the server may not support JSON schemas."""


RESTART = "then `kg down` and `kg up`"


def build_chat_provider(settings: Settings | None) -> Provider:
    """Build the provider for the language model.

    OpenAI's key is sent only to the host of OPENAI_BASE_URL. Other hosts need their own key, or none.
    """
    if settings is None or settings.llm.model is None:
        raise ProviderMissing(
            "KG_LLM__MODEL is not set. Set it to the name of a language model in the environment of the "
            "service and its workers, with OPENAI_API_KEY, or with KG_LLM__BASE_URL for another server, "
            f"{RESTART}"
        )
    own, openais = settings.llm, settings.openai
    address = own.base_url or openais.base_url
    shared = own.api_key is None and _get_origin(address) == _get_origin(openais.base_url)
    key = openais.api_key if shared else own.api_key
    variables = Variables(
        "KG_LLM__MODEL",
        "KG_LLM__BASE_URL" if own.base_url else "OPENAI_BASE_URL",
        "OPENAI_API_KEY" if shared else "KG_LLM__API_KEY",
    )
    if key is None and openais.model_copy(update={"base_url": address}).needs_key:
        raise ProviderMissing(
            f"{variables.key} is not set. Set it, or set KG_LLM__BASE_URL to a server that needs no "
            f"key, {RESTART}"
        )
    return Provider(CHAT, variables, settings.llm.model, address, key)


class Chat:
    """Client for a chat endpoint, opened at first use. Thread-safe.

    Without a model in the settings, each use raises ConfigurationError.
    """

    def __init__(self, settings: Settings | None, policy: RetryPolicy | None = None) -> None:
        """Configure the client. The default policy is for requests while somebody waits."""
        self._all_settings = settings
        self._settings = LlmSettings() if settings is None else settings.llm
        self._policy = policy or RetryPolicy(tries=2)
        self._opening = threading.Lock()
        self._opened: JsonClient | None = None
        self._takes_schemas: bool | None = None
        self._takes_usage = True  # whether the server accepts `stream_options` for the tokens of a stream

    @property
    def _client(self) -> JsonClient:
        with self._opening:  # functools.cached_property has no lock since Python 3.12
            if self._opened is None:
                self._opened = JsonClient(build_chat_provider(self._all_settings), "/chat/completions")
            return self._opened

    @property
    def name(self) -> str:
        return self._client.provider.model

    def ask(self, question: Prompt) -> str:
        """Return the text of the reply, or '' if the model returns none.

        If a server rejects the JSON schema, this and all later requests omit it.
        """
        return self.ask_counted(question).text

    def ask_counted(self, question: Prompt) -> Reply:
        """Return the text of the reply with its token counts."""
        return self._as_it_takes(lambda with_schema: self._request_once(question, with_schema=with_schema))

    def stream(self, question: Prompt) -> Generator[str]:
        """Yield the text as it arrives. The timeout is for the whole reply.

        A server that does not stream gets a plain request. An interrupted stream is not repeated, because its
        text was already yielded.
        """
        reply = self._as_it_takes(lambda with_schema: self._open(question, with_schema=with_schema))
        written, usage, is_broken = 0, None, False
        try:
            for event in _read_events(reply.pieces):
                usage = get_fields(event).get("usage") or usage
                if piece := _get_content(_get_first(event, "delta")):
                    written += len(piece)
                    yield piece
        except httpx.HTTPError:
            is_broken = True
        finally:  # also if the caller stops reading
            reply.close()
            if written or usage is not None:
                self._count(*_read_tokens(usage), question, written)
        if is_broken:  # outside of the handler: httpx's error contains the request and the key
            raise LlmUnavailable(
                f"{self._client.provider.address} closed the connection during its response, or exceeded "
                "KG_LLM__TIMEOUT_SECONDS"
            )
        if not written:  # the server does not stream
            yield self.ask(question)

    def close(self) -> None:
        with self._opening:
            if self._opened is not None:
                self._opened.close()

    def _as_it_takes(self, once: Callable[[bool], T]) -> T:
        """Send the request with the JSON schema. If the server does not support this, omit the schema."""
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

    def _request_once(self, question: Prompt, *, with_schema: bool) -> Reply:
        begun = time.perf_counter()
        body = self._build_body(question, with_schema=with_schema)
        sent = self._client.post(body, self._settings.timeout_seconds)
        self._check_schema(sent, with_schema=with_schema)
        reply = self._client.read(sent)
        message = _get_first(reply, "message")
        if message is None:
            raise self._client.provider.report_wrong_service()
        text = _get_content(message)
        read, written = _read_tokens(get_fields(reply).get("usage"))
        log.info(
            "language model called",
            model=self.name,
            tokens_read=read,
            tokens_written=written,
            ms=round(1000 * (time.perf_counter() - begun), 1),
        )
        self._count(read, written, question, len(text))
        return Reply(text, read, written)

    def _open(self, question: Prompt, *, with_schema: bool) -> ReplyStream:
        """Open a stream. If the server does not support usage, omit this from now on."""
        body = {**self._build_body(question, with_schema=with_schema), "stream": True}
        seconds = self._settings.timeout_seconds
        with_usage = {**body, "stream_options": {"include_usage": True}}
        reply = self._client.post_stream(with_usage if self._takes_usage else body, seconds)
        if self._takes_usage and reply.status in _NO_SCHEMAS:
            reply.close()
            reply = self._client.post_stream(body, seconds)
            self._takes_usage = reply.status in _NO_SCHEMAS
        if reply.is_success:
            return reply
        failed = self._client.receive(reply)
        self._check_schema(failed, with_schema=with_schema)
        raise self._client.build_error(failed.status, failed.headers, failed.body)

    def _check_schema(self, reply: HttpReply, *, with_schema: bool) -> None:
        if with_schema and not self._takes_schemas and reply.status in _NO_SCHEMAS:
            raise _SchemaRefused

    def _build_body(self, question: Prompt, *, with_schema: bool) -> dict[str, object]:
        body: dict[str, object] = {
            "model": self.name,
            "messages": [
                {"role": "system", "content": question.instruction},
                {"role": "user", "content": question.data},
            ],
        }
        if with_schema:
            schema = {"name": question.name, "strict": True, "schema": dict(question.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _count(self, read: int | None, written: int | None, question: Prompt, characters: int) -> None:
        """Count tokens and their price. If a number is missing, estimate it from the characters."""
        prompt_size = len(question.instruction) + len(question.data)
        read = estimate_tokens(prompt_size) if read is None else read
        written = estimate_tokens(characters) if written is None else written
        dollars = compute_price(self._settings, read, written)
        spend_tokens(CHAT.kind, self._client.provider.host, read=read, written=written, dollars=dollars)


def _read_events(pieces: Iterator[bytes]) -> Iterator[object]:
    """Yield JSON from each Server-Sent Event before [DONE]. If a line is invalid, it is skipped."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            if (data := line.removeprefix(b"data:").strip()) == b"[DONE]":
                return
            try:
                yield json.loads(data)
            except (ValueError, RecursionError):
                continue


def _get_first(reply: object, part: str) -> object:
    """Get a part from the first choice in a reply, or None."""
    choices = get_reply_items(reply, "choices")
    return get_fields(choices[0]).get(part) if choices else None


def _get_content(part: object) -> str:
    content = get_fields(part).get("content")
    return content if isinstance(content, str) else ""


def _read_tokens(usage: object) -> tuple[int | None, int | None]:
    """Get the tokens that were read and written, from the server."""
    found = [get_fields(usage).get(name) for name in ("prompt_tokens", "completion_tokens")]
    read, written = (each if isinstance(each, int) and each >= 0 else None for each in found)
    return read, written


def _get_origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc.casefold()

"""OpenAI's embeddings, and those of every server with the same interface, by the official SDK."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from kg_api.errors import ProviderMissing
from kg_api.providers.embedding_port import (
    RemoteModel,
    Vectors,
    remote_model,
)
from kg_api.providers.openai_sdk import StatusError, omit, open_sdk, sdk_edge
from kg_api.providers.remote_embedding import (
    EMBEDDING,
    EmbeddingReply,
    RemoteEmbedder,
    in_order,
    plain_vector,
    remote_embedder,
    traits_of_model,
    unit_rows,
    vector_size,
)
from kg_api.providers.retrying import Provider as ServiceProvider
from kg_api.providers.retrying import RetryPolicy, Variables, read_error_body
from kg_api.schemas.spaces import ModelChoice
from kg_api.sections import OpenAISettings
from kg_api.settings import Settings

OPENAI_VARIABLES = Variables("OPENAI_EMBED_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY")
_REJECTS_A_PARAMETER = {400, 422, 500, 501}
"""Statuses of servers that do not know a parameter, or fail on its value."""
_NAMES_ENCODING = re.compile(r"encoding[_ ]format|base64")
_NAMES_DIMENSIONS = re.compile(r"dimension|matryoshka")


def open_openai(settings: Settings, choice: ModelChoice, policy: RetryPolicy | None = None) -> RemoteEmbedder:
    """Open the embedder for a model; no request is sent yet.

    Raises:
        ConfigurationError: there is no key, or the model's size is not known.
    """
    own = settings.openai
    model = remote_model(choice, settings)
    if own.api_key is None and own.needs_key:
        raise ProviderMissing(
            "OPENAI_API_KEY is not set where kg runs; set it, or OPENAI_BASE_URL to a server without, "
            "then `kg down` and `kg up`"
        )
    return remote_embedder("openai", OpenAIEndpoint(own, model), model, own, settings, policy=policy)


@dataclass(frozen=True, slots=True)
class _Form:
    """Parameters of a request that not every server takes."""

    base64: bool
    """Vectors as base64 of float32, a quarter of the size of plain numbers."""
    dimensions: int | None
    """Requested size of the vectors; None: the parameter is not sent."""


class _OtherForm(Exception):
    """The reply shows that another form of the request may work."""

    def __init__(self, form: _Form) -> None:
        super().__init__()
        self.form = form


class OpenAIEndpoint:
    """POST /embeddings.

    Servers with this interface differ in the parameters that they take. If a reply shows that base64 or
    `dimensions` is at fault, the request is sent once more without it; vectors of another size are requested
    again with `dimensions`. What worked is kept in the server's traits.
    """

    def __init__(self, settings: OpenAISettings, model: RemoteModel) -> None:
        self._model = model
        self._provider = ServiceProvider(
            EMBEDDING, OPENAI_VARIABLES, model.name, settings.base_url, settings.api_key
        )
        self._edge = sdk_edge(self._provider)
        self._client = open_sdk(self._provider)
        self._traits = traits_of_model("openai", settings, model)

    def ask(self, texts: Sequence[str], *, query: bool, seconds: float) -> EmbeddingReply:
        size, traits = self._model.dimensions, self._traits
        is_sent = traits.sends_dimensions.get(size, self._model.asks_for is not None)
        form = _Form(traits.takes_base64, size if is_sent else None)
        tried = set[_Form]()
        while True:
            tried.add(form)
            try:
                answer = self._ask(texts, form, tried, query=query, seconds=seconds)
            except _OtherForm as other:
                form = other.form
            else:
                if len(tried) > 1:
                    traits.learn_form(size, base64=form.base64, sends_dimensions=form.dimensions is not None)
                return answer

    def close(self) -> None:
        self._client.close()

    def _ask(
        self, texts: Sequence[str], form: _Form, tried: Collection[_Form], *, query: bool, seconds: float
    ) -> EmbeddingReply:
        """Send the request in one form.

        Raises:
            _OtherForm: one that was not tried yet may work.
            As `ask`.
        """
        facts = self._model.facts
        prefix = facts.query_prefix if query else facts.passage_prefix

        def request() -> object:
            try:
                return self._client.embeddings.create(
                    model=self._model.name,
                    input=[prefix + text for text in texts],
                    dimensions=form.dimensions or omit,
                    encoding_format="base64" if form.base64 else "float",
                    timeout=seconds,
                )
            except StatusError as error:
                if error.status_code in _REJECTS_A_PARAMETER:
                    _leave_out(str(error.body), form, tried)
                raise

        reply = self._edge.send(request, texts)
        data = getattr(reply, "data", None)
        if not isinstance(data, list):
            body = {"error": getattr(reply, "error", None)}
            if (failure := read_error_body({}, body)) is not None:
                _leave_out(str(body), form, tried)
                raise self._edge.refusal(failure, texts)
            raise self._provider.no_service()
        items = cast("list[Any]", data)
        places = in_order([getattr(item, "index", None) for item in items])
        found = [getattr(items[at], "embedding", None) for at in places]
        vectors = self._read(found, len(texts), form, tried)
        usage = getattr(getattr(reply, "usage", None), "total_tokens", None)
        return EmbeddingReply(vectors, usage if type(usage) is int and usage > 0 else None)

    def _read(self, found: Sequence[object], texts: int, form: _Form, tried: Collection[_Form]) -> Vectors:
        size = self._model.dimensions
        sizes = {vector_size(each) for each in found}
        has_asked = any(each.dimensions for each in tried)
        if form.base64 and sizes & {None, 0, 2 * size, size / 2}:  # unreadable, or of float64 or float16
            _change_to(replace(form, base64=False), tried)
        if sizes != {size} and len(sizes) == 1 and not has_asked:
            _change_to(replace(form, dimensions=size), tried)
        if sizes != {size} and form.base64:
            _change_to(replace(form, base64=False), tried)
        hint = "set OPENAI_EMBED_DIMS, or the space's dimensions, to the size that the model returns"
        if has_asked:
            hint += " (the server does not shorten its vectors by `dimensions`)"
        return unit_rows([plain_vector(each) for each in found], texts, size, hint)


def _leave_out(said: str, form: _Form, tried: Collection[_Form]) -> None:
    """Go on without the parameter that a server blames.

    Raises:
        _OtherForm: it names one that was sent.
    """
    words = said.casefold()
    if form.base64 and _NAMES_ENCODING.search(words):
        _change_to(replace(form, base64=False), tried)
    if form.dimensions is not None and _NAMES_DIMENSIONS.search(words):
        _change_to(replace(form, dimensions=None), tried)


def _change_to(form: _Form, tried: Collection[_Form]) -> None:
    if form not in tried:
        raise _OtherForm(form)

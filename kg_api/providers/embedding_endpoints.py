"""Protocols of embedding providers: Nomic, and OpenAI with compatible servers."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, cast
from urllib.parse import urlsplit

from kg_api.errors import ConfigurationError, ProviderMissing
from kg_api.metrics import spend_tokens
from kg_api.providers.embedding_port import RemoteModel, Vectors, build_remote_model, price_of
from kg_api.providers.http import JsonClient, Provider, Reply, Service, Variables, fields_of, get_reply_items
from kg_api.providers.model_files import open_tokenizer
from kg_api.providers.remote_embedding import (
    EMBEDDING,
    KNOWN_GOOD,
    PICTURES,
    Batches,
    EmbeddingLimits,
    EmbeddingReply,
    Endpoint,
    ItemT,
    RemoteEmbedder,
    RemoteImageEmbedder,
    ServerTraits,
    build_valid_image,
    decode_vector,
    get_server_traits,
    get_vector_size,
    in_order,
    normalize_rows,
)
from kg_api.providers.retrying import Limiter, RetryPolicy
from kg_api.providers.tokens import QUERY_PIECES
from kg_api.schemas.spaces import ModelChoice, SpaceIdentity
from kg_api.schemas.vocabulary import Provider as ProviderName
from kg_api.sections import ProviderSettings
from kg_api.settings import Settings

MILLION = 1_000_000
TEXT_VARIABLES = {
    "nomic": Variables("KG_EMBEDDING__MODEL", "NOMIC_BASE_URL", "NOMIC_API_KEY"),
    "openai": Variables("OPENAI_EMBED_MODEL", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
}
IMAGE_HINT = (
    "set KG_IMAGE_EMBEDDING__DIMENSIONS, or the dimensions of the space, to the vector size of the model"
)


class JsonEndpoint(Generic[ItemT]):
    def __init__(
        self,
        provider: Provider,
        path: str,
        *,
        body: Callable[[Sequence[ItemT], bool], dict[str, object]],
        find: Callable[[object], list[Any] | None],
        dimensions: int,
        hint: str,
    ) -> None:
        self._provider = provider
        self._client = JsonClient(provider, path)
        self._body = body
        self._find = find
        self._dimensions = dimensions
        self._hint = hint

    def ask(self, items: Sequence[ItemT], *, query: bool, seconds: float, max_bytes: int) -> EmbeddingReply:
        reply = self._client.read(self._post(items, query, seconds, max_bytes))
        if (found := self._find(reply)) is None:
            raise self._provider.report_wrong_service()
        what = "pictures" if self._provider.service is PICTURES else "texts"
        return EmbeddingReply(
            normalize_rows(found, len(items), self._dimensions, self._hint, what=what), _tokens(reply)
        )

    def close(self) -> None:
        self._client.close()

    def _post(self, items: Sequence[ItemT], query: bool, seconds: float, max_bytes: int) -> Reply:
        return self._client.post(self._body(items, query), seconds, max_bytes)


class _Files(JsonEndpoint[bytes]):
    """Endpoint that gets images as files in a form."""

    def _post(self, items: Sequence[bytes], query: bool, seconds: float, max_bytes: int) -> Reply:
        files = [("images", ("images", picture, "image/jpeg")) for picture in items]
        fields = cast("dict[str, str]", self._body(items, query))
        return self._client.post_form(fields, files, seconds, max_bytes)


def _tokens(reply: object) -> int | None:
    found = fields_of(fields_of(reply).get("usage")).get("total_tokens")
    return found if type(found) is int and found > 0 else None


def _data_in_order(reply: object) -> list[Any] | None:
    """Get vectors from a reply in OpenAI's format, sorted by index."""
    if (data := get_reply_items(reply, "data")) is None:
        return None
    entries = [fields_of(each) for each in data]
    places = in_order([each.get("index") for each in entries])
    return [decode_vector(entries[at].get("embedding")) for at in places]


# Text models


def open_nomic(settings: Settings, choice: ModelChoice, policy: RetryPolicy | None = None) -> RemoteEmbedder:
    """Open a Nomic model. This does not send a request.

    Nomic's client reads the key only from its own file, sends ten texts per request, and ignores Retry-After.
    """
    own, model = settings.nomic, build_remote_model(choice, settings)
    if own.api_key is None:
        raise ProviderMissing(
            "NOMIC_API_KEY is not set where kg runs. Set it, then run `kg down` and `kg up`"
        )

    provider = Provider(EMBEDDING, TEXT_VARIABLES["nomic"], model.name, own.base_url, own.api_key)
    hint, find = "correct the space's dimensions", partial(get_reply_items, name="embeddings")
    body = partial(_nomic_words, model.name, model.requested_dimensions)
    endpoint = JsonEndpoint[str](
        provider, "/v1/embedding/text", body=body, find=find, dimensions=model.dimensions, hint=hint
    )
    traits = get_server_traits(own.base_url, model.name)
    return _text_embedder("nomic", endpoint, model, own=own, settings=settings, traits=traits, policy=policy)


def open_openai(settings: Settings, choice: ModelChoice, policy: RetryPolicy | None = None) -> RemoteEmbedder:
    """Open a model from OpenAI or a compatible server. This does not send a request."""
    own, model = settings.openai, build_remote_model(choice, settings)
    if own.api_key is None and own.needs_key:
        raise ProviderMissing(
            "OPENAI_API_KEY is not set where kg runs. Set it, or set OPENAI_BASE_URL to a server "
            "that needs no key, then run `kg down` and `kg up`"
        )
    provider = Provider(EMBEDDING, TEXT_VARIABLES["openai"], model.name, own.base_url, own.api_key)
    traits = get_server_traits(own.base_url, model.name, "OPENAI_BATCH_SIZE")
    endpoint = OpenAIEndpoint(provider, model, traits)
    return _text_embedder("openai", endpoint, model, own=own, settings=settings, traits=traits, policy=policy)


def _text_embedder(
    name: ProviderName,
    endpoint: Endpoint[str],
    model: RemoteModel,
    *,
    own: ProviderSettings,
    settings: Settings,
    traits: ServerTraits,
    policy: RetryPolicy | None,
) -> RemoteEmbedder:
    facts = model.facts
    identity = SpaceIdentity(
        provider=name,
        model=model.name,
        revision=model.name,
        dimensions=model.dimensions,
        max_tokens=facts.max_tokens,
        query_prefix=facts.query_prefix,
        passage_prefix=facts.passage_prefix,
    )
    price = price_of(ModelChoice(name, model.name), settings)
    host = urlsplit(own.base_url).hostname or "unknown"

    def bill(tokens: int) -> None:
        dollars = None if price is None else tokens * price / MILLION
        spend_tokens(EMBEDDING.kind, host, read=tokens, written=0, dollars=dollars)

    tokenizer = open_tokenizer(facts, settings)
    batches = Batches(
        endpoint,
        EMBEDDING,
        model.dimensions,
        lambda: KNOWN_GOOD,
        limits=EmbeddingLimits(own.batch_size, own.timeout, settings.embedding.query_seconds),
        policy=policy or RetryPolicy(tries=own.max_retries + 1),
        limiter=Limiter(settings.embedding.requests_at_once),
        traits=traits,
        bill=bill,
    )
    return RemoteEmbedder(batches, identity, tokenizer)


@dataclass(frozen=True, slots=True)
class _Form:
    """Optional request parameters that can be rejected by a server."""

    base64: bool  # base64 of float32: a quarter of the size of plain numbers
    dimensions: int | None  # requested size of the vectors, or None to omit the parameter


class _OtherForm(Exception):
    """Signal to use another form for the request."""

    def __init__(self, form: _Form) -> None:
        super().__init__()
        self.form = form


class OpenAIEndpoint:
    """POST /embeddings.

    Compatible servers accept different parameters. If a reply blames base64 or `dimensions`, the request is
    repeated without it. Vectors of another size are requested again with `dimensions`. The server's traits
    keep the form that worked.
    """

    _NAMES_ENCODING = re.compile(r"encoding[_ ]format|base64")
    _NAMES_DIMENSIONS = re.compile(r"dimension|matryoshka")

    def __init__(self, provider: Provider, model: RemoteModel, traits: ServerTraits) -> None:
        self._provider = provider
        self._model = model
        self._traits = traits
        self._client = JsonClient(provider, "/embeddings")

    def ask(self, items: Sequence[str], *, query: bool, seconds: float, max_bytes: int) -> EmbeddingReply:
        size, facts, traits = self._model.dimensions, self._model.facts, self._traits
        prefix = facts.query_prefix if query else facts.passage_prefix
        is_sent = traits.sends_dimensions.get(size, self._model.requested_dimensions is not None)
        form, tried = _Form(traits.takes_base64, size if is_sent else None), set[_Form]()
        while True:
            tried.add(form)
            body: dict[str, object] = {
                "model": self._model.name,
                "input": [prefix + text for text in items],
                "encoding_format": "base64" if form.base64 else "float",
            }
            if form.dimensions is not None:
                body["dimensions"] = form.dimensions
            reply = self._client.post(body, seconds, max_bytes)
            try:
                vectors = self._read(reply, len(items), form, tried)
            except _OtherForm as other:
                form = other.form
                continue
            if len(tried) > 1:
                traits.learn_form(size, base64=form.base64, sends_dimensions=form.dimensions is not None)
            return EmbeddingReply(vectors, _tokens(reply.body))

    def close(self) -> None:
        self._client.close()

    def _read(  # noqa: C901 - a table of what servers differ in
        self, reply: Reply, texts: int, form: _Form, tried: Collection[_Form]
    ) -> Vectors:

        def retry_in_form(other: _Form) -> None:
            if other not in tried:
                raise _OtherForm(other)

        if reply.failed_as in {400, 422, 500, 501}:  # a parameter is unknown, or makes the server fail
            body = str(reply.body).casefold()
            if form.base64 and self._NAMES_ENCODING.search(body):
                retry_in_form(replace(form, base64=False))
            if form.dimensions is not None and self._NAMES_DIMENSIONS.search(body):
                retry_in_form(replace(form, dimensions=None))
        data = get_reply_items(self._client.read(reply), "data")
        if data is None:
            raise self._provider.report_wrong_service()
        entries = [fields_of(each) for each in data]
        found = [entries[at].get("embedding") for at in in_order([each.get("index") for each in entries])]
        size, sizes = self._model.dimensions, {get_vector_size(each) for each in found}
        has_asked = any(each.dimensions for each in tried)
        if form.base64 and sizes & {None, 0, 2 * size, size / 2}:  # unreadable, float64 or float16
            retry_in_form(replace(form, base64=False))
        if sizes != {size} and len(sizes) == 1 and not has_asked:
            retry_in_form(replace(form, dimensions=size))
        if sizes != {size} and form.base64:
            retry_in_form(replace(form, base64=False))
        hint = "set OPENAI_EMBED_DIMS, or the space's dimensions, to the size that the model returns"
        if has_asked:
            hint += " (the server ignores `dimensions`)"
        return normalize_rows([decode_vector(each) for each in found], texts, size, hint)


# Image models

IMAGES_A_REQUEST = 16  # about 2 MB


def open_remote_images(
    settings: Settings,
    choice: ModelChoice,
    policy: RetryPolicy | None = None,
    seconds: float | None = None,
) -> RemoteImageEmbedder:
    """Open an image model of Nomic or a compatible server. No request is sent."""
    model = build_remote_model(replace(choice, modality="image"), settings)
    name, facts, batch = choice.provider, model.facts, IMAGES_A_REQUEST
    own = settings.nomic if name == "nomic" else settings.openai
    if name == "openai" and settings.openai.needs_key:
        raise ConfigurationError(
            "the embeddings of OpenAI do not support images. Set OPENAI_BASE_URL to a server that "
            "does (Jina, SGLang), or KG_IMAGE_EMBEDDING__PROVIDER to another provider"
        )
    if name == "nomic" and own.api_key is None:
        raise ProviderMissing(
            "NOMIC_API_KEY is not set where kg runs. Set it, then run `kg down` and `kg up`"
        )

    def build_embedding_provider(service: Service, model_name: str) -> Provider:
        variables = Variables(
            "KG_IMAGE_EMBEDDING__MODEL", f"{name.upper()}_BASE_URL", f"{name.upper()}_API_KEY"
        )
        return Provider(service, variables, model_name, own.base_url, own.api_key)

    def endpoint(
        kind: type[JsonEndpoint[ItemT]], service: Service, path: str, body: Any, name_there: str = model.name
    ) -> JsonEndpoint[ItemT]:
        to = build_embedding_provider(service, name_there)
        return kind(to, path, body=body, find=find, dimensions=model.dimensions, hint=IMAGE_HINT)

    pictures: JsonEndpoint[bytes]
    words: JsonEndpoint[str]
    find: Callable[[object], list[Any] | None]
    if name == "nomic":
        find, body = (
            partial(get_reply_items, name="embeddings"),
            partial(_nomic_words, facts.text_model, None),
        )
        pictures = endpoint(
            _Files, PICTURES, "/v1/embedding/image", partial(_build_nomic_image_body, model.name)
        )
        words = endpoint(JsonEndpoint[str], EMBEDDING, "/v1/embedding/text", body, facts.text_model)
    else:
        batch, find, body = min(own.batch_size, batch), _data_in_order, partial(_openai_body, model)
        pictures = endpoint(JsonEndpoint[bytes], PICTURES, "/embeddings", body)
        words = endpoint(JsonEndpoint[str], EMBEDDING, "/embeddings", body)
    policy = policy or RetryPolicy(tries=own.max_retries + 1)
    limiter = Limiter(settings.embedding.requests_at_once)
    limits = EmbeddingLimits(batch, seconds or own.timeout, settings.embedding.query_seconds)
    identity = SpaceIdentity(
        provider=name,
        model=model.name,
        revision=model.name,
        dimensions=model.dimensions,
        max_tokens=facts.max_tokens,
        query_prefix=facts.query_prefix,
        modality="image",
    )
    setting = "OPENAI_BATCH_SIZE" if name == "openai" else ""
    traits = [
        get_server_traits(own.base_url, f"{model.name} {what}", setting) for what in ("pictures", "words")
    ]
    size, words_limits = model.dimensions, replace(limits, items=QUERY_PIECES)
    return RemoteImageEmbedder(
        Batches(
            pictures,
            PICTURES,
            size,
            build_valid_image,
            limits=limits,
            policy=policy,
            limiter=limiter,
            traits=traits[0],
        ),
        Batches(
            words,
            EMBEDDING,
            size,
            lambda: KNOWN_GOOD,
            limits=words_limits,
            policy=policy,
            limiter=limiter,
            traits=traits[1],
        ),
        identity,
        batch,
    )


def _build_nomic_image_body(model: str, *_: object) -> dict[str, object]:
    return {"model": model}


def _nomic_words(model: str, dimensions: int | None, texts: Sequence[str], query: bool) -> dict[str, object]:
    """Build the request for texts. The prefix is added by the service, according to the task type."""
    return {
        "texts": list(texts),
        "model": model,
        "task_type": "search_query" if query else "search_document",
        "dimensionality": dimensions,
        "long_text_mode": "mean",  # nothing is cut off if its tokenizer counts more tokens than kg
    }


def _openai_body(model: RemoteModel, items: Sequence[str] | Sequence[bytes], _: bool) -> dict[str, object]:
    """Return the request body of Jina and SGLang. OpenAI's interface has no images."""
    inputs = [
        {"text": model.facts.query_prefix + each}
        if isinstance(each, str)
        else {"image": f"data:image/jpeg;base64,{base64.b64encode(each).decode()}"}
        for each in items
    ]
    size = {"dimensions": model.requested_dimensions} if model.requested_dimensions else {}
    return {"model": model.name, "input": inputs, **size}

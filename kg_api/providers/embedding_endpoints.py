"""Protocols of embedding providers: Nomic, and OpenAI with compatible servers."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Generic, cast
from urllib.parse import urlsplit

from kg_api.errors import ConfigurationError, ProviderMissing
from kg_api.metrics import spend_tokens
from kg_api.providers.embedding_port import RemoteModel, build_remote_model, get_price
from kg_api.providers.http import JsonClient, Provider, Reply, Service, Variables, get_fields, get_reply_items
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
    build_valid_image,
    decode_vector,
    get_server_traits,
    get_vector_size,
    normalize_rows,
    sort_vectors,
)
from kg_api.providers.retrying import Limiter, RetryPolicy
from kg_api.providers.tokens import QUERY_PIECES
from kg_api.schemas.spaces import ModelChoice, SpaceIdentity
from kg_api.schemas.vocabulary import Modality
from kg_api.schemas.vocabulary import Provider as ProviderName
from kg_api.settings import Settings

MILLION = 1_000_000
IMAGE_HINT = (
    "set KG_IMAGE_EMBEDDING__DIMENSIONS, or the dimensions of the space, to the vector size of the model"
)


@dataclass
class JsonEndpoint(Generic[ItemT]):
    provider: Provider
    path: str
    body: Callable[[Sequence[ItemT], bool], dict[str, object]]
    find: Callable[[object], list[Any] | None]
    dimensions: int
    hint: str

    def __post_init__(self) -> None:
        self._client = JsonClient(self.provider, self.path)

    def ask(self, items: Sequence[ItemT], *, query: bool, seconds: float, max_bytes: int) -> EmbeddingReply:
        reply = self._client.read(self._post(items, query, seconds, max_bytes))
        if (found := self.find(reply)) is None:
            raise self.provider.report_wrong_service()
        what = "pictures" if self.provider.service is PICTURES else "texts"
        return EmbeddingReply(
            normalize_rows(found, len(items), self.dimensions, self.hint, what=what), _read_tokens(reply)
        )

    def close(self) -> None:
        self._client.close()

    def _post(self, items: Sequence[ItemT], query: bool, seconds: float, max_bytes: int) -> Reply:
        return self._client.post(self.body(items, query), seconds, max_bytes)


class _Files(JsonEndpoint[bytes]):
    """Endpoint that gets images as files in a form."""

    def _post(self, items: Sequence[bytes], query: bool, seconds: float, max_bytes: int) -> Reply:
        files = [("images", ("images", picture, "image/jpeg")) for picture in items]
        fields = cast("dict[str, str]", self.body(items, query))
        return self._client.post_form(fields, files, seconds, max_bytes)


def _read_tokens(reply: object) -> int | None:
    found = get_fields(get_fields(reply).get("usage")).get("total_tokens")
    return found if type(found) is int and found > 0 else None


def _sort_data(reply: object) -> list[Any] | None:
    """Get vectors from a reply in OpenAI's format, sorted by index."""
    if (data := get_reply_items(reply, "data")) is None:
        return None
    entries = [get_fields(each) for each in data]
    places = sort_vectors([each.get("index") for each in entries])
    return [decode_vector(entries[at].get("embedding")) for at in places]


# Text models


class _Remote:
    """Model of a provider, with what its requests have in common. No request is sent."""

    def __init__(
        self, name: ProviderName, choice: ModelChoice, settings: Settings, policy: RetryPolicy | None
    ) -> None:
        self.name: ProviderName = name
        self.model = build_remote_model(choice, settings)
        self.own = settings.nomic if name == "nomic" else settings.openai
        self._settings = settings
        self._modality: Modality = choice.modality
        self._policy = policy or RetryPolicy(tries=self.own.max_retries + 1)
        self._limiter = Limiter(settings.embedding.requests_at_once)
        if name == "nomic" and self.own.api_key is None:
            raise ProviderMissing(
                "NOMIC_API_KEY is not set where kg runs. Set it, then run `kg down` and `kg up`"
            )

    def provider(self, variable: str, service: Service = EMBEDDING, model: str = "") -> Provider:
        prefix = self.name.upper()
        variables = Variables(variable, f"{prefix}_BASE_URL", f"{prefix}_API_KEY")
        return Provider(service, variables, model or self.model.name, self.own.base_url, self.own.api_key)

    def identity(self) -> SpaceIdentity:
        model, facts = self.model, self.model.facts
        return SpaceIdentity(
            provider=self.name,
            model=model.name,
            revision=model.name,
            dimensions=model.dimensions,
            max_tokens=facts.max_tokens,
            query_prefix=facts.query_prefix,
            passage_prefix=facts.passage_prefix,
            modality=self._modality,
        )

    def open_batches(
        self,
        endpoint: Endpoint[ItemT],
        known_good: Callable[[], ItemT],
        items: int,
        seconds: float | None = None,
        *,
        service: Service = EMBEDDING,
        what: str = "",
        bill: Callable[[int], None] | None = None,
    ) -> Batches[ItemT]:
        setting = "OPENAI_BATCH_SIZE" if self.name == "openai" else ""
        return Batches(
            endpoint,
            service,
            self.model.dimensions,
            known_good,
            limits=EmbeddingLimits(
                items, seconds or self.own.timeout, self._settings.embedding.query_seconds
            ),
            policy=self._policy,
            limiter=self._limiter,
            traits=get_server_traits(self.own.base_url, f"{self.model.name}{what}", setting),
            bill=bill,
        )

    def open_text_embedder(self, endpoint: Endpoint[str]) -> RemoteEmbedder:
        price = get_price(ModelChoice(self.name, self.model.name), self._settings)
        host = urlsplit(self.own.base_url).hostname or "unknown"

        def bill(tokens: int) -> None:
            dollars = None if price is None else tokens * price / MILLION
            spend_tokens(EMBEDDING.kind, host, read=tokens, written=0, dollars=dollars)

        tokenizer = open_tokenizer(self.model.facts, self._settings)
        batches = self.open_batches(endpoint, lambda: KNOWN_GOOD, self.own.batch_size, bill=bill)
        return RemoteEmbedder(batches, self.identity(), tokenizer)


def open_nomic(settings: Settings, choice: ModelChoice, policy: RetryPolicy | None = None) -> RemoteEmbedder:
    """Open a Nomic model. This does not send a request.

    Nomic's client reads the key only from its own file, sends ten texts per request, and ignores Retry-After.
    """
    remote = _Remote("nomic", choice, settings, policy)
    model = remote.model
    hint, find = "correct the space's dimensions", partial(get_reply_items, name="embeddings")
    body = partial(_build_nomic_body, model.name, model.requested_dimensions)
    provider, path = remote.provider("KG_EMBEDDING__MODEL"), "/v1/embedding/text"
    return remote.open_text_embedder(
        JsonEndpoint[str](provider, path, body=body, find=find, dimensions=model.dimensions, hint=hint)
    )


def open_openai(settings: Settings, choice: ModelChoice, policy: RetryPolicy | None = None) -> RemoteEmbedder:
    """Open a model from OpenAI or a compatible server. This does not send a request."""
    remote = _Remote("openai", choice, settings, policy)
    if settings.openai.api_key is None and settings.openai.needs_key:
        raise ProviderMissing(
            "OPENAI_API_KEY is not set where kg runs. Set it, or set OPENAI_BASE_URL to a server "
            "that needs no key, then run `kg down` and `kg up`"
        )
    return remote.open_text_embedder(OpenAIEndpoint(remote.provider("OPENAI_EMBED_MODEL"), remote.model))


class OpenAIEndpoint:
    """POST /embeddings.

    Some compatible servers reject base64 (a quarter of the size of plain numbers) or `dimensions`, and others
    return another size without `dimensions`. Such a request is repeated without or with this option. Later
    requests keep the options that worked.
    """

    _OPTIONS: Final = {
        "encoding_format": re.compile(r"encoding[_ ]format|base64"),
        "dimensions": re.compile(r"dimension|matryoshka"),
    }
    """Patterns of error messages that blame an option."""
    _MAY_BLAME: Final = frozenset({400, 422, 500, 501})  # an option is unknown, or makes the server fail

    def __init__(self, provider: Provider, model: RemoteModel) -> None:
        self._provider = provider
        self._model = model
        self._omitted = frozenset[str]() if model.requested_dimensions else frozenset({"dimensions"})
        self._client = JsonClient(provider, "/embeddings")

    def ask(self, items: Sequence[str], *, query: bool, seconds: float, max_bytes: int) -> EmbeddingReply:
        size, facts = self._model.dimensions, self._model.facts
        prefix = facts.query_prefix if query else facts.passage_prefix
        texts = [prefix + text for text in items]
        body = {"model": self._model.name, "input": texts, "encoding_format": "base64", "dimensions": size}
        omitted, changed = self._omitted, set[str]()
        while True:
            sent = {name: value for name, value in body.items() if name not in omitted}
            reply = self._client.post(sent, seconds, max_bytes)
            wrong = self._find_wrong_option(reply, omitted)
            if not wrong or wrong in changed:
                break
            changed.add(wrong)
            omitted ^= {wrong}
        found = _sort_data(self._client.read(reply))
        if found is None:
            raise self._provider.report_wrong_service()
        hint = "set OPENAI_EMBED_DIMS, or the space's dimensions, to the size that the model returns"
        if "dimensions" not in omitted:
            hint += " (the server ignores `dimensions`)"
        vectors = normalize_rows(found, len(items), size, hint)
        self._omitted = omitted
        return EmbeddingReply(vectors, _read_tokens(reply.body))

    def close(self) -> None:
        self._client.close()

    def _find_wrong_option(self, reply: Reply, omitted: Collection[str]) -> str:
        """Return the option that the reply blames, or omitted `dimensions` if the size is wrong."""
        if reply.failed_as in self._MAY_BLAME:
            said = str(reply.body).casefold()
            sent = (name for name in self._OPTIONS if name not in omitted)
            return next((name for name in sent if self._OPTIONS[name].search(said)), "")
        data = [] if reply.failed_as else get_reply_items(reply.body, "data") or []
        sizes = {get_vector_size(get_fields(each).get("embedding")) for each in data}
        is_other = len(sizes) == 1 and sizes.isdisjoint({None, self._model.dimensions})
        return "dimensions" if is_other and "dimensions" in omitted else ""


# Image models

IMAGES_A_REQUEST = 16  # about 2 MB


def open_remote_images(
    settings: Settings, choice: ModelChoice, policy: RetryPolicy | None = None, seconds: float | None = None
) -> RemoteImageEmbedder:
    """Open an image model of Nomic or a compatible server. No request is sent."""
    is_nomic = choice.provider == "nomic"
    remote = _Remote("nomic" if is_nomic else "openai", replace(choice, modality="image"), settings, policy)
    model, text_model = remote.model, remote.model.facts.text_model
    if not is_nomic and settings.openai.needs_key:
        raise ConfigurationError(
            "the embeddings of OpenAI do not support images. Set OPENAI_BASE_URL to a server that "
            "does (Jina, SGLang), or KG_IMAGE_EMBEDDING__PROVIDER to another provider"
        )

    def endpoint(
        kind: type[JsonEndpoint[ItemT]], service: Service, path: str, body: Any, name_there: str = ""
    ) -> JsonEndpoint[ItemT]:
        to = remote.provider("KG_IMAGE_EMBEDDING__MODEL", service, name_there)
        return kind(to, path, body=body, find=find, dimensions=model.dimensions, hint=IMAGE_HINT)

    pictures: JsonEndpoint[bytes]
    find: Callable[[object], list[Any] | None]
    batch = IMAGES_A_REQUEST
    if is_nomic:
        find = partial(get_reply_items, name="embeddings")
        of_images = partial(_build_nomic_image_body, model.name)
        pictures = endpoint(_Files, PICTURES, "/v1/embedding/image", of_images)
        of_words = partial(_build_nomic_body, text_model, None)
        words = endpoint(JsonEndpoint[str], EMBEDDING, "/v1/embedding/text", of_words, text_model)
    else:
        batch, find, body = min(remote.own.batch_size, batch), _sort_data, partial(_build_openai_body, model)
        pictures = endpoint(JsonEndpoint[bytes], PICTURES, "/embeddings", body)
        words = endpoint(JsonEndpoint[str], EMBEDDING, "/embeddings", body)
    return RemoteImageEmbedder(
        remote.open_batches(pictures, build_valid_image, batch, seconds, service=PICTURES, what=" pictures"),
        remote.open_batches(words, lambda: KNOWN_GOOD, QUERY_PIECES, seconds, what=" words"),
        remote.identity(),
        batch,
    )


def _build_nomic_image_body(model: str, *_: object) -> dict[str, object]:
    return {"model": model}


def _build_nomic_body(
    model: str, dimensions: int | None, texts: Sequence[str], query: bool
) -> dict[str, object]:
    """Build the request for texts. The prefix is added by the service, according to the task type."""
    return {
        "texts": list(texts),
        "model": model,
        "task_type": "search_query" if query else "search_document",
        "dimensionality": dimensions,
        "long_text_mode": "mean",  # nothing is cut off if its tokenizer counts more tokens than kg
    }


def _build_openai_body(
    model: RemoteModel, items: Sequence[str] | Sequence[bytes], _: bool
) -> dict[str, object]:
    """Return the request body of Jina and SGLang. OpenAI's interface has no images."""
    inputs = [
        {"text": model.facts.query_prefix + each}
        if isinstance(each, str)
        else {"image": f"data:image/jpeg;base64,{base64.b64encode(each).decode()}"}
        for each in items
    ]
    size = {"dimensions": model.requested_dimensions} if model.requested_dimensions else {}
    return {"model": model.name, "input": inputs, **size}

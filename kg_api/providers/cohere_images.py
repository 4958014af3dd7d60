"""Cohere's embeddings of pictures, by the official SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from kg_api.errors import ProviderMissing
from kg_api.providers.cohere_sdk import CohereSdk, cohere_edge, request_options
from kg_api.providers.embedding_port import (
    Vectors,
)
from kg_api.providers.remote_embedding import unit_rows
from kg_api.providers.remote_images import (
    COHERE,
    HINT,
    PICTURES,
    WORDS,
    RemoteImageEmbedder,
    RemoteImageModel,
    data_url,
    remote_image_embedder,
    remote_image_model,
)
from kg_api.providers.retrying import Provider, RetryPolicy, Variables
from kg_api.schemas.spaces import ImageModelChoice
from kg_api.sections import CohereSettings
from kg_api.settings import Settings

VARIABLES = Variables("KG_IMAGE_EMBEDDING__MODEL", "COHERE_BASE_URL", "COHERE_API_KEY")
SECONDS = 30.0
"""Of one request; the SDK's settings have no time-out of their own."""
_QUOTED = 4000
"""Characters of a picture that an error may repeat: they are struck out of it."""


def open_cohere_images(
    settings: Settings,
    choice: ImageModelChoice,
    policy: RetryPolicy | None = None,
    seconds: float = SECONDS,
) -> RemoteImageEmbedder:
    """Open the embedder for a model; no request is sent yet.

    Raises:
        ConfigurationError: there is no key, or the model's size is not known.
    """
    own = settings.cohere
    model = remote_image_model(choice, settings, COHERE)
    if own.api_key is None:
        raise ProviderMissing("COHERE_API_KEY is not set where kg runs; set it, then `kg down` and `kg up`")
    policy = policy or RetryPolicy()
    endpoint = CohereImageEndpoint(own, model)
    return remote_image_embedder("cohere", endpoint, model, settings, seconds=seconds, policy=policy)


class CohereImageEndpoint:
    """POST /v2/embed."""

    def __init__(self, settings: CohereSettings, model: RemoteImageModel) -> None:
        self._model = model
        self._pictures, self._words = (
            Provider(service, VARIABLES, model.name, settings.base_url, settings.api_key)
            for service in (PICTURES, WORDS)
        )
        self._sdk = CohereSdk(self._pictures)

    def ask_pictures(self, pictures: Sequence[bytes], seconds: float) -> Vectors:
        urls = [data_url(picture) for picture in pictures]
        sent = [url[:_QUOTED] for url in urls]
        return self._ask(self._pictures, sent, seconds, input_type="image", images=urls)

    def ask_words(self, texts: Sequence[str], seconds: float) -> Vectors:
        prefixed = [self._model.facts.query_prefix + text for text in texts]
        return self._ask(self._words, texts, seconds, input_type="search_query", texts=prefixed)

    def close(self) -> None:
        self._sdk.close()

    def _ask(self, provider: Provider, sent: Sequence[str], seconds: float, **given: object) -> Vectors:
        asked = self._model.asks_for

        def request() -> object:
            return self._sdk.client.embed(
                model=self._model.name,
                embedding_types=["float"],
                request_options=request_options(seconds),
                **({"output_dimension": asked} if asked else {}),
                **given,
            )

        reply = cohere_edge(provider).send(request, sent)
        found = getattr(getattr(reply, "embeddings", None), "float_", None)
        if not isinstance(found, list):
            raise provider.no_service()
        what = "texts" if provider is self._words else "pictures"
        return unit_rows(cast("list[Any]", found), len(sent), self._model.dimensions, HINT, what=what)

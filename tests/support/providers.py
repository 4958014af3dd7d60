from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Self

from pydantic import SecretStr

from kg_api.providers import remote_embedding
from kg_api.providers.embedding_endpoints import open_nomic, open_openai
from kg_api.providers.remote_embedding import RemoteEmbedder
from kg_api.providers.retrying import RetryPolicy
from kg_api.schemas.spaces import ModelChoice
from kg_api.sections import NomicSettings, OpenAISettings
from kg_api.settings import EmbeddingSettings, Settings, load_settings
from tests.support.behaviours import Behaviour, Hang
from tests.support.embedding_server import EmbeddingServer

CANARY = "sk-canary-5d41402abc4b2a76"
QUICK = 0.02
"""Number of seconds to wait before the first retry, instead of 1."""


def patience(behaviour: Behaviour) -> float:
    """Return a short timeout if there will be no response, or a long one."""
    return 0.2 if isinstance(behaviour, Hang) else 10


def provider_settings(server: EmbeddingServer, timeout: float = 10, **openai: Any) -> Settings:
    key = SecretStr(CANARY)
    quick: dict[str, Any] = {"timeout": timeout, "batch_size": 100}
    given = {**quick, **openai}
    embedding: dict[str, Any] = {
        name: given.pop(name) for name in list(given) if name in EmbeddingSettings.model_fields
    }
    return load_settings(
        openai=OpenAISettings(base_url=server.openai_url, api_key=key, **given),
        nomic=NomicSettings(base_url=server.url, api_key=key, **quick),
        embedding=EmbeddingSettings(**embedding),
    )


class Asking:
    def __init__(
        self,
        provider: Literal["openai", "nomic"],
        server: EmbeddingServer,
        choice: ModelChoice | None = None,
        **settings: Any,
    ) -> None:
        remote_embedding._known.clear()  # a port may be that of another test's server
        self.provider = provider
        self.server = server
        self.opener: Callable[..., RemoteEmbedder] = {"openai": open_openai, "nomic": open_nomic}[provider]
        self.settings = provider_settings(server, **settings)
        self.embedder = self.opener(
            self.settings, choice or ModelChoice(provider), RetryPolicy(first_wait=QUICK)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.embedder.close()

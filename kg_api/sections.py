"""Sections of settings for providers, models, sync, search, and tracing. `settings.py` has the others."""

from __future__ import annotations

import os.path
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic.fields import FieldInfo

from kg_api.schemas.vocabulary import ExtractorName

Seconds = Annotated[float, Field(gt=0, le=86_400)]
WebAddress = Annotated[str, Field(pattern=r"^https?://[^\s@/?#\\]+(/[^\s@?#\\]*)?$")]
"""URL of a server. It cannot contain credentials or a query, because kg shows and logs URLs."""
Price = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]

OPENAI_HOST = "api.openai.com"
OPENAI_ADDRESS = f"https://{OPENAI_HOST}/v1"
NOMIC_ADDRESS = "https://api-atlas.nomic.ai"
COHERE_ADDRESS = "https://api.cohere.com"
_NO_KEY = re.compile(r"[<>…]|\.\.\.")  # in templates for keys, but in no real key
_FILLER = r"sk|nk|pk|proj|openai|nomic|cohere|my|the|our|api|key|apikey|token|secret|goes|with|me|\d{1,4}"
_TELLTALE = (
    r"x{3,}|\*{3,}|your|yourkey|yourapikey|here|change|changeme|replace|replaceme|insert|paste|enter|put|"
    r"placeholder|example|sample|dummy|todo"
)
_PLACEHOLDER = re.compile(
    rf"(?:(?:{_FILLER})[-_])*(?:{_TELLTALE})(?:[-_](?:{_FILLER}|{_TELLTALE}))*", re.IGNORECASE
)
"""Pattern of a value in which every word belongs to a template. Real keys can contain some of these words."""


class Section(BaseModel):
    """Group of settings. Unknown names are errors, so kg finds typos at start."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def declare_constant(default: Any) -> Any:
    """Return a field that only tests can set to another value."""
    return Field(default=default, json_schema_extra={"constant": True})


def is_constant(field: FieldInfo) -> bool:
    return bool(field.json_schema_extra)


def validate_key(key: SecretStr | None) -> SecretStr | None:
    """Return the key. Raise ValueError for an impossible key, without the key in the message."""
    if key is None:
        return None
    value = key.get_secret_value()
    wrong = {
        "contains whitespace or a line break": bool(re.search(r"\s", value.removeprefix("Bearer "))),
        "has quotes around it": value[:1] in {'"', "'", "`"} or value[-1:] in {'"', "'", "`"},
        "starts with `Bearer`. Remove that prefix": value.lower().startswith("bearer"),
        "contains characters that no API key has": not value.isascii() or not value.isprintable(),
        "is a placeholder": bool(_NO_KEY.search(value) or _PLACEHOLDER.fullmatch(value)),
    }
    for complaint, holds in wrong.items():
        if holds:
            raise ValueError(f"the key {complaint}. Copy the key again from the page of the provider")
    return key


class ProviderSettings(Section):
    """Provider that kg calls over HTTP. `base_url` is first, because the check of the key needs it."""

    base_url: WebAddress
    api_key: SecretStr | None = None
    """API key."""
    timeout: Seconds = 30
    """Number of seconds to wait for a response."""
    max_retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Maximum number of times to retry a request. By default, kg waits 1 s and 2 s before the retries."""
    batch_size: Annotated[int, Field(ge=1, le=2048)] = 100
    """Maximum number of texts to send in a request."""

    _key = field_validator("api_key")(validate_key)


class OpenAISettings(ProviderSettings):
    """OpenAI or a server with a compatible API."""

    base_url: WebAddress = OPENAI_ADDRESS
    """Base URL to use. It can be another server with the same API, such as Ollama, vLLM, TEI, or a
    proxy."""
    api_key: SecretStr | None = None
    """API key to use for OpenAI. Other servers may not require a key."""
    embed_model: Annotated[str, Field(min_length=1)] = "text-embedding-3-small"
    """Embedding model to use with KG_EMBEDDING__PROVIDER=openai."""
    embed_dims: Annotated[int | None, Field(ge=1, le=4096)] = None
    """Number of dimensions. You must set this for a model that kg does not know. If the model can shorten
    vectors, you can use fewer."""

    @field_validator("api_key")
    @classmethod
    def _begins_as_theirs(cls, key: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        official = _is_openai(info.data.get("base_url", ""))
        if official and key is not None and not key.get_secret_value().startswith("sk-"):
            raise ValueError("an OpenAI key starts with sk-. For another server, also set OPENAI_BASE_URL")
        return key

    @property
    def needs_key(self) -> bool:
        """Whether the server is OpenAI itself. Other servers often need no key."""
        return _is_openai(self.base_url)


class NomicSettings(ProviderSettings):
    api_key: SecretStr | None = None
    """API key to use for Nomic."""
    base_url: WebAddress = NOMIC_ADDRESS
    """Base URL to use. It can be another server with the same API."""
    timeout: Seconds = declare_constant(30)
    max_retries: int = declare_constant(2)
    batch_size: int = declare_constant(100)


class OtelSettings(Section):
    """Export of traces. The OpenTelemetry SDK reads further `OTEL_*` variables itself."""

    exporter_otlp_endpoint: WebAddress | None = None
    """Base URL of the collector to send traces to using OTLP over HTTP, such as http://127.0.0.1:4318.
    You must install the extra `tracing`. By default, kg does not send traces."""


class CohereSettings(Section):
    """Cohere, for reranking and image embeddings."""

    base_url: WebAddress = COHERE_ADDRESS
    """Base URL to use. It can be another server with the same API."""
    api_key: SecretStr | None = None
    """API key to use for Cohere. It is only required if you use `cohere` as a provider."""

    _key = field_validator("api_key")(validate_key)


class RerankSettings(Section):
    """Reranking model, which scores a query and a passage together."""

    provider: Literal["auto", "local", "cohere", "endpoint", "none"] = "auto"
    """Reranking provider to use. `auto` uses `endpoint` if its base URL is set, or `local` if a model is
    installed. It does not use `cohere`."""
    model: Annotated[str | None, Field(min_length=1)] = None
    """Reranking model to use. Default: `rerank-v3.5` for Cohere, and the default of the server for
    `endpoint`."""
    base_url: WebAddress | None = None
    """Base URL to use with `endpoint`. The server must have a /rerank endpoint, such as TEI, vLLM, or
    Infinity."""
    api_key: SecretStr | None = None
    """API key to use with `endpoint`, if it requires a key."""
    model_dir: Path | None = None
    """Folder to load your own model from if you use `local`, with model.onnx and tokenizer.json."""
    seconds: Seconds = 1.5
    """Number of seconds to wait for the reranker in a search. kg uses the scores that arrive in time."""
    batch_size: int = declare_constant(32)
    """Number of passages per request to a provider: the limit of TEI."""
    max_characters: Annotated[int, Field(ge=200, le=1_000_000)] = 4000
    """Maximum number of characters to rerank at once. A longer passage is split, and kg uses its best
    score."""

    _key = field_validator("api_key")(validate_key)

    @model_validator(mode="after")
    def _fits_its_provider(self) -> Self:
        if self.provider == "endpoint" and self.base_url is None:
            raise ValueError("KG_RERANK__PROVIDER=endpoint needs KG_RERANK__BASE_URL too")
        elsewhere = self.base_url is not None or self.provider not in {"auto", "local"}
        if self.model_dir is not None and elsewhere:
            raise ValueError("KG_RERANK__MODEL_DIR selects a local model. Unset the provider and its address")
        return self


class LlmSettings(Section):
    """Language model with an OpenAI-compatible chat endpoint."""

    model: Annotated[str | None, Field(min_length=1)] = None
    """Language model to use. By default, kg does not use a language model."""
    base_url: WebAddress | None = None
    """Base URL of the server to use. Default: OPENAI_BASE_URL."""
    api_key: SecretStr | None = None
    """API key to use. If the base URL is OPENAI_BASE_URL or the URL of OpenAI, the default is
    OPENAI_API_KEY."""
    timeout_seconds: Seconds = 60
    """Number of seconds to wait for a response."""
    price_input: Price | None = None
    """Price in US dollars per million input tokens."""
    price_output: Price | None = None
    """Price in US dollars per million output tokens."""

    _key = field_validator("api_key")(validate_key)


class ConceptsSettings(Section):
    """Default concept extraction of ontologies."""

    extractor: ExtractorName = "keyphrase"
    """Concept extractor to use. `llm` uses the language model and also finds relationships. `keyphrase`
    does not need a model. With `none`, kg does not extract concepts."""
    per_source: int | None = declare_constant(None)
    budget: Price | None = None
    """Maximum amount to spend on a language model for each ontology, in US dollars. Default: no limit."""


class SyncSettings(Section):
    scans: bool = True
    """Whether this worker should scan folders. Set this to `false` if the machine cannot access the
    folders."""
    roots: str | None = None
    """Colon-separated folders. Clients of the service can only add folders to sync that are in them. By
    default, you can only add folders using `kg folders add` on the machine and in the home of the
    service."""

    @field_validator("roots")
    @classmethod
    def _absolute(cls, roots: str | None) -> str | None:
        for root in (roots or "").split(os.pathsep):
            if root and not Path(root).is_absolute():
                raise ValueError("takes absolute paths, separated by ':'")
        return roots

    @property
    def allowed(self) -> tuple[Path, ...]:
        """Folders in which clients of the service may register synced folders."""
        return tuple(Path(os.path.normpath(root)) for root in (self.roots or "").split(os.pathsep) if root)


def _is_openai(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return host == OPENAI_HOST or host.endswith(f".{OPENAI_HOST}")  # regions are subdomains

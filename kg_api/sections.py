"""Groups of settings for providers and models, sync, search and tracing. `settings.py` has the others."""

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
"""With no place for a secret, neither before an `@` nor behind a `?`: addresses are shown and logged."""
Price = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]

OPENAI_HOST = "api.openai.com"
OPENAI_ADDRESS = f"https://{OPENAI_HOST}/v1"
NOMIC_ADDRESS = "https://api-atlas.nomic.ai"
COHERE_ADDRESS = "https://api.cohere.com"
_NO_KEY = re.compile(r"[<>…]|\.\.\.")
"""In no provider's alphabet of keys, but in the templates that people copy."""
_FILLER = r"sk|nk|pk|proj|openai|nomic|cohere|my|the|our|api|key|apikey|token|secret|goes|with|me|\d{1,4}"
_TELLTALE = (
    r"x{3,}|\*{3,}|your|yourkey|yourapikey|here|change|changeme|replace|replaceme|insert|paste|enter|put|"
    r"placeholder|example|sample|dummy|todo"
)
_PLACEHOLDER = re.compile(
    rf"(?:(?:{_FILLER})[-_])*(?:{_TELLTALE})(?:[-_](?:{_FILLER}|{_TELLTALE}))*", re.IGNORECASE
)
"""All of a value is words of such a template: a real key may have any of them in it by chance."""


class Section(BaseModel):
    """A group of settings; unknown names are refused, so that a typo is seen at start."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def constant(default: Any) -> Any:
    """Return the field of a constant: tests may construct a section with another value, users may not."""
    return Field(default=default, json_schema_extra={"constant": True})


def is_constant(field: FieldInfo) -> bool:
    return bool(field.json_schema_extra)


def plausible_key(key: SecretStr | None) -> SecretStr | None:
    """Raise ValueError for what cannot be a key, without repeating it."""
    if key is None:
        return None
    value = key.get_secret_value()
    wrong = {
        "has a blank or a line's end in it": bool(re.search(r"\s", value.removeprefix("Bearer "))),
        "has quotes around it": value[:1] in {'"', "'", "`"} or value[-1:] in {'"', "'", "`"},
        "begins with `Bearer`, which is not part of it": value.lower().startswith("bearer"),
        "contains characters that no API key has": not value.isascii() or not value.isprintable(),
        "is a placeholder": bool(_NO_KEY.search(value) or _PLACEHOLDER.fullmatch(value)),
    }
    for complaint, holds in wrong.items():
        if holds:
            raise ValueError(f"the key {complaint}; copy it again from the provider's page")
    return key


class ProviderSettings(Section):
    """A provider that is asked over HTTP. The address comes first: what a key looks like depends on it."""

    base_url: WebAddress
    api_key: SecretStr | None = None
    """Its key; only needed when it is used."""
    timeout: Seconds = 30
    """Timeout of one request, in seconds."""
    max_retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Maximum number of retries, after waits of 1 and 2 s by default."""
    batch_size: Annotated[int, Field(ge=1, le=2048)] = 100
    """Texts per request."""

    _key = field_validator("api_key")(plausible_key)


class OpenAISettings(ProviderSettings):
    """OpenAI, or any server that speaks its language."""

    base_url: WebAddress = OPENAI_ADDRESS
    """Base URL of another server with the same API, such as Ollama, vLLM, TEI or a proxy."""
    api_key: SecretStr | None = None
    """API key of OpenAI; other servers may not require one."""
    embed_model: Annotated[str, Field(min_length=1)] = "text-embedding-3-small"
    """Embedding model with KG_EMBEDDING__PROVIDER=openai."""
    embed_dims: Annotated[int | None, Field(ge=1, le=4096)] = None
    """Dimensions of its vectors: required for a model that kg does not know; some models can be shortened."""

    @field_validator("api_key")
    @classmethod
    def _begins_as_theirs(cls, key: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        official = _is_openai(info.data.get("base_url", ""))
        if official and key is not None and not key.get_secret_value().startswith("sk-"):
            raise ValueError("a key of OpenAI begins with sk-; for another server set OPENAI_BASE_URL too")
        return key

    @property
    def needs_key(self) -> bool:
        """Whether the server is OpenAI's own; others often go without a key."""
        return _is_openai(self.base_url)


class NomicSettings(ProviderSettings):
    """Nomic's embedding service."""

    api_key: SecretStr | None = None
    """API key of Nomic."""
    base_url: WebAddress = NOMIC_ADDRESS
    """Base URL of another server with the same API."""
    timeout: Seconds = constant(30)
    max_retries: int = constant(2)
    batch_size: int = constant(100)


class OtelSettings(Section):
    """Where traces go; the SDK of OpenTelemetry reads further variables of that name by itself."""

    exporter_otlp_endpoint: WebAddress | None = None
    """Base URL of a collector that takes traces by OTLP over HTTP, such as http://127.0.0.1:4318; unset:
    nothing is traced. Needs the extra `tracing`."""


class CohereSettings(Section):
    """Cohere, for reranking and for pictures."""

    base_url: WebAddress = COHERE_ADDRESS
    """Base URL of another server with the same API."""
    api_key: SecretStr | None = None
    """API key of Cohere; only needed where a provider is `cohere`."""

    _key = field_validator("api_key")(plausible_key)


class RerankSettings(Section):
    """The model that reads question and passage together, for searches that ask for it."""

    provider: Literal["auto", "local", "cohere", "endpoint", "none"] = "auto"
    """`auto`: `endpoint` if its base URL is set, else `local` if it is installed; `cohere` is used only when
    named."""
    model: Annotated[str | None, Field(min_length=1)] = None
    """Reranking model; unset: `rerank-v3.5` for Cohere, an endpoint's default."""
    base_url: WebAddress | None = None
    """For `endpoint`: base URL of a server with /rerank, such as TEI, vLLM or Infinity."""
    api_key: SecretStr | None = None
    """API key of the endpoint, if it requires one."""
    model_dir: Path | None = None
    """For `local`: folder with model.onnx and tokenizer.json to use instead."""
    seconds: Seconds = 1.5
    """Time limit for reranking in a search; scores that arrive by then are used."""
    batch_size: Annotated[int, Field(ge=1, le=1000)] = 50
    """Passages per request to a provider."""
    max_characters: Annotated[int, Field(ge=200, le=1_000_000)] = 4000
    """Maximum characters per passage; a longer one is sent in windows, and the best score counts."""

    _key = field_validator("api_key")(plausible_key)

    @model_validator(mode="after")
    def _fits_its_provider(self) -> Self:
        if self.provider == "endpoint" and self.base_url is None:
            raise ValueError("KG_RERANK__PROVIDER=endpoint needs KG_RERANK__BASE_URL too")
        elsewhere = self.base_url is not None or self.provider not in {"auto", "local"}
        if self.model_dir is not None and elsewhere:
            raise ValueError("KG_RERANK__MODEL_DIR is a local model: leave out the provider and its address")
        return self


class LlmSettings(Section):
    """A language model behind an OpenAI-compatible chat endpoint."""

    model: Annotated[str | None, Field(min_length=1)] = None
    """Name of the language model; unset: none."""
    base_url: WebAddress | None = None
    """Base URL of the language model's server; unset: OPENAI_BASE_URL."""
    api_key: SecretStr | None = None
    """API key; unset: OPENAI_API_KEY, if the base URL is OpenAI's or OPENAI_BASE_URL."""
    timeout_seconds: Seconds = 60
    """Timeout of one request, in seconds."""
    price_input: Price | None = None
    """Price in US dollars per million input tokens."""
    price_output: Price | None = None
    """Price in US dollars per million output tokens."""

    _key = field_validator("api_key")(plausible_key)


class ConceptsSettings(Section):
    """How concepts are extracted from ontologies that say nothing else."""

    extractor: ExtractorName = "keyphrase"
    """Concept extractor: `llm` uses the language model and finds relationships, `keyphrase` needs no model,
    `none` extracts nothing."""
    per_source: int | None = constant(None)
    budget: Price | None = None
    """Budget for extraction by a language model, in US dollars per ontology; unset: no limit."""


class SyncSettings(Section):
    """Folders that are followed."""

    scans: bool = True
    """Whether this worker scans folders; `false` on a machine that does not have them."""
    roots: str | None = None
    """Colon-separated folders below which any client of the service may register folders; unset: only `kg
    folders add`, run on the machine and in the home of the service, can register them."""

    @field_validator("roots")
    @classmethod
    def _absolute(cls, roots: str | None) -> str | None:
        for root in (roots or "").split(os.pathsep):
            if root and not Path(root).is_absolute():
                raise ValueError("takes absolute paths, separated by ':'")
        return roots

    @property
    def allowed(self) -> tuple[Path, ...]:
        """The folders in which others may be followed by whoever reaches the service."""
        return tuple(Path(os.path.normpath(root)) for root in (self.roots or "").split(os.pathsep) if root)


def _is_openai(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return host == OPENAI_HOST or host.endswith(f".{OPENAI_HOST}")  # regions have names before it

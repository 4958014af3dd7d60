"""Groups of settings that belong to a provider; settings.py reads them under the names its own tools use."""

from __future__ import annotations

import os.path
import re
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from kg_api.models.extraction import MOST_PER_SOURCE, PER_SOURCE, ExtractorName

Seconds = Annotated[float, Field(gt=0, le=86_400)]
WebAddress = Annotated[str, Field(pattern=r"^https?://[^\s@/]+(/[^\s@?#]*)?$")]
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

    model_config = ConfigDict(extra="forbid", frozen=True)


def plausible_key(key: SecretStr | None) -> SecretStr | None:
    """Refuse what cannot be a key, without repeating it.

    Raises:
        ValueError: saying what is wrong with it.
    """
    if key is None:
        return None
    value = key.get_secret_value()
    wrong = {
        "has a blank or a line's end in it": bool(re.search(r"\s", value.removeprefix("Bearer "))),
        "has quotes around it": value[:1] in {'"', "'", "`"} or value[-1:] in {'"', "'", "`"},
        "begins with `Bearer`, which is not part of it": value.lower().startswith("bearer"),
        "has characters in it that no key has": not value.isascii() or not value.isprintable(),
        "is a placeholder": bool(_NO_KEY.search(value) or _PLACEHOLDER.fullmatch(value)),
    }
    for complaint, holds in wrong.items():
        if holds:
            raise ValueError(f"the key {complaint}; copy it again from the provider's page")
    return key


class ProviderSettings(Section):
    """A provider that is asked over HTTP. The address comes first: what a key looks like depends on it."""

    base_url: WebAddress
    api_key: SecretStr | None = Field(default=None, description="Its key; only needed when it is used.")
    timeout: Seconds = Field(default=30, description="Seconds that one request may take.")
    max_retries: int = Field(
        default=2, ge=0, le=10, description="Tries after the first one; 2 waits of 1 and 2 s in between."
    )
    batch_size: int = Field(default=100, ge=1, le=2048, description="Texts in one request.")

    _key = field_validator("api_key")(plausible_key)


class OpenAISettings(ProviderSettings):
    """OpenAI, or any server that speaks its language."""

    base_url: WebAddress = Field(
        default=OPENAI_ADDRESS,
        description="Another server with the same interface: Ollama, vLLM, TEI, a proxy.",
    )
    api_key: SecretStr | None = Field(default=None, description="OpenAI's key; another server may want none.")
    embed_model: str = Field(
        default="text-embedding-3-small",
        min_length=1,
        description="Model, with KG_EMBEDDING__PROVIDER=openai.",
    )
    embed_dims: int | None = Field(
        default=None,
        ge=1,
        le=4096,
        description="Size of its vectors: needed for a model unknown to kg, smaller for some known ones.",
    )

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

    api_key: SecretStr | None = Field(default=None, description="Nomic's key.")
    base_url: WebAddress = Field(default=NOMIC_ADDRESS, description="Another server with the same interface.")


class CohereSettings(Section):
    """Cohere, for reranking."""

    base_url: WebAddress = Field(
        default=COHERE_ADDRESS, description="Another server with the same interface."
    )
    api_key: SecretStr | None = Field(
        default=None, description="Cohere's key; only needed with KG_RERANK__PROVIDER=cohere."
    )

    _key = field_validator("api_key")(plausible_key)


class RerankSettings(Section):
    """The model that reads question and passage together, for searches that ask for it."""

    provider: Literal["auto", "local", "cohere", "endpoint", "none"] = Field(
        default="auto",
        description="`auto`: `endpoint` where its address is set, else `local` where it is installed; "
        "passages go to Cohere only when it is named.",
    )
    model: str | None = Field(
        default=None, min_length=1, description="Unset: `rerank-v3.5` of Cohere, an endpoint's own."
    )
    base_url: WebAddress | None = Field(
        default=None,
        description="Of `endpoint`: a server with /rerank, such as TEI, vLLM or Infinity.",
    )
    api_key: SecretStr | None = Field(default=None, description="Its key, where it wants one.")
    model_dir: Path | None = Field(
        default=None, description="Of `local`: a folder with model.onnx and tokenizer.json to use instead."
    )
    seconds: Seconds = Field(
        default=1.5, description="How long a search waits for it; what is read by then is blended in."
    )
    batch_size: int = Field(default=50, ge=1, le=1000, description="Passages in one request to a provider.")
    max_characters: int = Field(
        default=4000,
        ge=200,
        le=1_000_000,
        description="A longer passage goes to a provider in windows, of which the best counts.",
    )

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

    model: str | None = Field(default=None, min_length=1, description="Its name; unset: no language model.")
    base_url: WebAddress | None = Field(default=None, description="Unset: OPENAI_BASE_URL.")
    api_key: SecretStr | None = Field(
        default=None, description="Unset: OPENAI_API_KEY, where its address is OpenAI's or OPENAI_BASE_URL's."
    )
    timeout_seconds: Seconds = Field(default=60, description="Seconds that one request may take.")
    price_input: Price | None = Field(default=None, description="US dollars for a million tokens read.")
    price_output: Price | None = Field(default=None, description="US dollars for a million tokens written.")

    _key = field_validator("api_key")(plausible_key)


class ConceptsSettings(Section):
    """How concepts are extracted from ontologies that say nothing else."""

    extractor: ExtractorName = Field(
        default="keyphrase",
        description="`llm`: by the language model, with relationships; `keyphrase`: without one; `none`.",
    )
    per_source: int = Field(
        default=PER_SOURCE, ge=1, le=MOST_PER_SOURCE, description="Most concepts of one source."
    )
    budget: Price | None = Field(
        default=None,
        description="US dollars that extraction by a language model may cost an ontology; unset: no bound.",
    )


class SyncSettings(Section):
    """Folders that are followed."""

    scans: bool = Field(
        default=True,
        description="Whether this worker scans folders; `false` for one on a machine where they are not.",
    )
    roots: str | None = Field(
        default=None,
        description="Folders below these may be followed by whoever reaches the service, `:` between them; "
        "unset: none but those that `kg folders add` names on the machine and in the home of the service.",
    )

    @field_validator("roots")
    @classmethod
    def _absolute(cls, roots: str | None) -> str | None:
        for root in (roots or "").split(os.pathsep):
            if root and not Path(root).is_absolute():
                raise ValueError("takes absolute paths alone, with ':' between them")
        return roots

    @property
    def allowed(self) -> tuple[Path, ...]:
        """The folders in which others may be followed by whoever reaches the service."""
        return tuple(Path(os.path.normpath(root)) for root in (self.roots or "").split(os.pathsep) if root)


def _is_openai(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return host == OPENAI_HOST or host.endswith(f".{OPENAI_HOST}")  # regions have names before it

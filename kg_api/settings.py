"""The one place that reads the environment.

KG_* variables, nested by `__` (KG_NEO4J__URI), and a provider's own by its own names (OPENAI_API_KEY).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, Self, cast

import platformdirs
from pydantic import BaseModel, Field, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from kg_api.api_settings import ApiSettings, BlobSettings, ConversionSettings
from kg_api.errors import ConfigurationError
from kg_api.machine import batch_for, cores
from kg_api.model_settings.communities import CommunitySettings
from kg_api.model_settings.embedding import EmbeddingSettings, ImageEmbeddingSettings
from kg_api.model_settings.proposals import ProposalSettings
from kg_api.neo4j_settings import BackupSettings, Neo4jSettings
from kg_api.secret_files import FILE, with_secrets_of_files
from kg_api.sections import (
    CohereSettings,
    ConceptsSettings,
    LlmSettings,
    NomicSettings,
    OpenAISettings,
    OtelSettings,
    RerankSettings,
    Seconds,
    Section,
    SyncSettings,
)
from kg_api.wording import misspelt

BY_THEIR_OWN_NAMES = ("openai", "nomic", "cohere", "otel")
"""Sections whose variables have no KG_ before them, as the providers' own tools read them."""


SOURCES_READ_A_BATCH = 250
"""As many as one transaction forgets (`kg_api/graph/concepts/removal.py`): each may carry 50 concepts."""


class WorkerSettings(Section):
    """The process that keeps embeddings there and fresh."""

    batch_size: int | None = Field(
        default=None,
        ge=1,
        le=2048,
        description="Sources embedded and written per batch; unset: 64 or, where that is more, 16 per core; "
        "250 where concepts are extracted without a language model.",
    )
    poll_seconds: Seconds = Field(default=0.5, description="How often an idle worker polls for jobs.")
    lease_seconds: Seconds = Field(
        default=30,
        description="A job whose worker has sent no heartbeat for this long is taken over by another.",
    )
    heartbeat_seconds: Seconds = Field(default=10, description="Interval between heartbeats.")
    tick_seconds: Seconds = Field(default=60, description="Interval between checks for missing work.")
    max_stumbles: int = Field(default=5, ge=1, description="Maximum failures in a row before a job is dead.")
    turn_seconds: Seconds = Field(
        default=20, description="Time slice of a job: after this long it yields to jobs that are waiting."
    )
    stuck_seconds: Seconds = Field(
        default=1800,
        description="A job that makes no progress for this long is dead, even if its worker is alive.",
    )
    grace_seconds: Seconds = Field(default=30, description="Time limit for the current batch on shutdown.")
    most_queued: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description="Maximum queued jobs; then requests get a 429.",
    )
    niceness: int = Field(
        default=5,
        ge=0,
        le=19,
        description="Nice value of the worker, so it never slows a search.",
    )
    metrics_port: int | None = Field(
        default=None, ge=1, le=65535, description="Port for Prometheus metrics; unset: none."
    )

    @model_validator(mode="after")
    def _heartbeat_within_lease(self) -> Self:
        if self.heartbeat_seconds * 2 > self.lease_seconds:
            raise ValueError("KG_WORKER__HEARTBEAT_SECONDS must be at most half of KG_WORKER__LEASE_SECONDS")
        return self

    @property
    def sources_a_batch(self) -> int:
        """The size of a batch, by the cores of this machine unless it was set."""
        return self.batch_size or batch_for(cores())

    @property
    def sources_read_a_batch(self) -> int:
        """How many sources are read for concepts before what was found is written, unless it was set."""
        return self.batch_size or SOURCES_READ_A_BATCH


class LogSettings(Section):
    """Structured logs on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Minimum log level."
    )
    format: Literal["json", "text"] = Field(
        default="json", description="Log format: JSON for programs, or text for people."
    )


class Settings(BaseSettings):
    """All settings of kg. A value that is wrong stops the start and names its variable."""

    model_config = SettingsConfigDict(
        env_prefix="KG_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    home: Path = Field(
        default_factory=lambda: platformdirs.user_data_path("kg"),
        description="Folder for the data, password, logs and state of the processes that kg manages.",
    )
    cache: Path = Field(
        default_factory=lambda: platformdirs.user_cache_path("kg"),
        description="Cache for Neo4j's jars and the embedding model; safe to delete, it is downloaded again.",
    )
    api_url: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description=(
            "URL of the kg service for the client; unset: the one that `kg up` started from this home."
        ),
    )
    api_key: SecretStr | None = Field(default=None, description="Sent by the client as a bearer token.")
    neo4j: Neo4jSettings = Neo4jSettings()
    backup: BackupSettings = BackupSettings()
    api: ApiSettings = ApiSettings()
    worker: WorkerSettings = WorkerSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    image_embedding: ImageEmbeddingSettings = ImageEmbeddingSettings()
    conversion: ConversionSettings = ConversionSettings()
    blobs: BlobSettings = BlobSettings()
    sync: SyncSettings = SyncSettings()
    llm: LlmSettings = LlmSettings()
    concepts: ConceptsSettings = ConceptsSettings()
    proposals: ProposalSettings = ProposalSettings()
    communities: CommunitySettings = CommunitySettings()
    rerank: RerankSettings = RerankSettings()
    log: LogSettings = LogSettings()
    openai: OpenAISettings = OpenAISettings()
    nomic: NomicSettings = NomicSettings()
    cohere: CohereSettings = CohereSettings()
    otel: OtelSettings = OtelSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - kg reads no such file
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - nor such a folder
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Add the providers' own variables."""
        source = cast("EnvSettingsSource", env_settings)
        source.env_vars = with_secrets_of_files(source.env_vars, secret_variables())
        return init_settings, _TheirOwnNames(settings_cls, source.env_vars), source


class _TheirOwnNames(PydanticBaseSettingsSource):
    """Reads OPENAI_API_KEY into `openai.api_key`, and so on; the names in `environment` are in lower case."""

    def __init__(self, settings_cls: type[BaseSettings], environment: Mapping[str, str | None]) -> None:
        super().__init__(settings_cls)
        self._environment = environment

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[object, str, bool]:
        section = cast("type[Section]", type(field.default))
        own = {
            name: value
            for name in section.model_fields
            if (value := self._environment.get(f"{field_name}_{name}"))
        }
        return own, field_name, True

    def __call__(self) -> dict[str, object]:
        fields = self.settings_cls.model_fields
        found = {name: self.get_field_value(fields[name], name)[0] for name in BY_THEIR_OWN_NAMES}
        return {name: own for name, own in found.items() if own}


def variables(
    model: type[BaseModel] = Settings, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, FieldInfo]]:
    """Every environment variable that kg reads, and what is known of it."""
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from variables(type(field.default), (*path, name))
        else:
            yield variable_of((*path, name)), field


def secret_variables() -> list[str]:
    """The variables of secrets, each of which can come from a file instead."""
    return [name for name, field in variables() if field.annotation == SecretStr | None]


def given_variables() -> set[str]:
    """The names of all variables of the environment, in capitals; of a secret's file also the secret's."""
    names = {name.upper() for name in EnvSettingsSource(Settings).env_vars}
    return names | {name for name in secret_variables() if name + FILE in names}


def variable_of(path: tuple[int | str, ...]) -> str:
    """The variable behind a setting: ("openai", "timeout") is OPENAI_TIMEOUT."""
    parts = [str(part).upper() for part in path]
    if path[:1] and path[0] in BY_THEIR_OWN_NAMES:
        return "_".join(parts)
    return "KG_" + "__".join(parts)


def load_settings(**overrides: object) -> Settings:
    """Read the environment.

    Raises:
        ConfigurationError: naming each variable that is wrong, and why.
    """
    environment = EnvSettingsSource(Settings).env_vars
    known = [*(name for name, _ in variables()), *(name + FILE for name in secret_variables())]
    unknown = [*misspelt.complaints(environment, known)]
    if unknown:
        raise ConfigurationError("invalid settings:\n  " + "\n  ".join(unknown))
    try:
        given = {name: value for name, value in overrides.items() if value is not None}
        return Settings(**given)  # pyright: ignore[reportArgumentType]
    except SettingsError as error:
        field = re.search(r'field "(\w+)"', str(error))
        name = f"KG_{field[1].upper()}" if field else "a KG_* variable"
        raise ConfigurationError(f"{name} is a group of settings: set {name}__... instead") from None
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        lines = [_describe(variable_of(each["loc"]), each) for each in found]
        raise ConfigurationError("invalid settings:\n  " + "\n  ".join(lines)) from None


def _describe(variable: str, fault: ErrorDetails) -> str:
    if fault["type"] == "extra_forbidden":
        return misspelt.describe_unknown(variable, (name for name, _ in variables()))
    return f"{variable}: {fault['msg']}"

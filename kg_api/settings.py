"""Settings of kg, read from environment variables and secret files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, cast

import platformdirs
from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from kg_api import suggestions
from kg_api.errors import ConfigurationError
from kg_api.machine import choose_batch_size, choose_process_count, count_cores, get_memory_bytes
from kg_api.schemas.vocabulary import ImageProvider, Provider
from kg_api.sections import (
    CohereSettings,
    ConceptsSettings,
    LlmSettings,
    NomicSettings,
    OpenAISettings,
    OtelSettings,
    Price,
    RerankSettings,
    Seconds,
    Section,
    SyncSettings,
    declare_constant,
    is_constant,
)

OWN_ENTRIES = (
    *("server.default_", "server.bolt.", "server.http.", "server.https.", "server.directories."),
    *("dbms.security.", "server.config."),
)
"""Prefixes of neo4j.conf names that would change the address, folders, or security of the managed server."""


class Neo4jSettings(Section):
    """Connection to Neo4j. Without `uri`, kg runs a managed local Neo4j."""

    uri: Annotated[str | None, Field(pattern=r"^(neo4j|bolt)(\+s|\+ssc)?://[^@]+$")] = None
    """URI of an external Neo4j to use, such as `bolt://host:7687`. Do not include a password. By default,
    kg manages its own Neo4j."""
    user: str = "neo4j"
    """Username to use with `KG_NEO4J__URI`."""
    password: SecretStr | None = None
    """Password to use with `KG_NEO4J__URI`. It is required if the URI is set."""
    database: str = "neo4j"
    """Name of the database to use."""
    connection_seconds: Seconds = declare_constant(5)
    """Maximum age of a connection to Neo4j. Firewalls drop idle connections only after a longer time."""
    port: Annotated[int | None, Field(ge=1, le=65535)] = None
    """Bolt port of the managed Neo4j."""
    heap_mb: Annotated[int | None, Field(ge=256)] = None
    """Heap size of the managed Neo4j in MiB."""
    pagecache_mb: Annotated[int | None, Field(ge=64)] = None
    """Page cache of the managed Neo4j in MiB."""
    disk_reserve_mb: int = declare_constant(64)
    """Free disk space in MiB. Below it, kg rejects writes."""
    conf: dict[str, str] | None = None
    """Entries to add to neo4j.conf, as a JSON object such as `{"db.transaction.timeout": "300s"}`. They
    override the entries of kg. You cannot change addresses, folders, or security."""
    start_timeout_seconds: Seconds = declare_constant(300)

    @field_validator("conf")
    @classmethod
    def _without_ours(cls, conf: dict[str, str] | None) -> dict[str, str] | None:
        entries = (conf or {}).items()
        if ours := sorted(name for name, _ in entries if name.strip().startswith(OWN_ENTRIES)):
            raise ValueError(f"{', '.join(ours)}: kg sets this option. Remove the option")
        if not all(
            text.isprintable() and "=" not in name for name, value in entries for text in (name, value)
        ):
            raise ValueError("an entry is a name and a value on one line")
        return conf

    @model_validator(mode="after")
    def _password_with_uri(self) -> Self:
        if self.uri is not None and self.password is None:
            raise ValueError("KG_NEO4J__URI is set, so KG_NEO4J__PASSWORD must be set too")
        return self


class BackupSettings(Section):
    """Backups of the managed Neo4j and of stored images."""

    folder: Path | None = None
    """Folder to write backups to. It should be on another disk. Default: `backups` in KG_HOME."""


MIB = 1024 * 1024
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")
_ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?")


def split_list(value: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())


class ApiSettings(Section):
    host: str = "127.0.0.1"
    """Address for the service to listen on. With the default, only this machine can connect to it."""
    port: Annotated[int | None, Field(ge=1, le=65535)] = None
    """Port for the service to listen on. Default: 8420, or a free port if 8420 is in use."""
    processes: Annotated[int | None, Field(ge=1, le=64)] = None
    """Number of service processes to run. They share KG_API__MAX_CONNECTIONS. Default: one per core up to
    4 cores, then three per 4 cores, at most 12 and at most 1/16 of the memory."""
    allowed_hosts: str | None = None
    """Comma-separated host names and addresses that clients can use for the service. This is required if
    KG_API__HOST is not a loopback address. `localhost` and loopback addresses are always allowed."""
    require_keys: bool | None = None
    """Whether every request needs an API key (see `kg admin keys create`). Set this to true if you use a
    proxy. It must be true if KG_API__HOST is not a loopback address, and this is the default. If a
    request contains a key, kg always checks it."""
    root_path: Annotated[str | None, Field(pattern=r"^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$")] = None
    """Path prefix that a reverse proxy uses for kg, such as `/kg`. The proxy can keep or strip it. By
    default, kg uses the `X-Forwarded-Prefix` header from a proxy that is on this machine or in
    `FORWARDED_ALLOW_IPS`."""
    requests_per_minute: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    """Number of requests that an API key can send to each service process per minute. If there are more,
    kg returns 429. Default: no limit."""
    allowed_origins: str | None = None
    """Comma-separated origins of web pages that can call the service, such as
    `https://app.example.org`."""
    max_document_bytes: Annotated[int, Field(gt=0)] = 64 * MIB
    """Maximum size of a document in bytes."""
    max_request_bytes: int = declare_constant(1 * MIB)
    max_connections: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Maximum number of open connections. If there are more, kg closes the connection that has been idle
    for the longest time. Use a lower value if the limit on open files is low."""
    header_seconds: Seconds = declare_constant(10)
    idle_seconds: Seconds = declare_constant(5)
    stall_seconds: Seconds = declare_constant(20)
    """Time after which a transfer slower than `min_bytes_per_second` is aborted."""
    min_bytes_per_second: int = declare_constant(500)
    """Minimum transfer rate of request and response bodies. 0: no minimum."""
    backlog_seconds: Seconds = declare_constant(120)
    """Waiting time of a job without a running worker after which `/ready` fails."""
    event_streams: int = declare_constant(50)

    @field_validator("root_path")
    @classmethod
    def _without_final_slash(cls, value: str | None) -> str | None:
        return (value or "").rstrip("/") or None

    @field_validator("allowed_hosts")
    @classmethod
    def _host_names(cls, value: str | None) -> str | None:
        if not all(map(_HOST.fullmatch, split_list(value))):
            raise ValueError("takes comma-separated host names or addresses, without scheme or port")
        return value

    @field_validator("allowed_origins")
    @classmethod
    def _web_pages(cls, value: str | None) -> str | None:
        if not all(map(_ORIGIN.fullmatch, split_list(value))):
            raise ValueError("takes comma-separated origins such as https://app.example.org")
        return value

    @property
    def process_count(self) -> int:
        return self.processes or choose_process_count(count_cores(), get_memory_bytes())

    def share(self, most: int) -> int:
        """Return the share of one process in a limit for all processes, rounded up."""
        return -(-most // self.process_count)

    @property
    def allowed_host_names(self) -> tuple[str, ...]:
        """Lower-case host names. IPv6 addresses have no brackets."""
        return tuple(each.strip("[]").lower() for each in split_list(self.allowed_hosts))

    @property
    def allowed_web_pages(self) -> tuple[str, ...]:
        return split_list(self.allowed_origins)


class ConversionSettings(Section):
    """Conversion of files to Markdown in separate processes."""

    processes: int = declare_constant(2)
    """Number of files that each service process converts in parallel."""
    max_seconds: Seconds = 120
    """Maximum time to convert a file, in seconds."""
    max_memory_mb: Annotated[int, Field(ge=512, le=1_048_576)] = 2048
    """Maximum memory for a conversion process, in MiB."""
    ocr: Literal["auto", "off"] = "auto"
    """Whether to use OCR for PDF pages without readable text: `auto` (if the extra `ocr` is installed) or
    `off`. OCR takes seconds per page. It can read Latin, Chinese, and Japanese."""
    ocr_max_pages: int = declare_constant(200)
    ocr_max_seconds: Seconds = declare_constant(300)
    """Time limit for OCR of one file. The notes of the document list the skipped pages."""
    ocr_max_megapixels: float = declare_constant(10)
    """Maximum size of a rendered page for OCR. Smaller pages are rendered at 200 dpi."""
    images_within: bool = True
    """Whether to store the images in documents (PDF, EPUB, DOCX, HTML, and others) as sources."""
    image_max_megapixels: float = declare_constant(100)
    """Maximum size of an image in megapixels."""

    def limit_to_one_process(self) -> ConversionSettings:
        """Return a copy that converts one file at a time."""
        return self.model_copy(update={"processes": 1})


class S3Settings(Section):
    """S3 bucket for images and PDFs. Credentials come from the usual AWS variables."""

    bucket: Annotated[str | None, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")] = None
    """Bucket to use for images, thumbnails, and PDFs, in an S3-compatible store. To use it, install the
    extra `s3` and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. By default, kg uses a folder."""
    endpoint: Annotated[str | None, Field(pattern=r"^https?://[^\s/@?#\\]+/?$")] = None
    """URL of the store, such as `https://s3.example.org:9000`. By default, kg uses Amazon S3."""
    region: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")] = "us-east-1"
    """Region of the bucket. For stores other than Amazon S3, you can usually use any value."""
    prefix: Annotated[str, Field(pattern=r"^([A-Za-z0-9!_.*'()-]+(/[A-Za-z0-9!_.*'()-]+)*/?)?$")] = ""
    """Prefix to add to all object keys, such as `kg/`. You can use it to share a bucket."""
    seconds: Seconds = declare_constant(60)


class BlobSettings(Section):
    s3: S3Settings = S3Settings()

    folder: Path | None = None
    """Folder to store images, thumbnails, and PDFs in. The service and its workers must share it.
    Default: `blobs` in KG_HOME. `kg admin backup` copies only the default folder."""
    keep_pdfs: bool = True
    """Whether to store a copy of each PDF. Without it, kg cannot show images of pages."""


DEFAULT_CONVERSION = ConversionSettings()


# Secrets in files, as Docker and Kubernetes provide them

FILE = "_FILE"
MAX_BYTES = 65_536


def load_secret_files(environment: Mapping[str, str | None], secrets: Iterable[str]) -> dict[str, str | None]:
    """Load a copy with lower-case names in which the value of each secret replaces the name of its file."""
    found = dict(environment)
    wrong: list[str] = []
    for variable in secrets:
        path = found.pop((variable + FILE).lower(), None)
        if not path:
            continue
        if found.get(variable.lower()):
            wrong.append(f"{variable + FILE}: {variable} is also set. Unset one of the two")
            continue
        try:
            found[variable.lower()] = _read(Path(path))
        except OSError as error:
            wrong.append(f"{variable + FILE}: {path} cannot be read: {error.strerror}")
        except ValueError as error:
            wrong.append(f"{variable + FILE}: {path} {error}")
    if wrong:
        raise ConfigurationError("invalid settings:\n  " + "\n  ".join(wrong))
    return found


def _read(path: Path) -> str:
    """Read the text of a secret file without the final newline that editors add."""
    if not path.is_absolute():
        raise ValueError("is not an absolute path, which all processes of kg need")
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"has more than {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ValueError("is not text in UTF-8") from None
    if not text:
        raise ValueError("is empty")
    if "\0" in text:
        raise ValueError("has a zero byte")
    return text


class CommunitySettings(Section):
    enabled: bool = True
    """Whether to detect communities automatically when concepts change."""
    min_size: int = declare_constant(3)
    """Minimum number of concepts in a community. Smaller communities are only counted."""
    max_concepts: int = declare_constant(200_000)
    """Maximum number of concepts per ontology, the most connected first."""
    changed_share: float = declare_constant(0.1)
    """Share of sources, concepts, or relationships that must change before the next detection."""


class EmbeddingSettings(Section):
    """Default embedding model of ontologies."""

    provider: Provider = "local"
    """Embedding provider to use. `deterministic` hashes words and should only be used for tests."""
    model: Annotated[str | None, Field(min_length=1)] = None
    """Embedding model to use. The default depends on the provider (openai: OPENAI_EMBED_MODEL)."""
    model_folder: Path | None = None
    """Folder to load your own local model from, with model.onnx and tokenizer.json."""
    threads: int | None = declare_constant(None)
    """Number of threads for local models. None: one per core."""
    requests_at_once: int = declare_constant(8)
    """Maximum number of parallel requests of a worker to a remote provider. A 429 response pauses them."""
    query_seconds: Seconds = 5
    """Number of seconds to wait for the provider in a search, with retries. After this time, the search
    continues without vectors."""
    cache_entries: int = declare_constant(200_000)
    """Maximum number of vectors in the embedding cache. 0: no cache."""
    max_tokens: Annotated[int, Field(ge=64, le=1_000_000)] = 512
    """Maximum number of input tokens, for a model that kg does not know."""
    query_prefix: str = ""
    """Prefix to add to queries, for a model that kg does not know."""
    passage_prefix: str = ""
    """Prefix to add to passages, for a model that kg does not know."""
    price: Price | None = None
    """Price in US dollars per million tokens, for a model that kg does not know."""

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if self.model_folder is not None and (self.model is not None or self.provider != "local"):
            raise ValueError(
                "KG_EMBEDDING__MODEL_FOLDER selects a local model. Unset KG_EMBEDDING__MODEL, and "
                "KG_EMBEDDING__PROVIDER unless it is `local`"
            )
        return self


class ImageEmbeddingSettings(Section):
    """Default image model of ontologies. The providers' sections have its keys and URLs."""

    provider: ImageProvider = "histogram"
    """Image embedding provider to use. `histogram` compares colours and edges without a model and ignores
    text. `onnx` runs a model from your folder. `nomic` and `openai` (any server that accepts requests in
    the format of Jina, such as SGLang) use HTTP."""
    model: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    """Image model to use. For `onnx`, this is a subfolder of KG_IMAGE_EMBEDDING__FOLDER. The default
    depends on the provider."""
    dimensions: Annotated[int | None, Field(ge=1, le=4096)] = None
    """Number of dimensions. You must set this for a model that kg does not know."""
    folder: Path | None = None
    """Folder to load `onnx` models from, with a subfolder for each model and its description."""
    max_tokens: int = declare_constant(256)
    """Maximum number of input tokens of a model that kg does not know. Each byte counts as one token."""
    query_prefix: str = ""
    """Prefix to add to queries, for a model in your folder or another model that kg does not know."""


class ProposalSettings(Section):
    """Proposed links between sources or concepts of different documents."""

    enabled: bool = True
    """Whether to propose links automatically."""
    min_similarity: float | None = declare_constant(None)
    """Minimum cosine similarity of two sources. None: calibrated for the model."""
    min_concept_similarity: float | None = declare_constant(None)
    """Minimum cosine similarity of two concepts. None: calibrated for the model."""
    min_contrast: float | None = declare_constant(None)
    """Minimum difference between the similarity of two sources and the mean to their neighbours."""
    min_concept_contrast: float | None = declare_constant(None)
    """Minimum difference between the similarity of two concepts and the mean to their neighbours."""
    neighbours: int = declare_constant(1)
    """Number of nearest neighbours. Each node of a pair must be among those of the other."""
    hops: int = declare_constant(2)
    """Maximum length of a path. Nodes that such a path connects get no proposal."""
    max_open: int = declare_constant(500)
    """Maximum number of open proposals per ontology. kg keeps the best."""
    nodes_a_run: int = declare_constant(5000)
    """Maximum number of sources and concepts per job. The next check continues."""


# Environment variables: KG_* variables, nested by `__` (KG_NEO4J__URI), and variables with the names of
# providers (OPENAI_API_KEY).

BY_THEIR_OWN_NAMES = ("openai", "nomic", "cohere", "otel")
"""Sections whose variables have no prefix KG_, because the providers' own tools read them."""


SOURCES_READ_A_BATCH = 250
"""Maximum sources per transaction (`kg_api/graph/concept_writes.py`), with up to 50 concepts each."""


class WorkerSettings(Section):
    """Worker process, which runs the jobs."""

    batch_size: int | None = declare_constant(None)
    """Number of sources per embedding batch. None: derived from the number of cores."""
    poll_seconds: Seconds = declare_constant(0.5)
    lease_seconds: Seconds = declare_constant(30)
    """Time without a heartbeat after which another worker takes over a job."""
    heartbeat_seconds: Seconds = declare_constant(10)
    tick_seconds: Seconds = declare_constant(60)
    max_failures: int = declare_constant(5)
    """Maximum number of consecutive failures. After it, the job fails."""
    turn_seconds: Seconds = declare_constant(20)
    """Time slice of a job. After it, the job yields to waiting jobs."""
    stuck_seconds: Seconds = declare_constant(1800)
    """Time without progress after which a job fails, even if its worker is alive."""
    grace_seconds: Seconds = 30
    """Number of seconds to wait for the current batch when kg shuts down."""
    most_queued: int = declare_constant(10_000)
    """Maximum number of queued jobs. Above it, requests get a 429 response."""
    niceness: int = declare_constant(5)
    metrics_port: Annotated[int | None, Field(ge=1, le=65535)] = None
    """Port to serve Prometheus metrics on. By default, the worker does not serve metrics."""

    @property
    def sources_a_batch(self) -> int:
        return self.batch_size or choose_batch_size(count_cores())

    @property
    def sources_read_a_batch(self) -> int:
        """Number of sources per batch of concept extraction."""
        return self.batch_size or SOURCES_READ_A_BATCH


class LogSettings(Section):
    """Structured logs on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Minimum level of log messages to write."""
    format: Literal["json", "text"] = "json"
    """Log format. Use `json` for programs and `text` for people."""


class Settings(BaseSettings):
    """All settings of kg. A wrong value stops the start with an error that names the variable."""

    model_config = SettingsConfigDict(
        env_prefix="KG_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        nested_model_default_partial_update=True,
        use_attribute_docstrings=True,
    )

    home: Path = Field(default_factory=lambda: platformdirs.user_data_path("kg"))
    """Folder to store the data, password, logs, and process state in."""
    cache: Path = Field(default_factory=lambda: platformdirs.user_cache_path("kg"))
    """Folder to cache Neo4j and the embedding model in. You can delete it, and kg will download them
    again."""
    api_url: Annotated[str | None, Field(pattern=r"^https?://")] = None
    """URL that clients use to connect to the service. Default: the service that `kg up` started from this
    home."""
    api_key: SecretStr | None = None
    """API key that clients send to the service as a bearer token."""
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

    @field_validator("home")
    @classmethod
    def _require_folder(cls, home: Path) -> Path:
        # Path.exists raises PermissionError, which the command that needs the home reports
        there = next(path for path in (home, *home.absolute().parents) if os.path.exists(path))  # noqa: PTH110
        if not there.is_dir():
            raise ValueError(f"{there} is not a folder. Name another folder")
        return home

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - kg reads no .env file
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - kg reads no folder of secrets
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        source = cast("EnvSettingsSource", env_settings)
        source.env_vars = load_secret_files(source.env_vars, list_secret_variables())
        own = InitSettingsSource(settings_cls, _read_provider_variables(source.env_vars))
        return init_settings, own, source


def _read_provider_variables(environment: Mapping[str, str | None]) -> dict[str, dict[str, str]]:
    """Return provider variables by section and field: OPENAI_API_KEY as `openai.api_key`."""
    found: dict[str, dict[str, str]] = {}
    for section in BY_THEIR_OWN_NAMES:
        fields = cast("type[Section]", type(Settings.model_fields[section].default)).model_fields
        for name in fields:
            if value := environment.get(f"{section}_{name}"):
                found.setdefault(section, {})[name] = value
    return found


def list_variables(*, constants: bool = False) -> Iterator[tuple[str, FieldInfo]]:
    return (each for each in _list_fields(Settings, ()) if is_constant(each[1]) == constants)


def _list_fields(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from _list_fields(type(field.default), (*path, name))
        else:
            yield format_variable((*path, name)), field


def list_secret_variables() -> list[str]:
    """List the variables of secrets. Each secret can come from a file."""
    return [name for name, field in list_variables() if field.annotation == SecretStr | None]


def list_set_variables() -> set[str]:
    """List the names of all set variables in upper case. NAME_FILE also counts as NAME."""
    names = {name.upper() for name in EnvSettingsSource(Settings).env_vars}
    return names | {name for name in list_secret_variables() if name + FILE in names}


def format_variable(path: tuple[int | str, ...]) -> str:
    """Format the variable of a setting: OPENAI_TIMEOUT for ("openai", "timeout")."""
    parts = [str(part).upper() for part in path]
    if path[:1] and path[0] in BY_THEIR_OWN_NAMES:
        return "_".join(parts)
    return "KG_" + "__".join(parts)


def load_settings(**overrides: object) -> Settings:
    """Read the settings. Raise ConfigurationError with all wrong or unknown variables."""
    environment = EnvSettingsSource(Settings).env_vars
    known = [*(name for name, _ in list_variables()), *(name + FILE for name in list_secret_variables())]
    unknown = [*suggestions.list_complaints(environment, known)]
    set_names = {name.upper() for name, value in environment.items() if value}
    unknown += [
        suggestions.describe_unknown(name, known)
        for name, _ in list_variables(constants=True)
        if name in set_names
    ]
    if unknown:
        raise ConfigurationError("invalid settings:\n  " + "\n  ".join(unknown))
    try:
        set_names = {name: value for name, value in overrides.items() if value is not None}
        return Settings(**set_names)  # pyright: ignore[reportArgumentType]
    except SettingsError as error:
        field = re.search(r'field "(\w+)"', str(error))
        name = f"KG_{field[1].upper()}" if field else "a KG_* variable"
        raise ConfigurationError(f"{name} is a group of settings: set {name}__... instead") from None
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        lines = [_describe(format_variable(each["loc"]), each) for each in found]
        raise ConfigurationError("invalid settings:\n  " + "\n  ".join(lines)) from None


def _describe(variable: str, fault: ErrorDetails) -> str:
    if fault["type"] == "extra_forbidden":
        return suggestions.describe_unknown(variable, (name for name, _ in list_variables()))
    return f"{variable}: {fault['msg'].removeprefix('Value error, ')}"

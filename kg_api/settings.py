"""All settings of kg, read from the environment, from `.env` and from secret files."""

from __future__ import annotations

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
from kg_api.machine import batch_for, cores, memory_bytes, service_processes
from kg_api.schemas.vocabulary import ImageDialect, ImageProvider, Provider
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
    constant,
    is_constant,
)

OWN_ENTRIES = (
    *("server.default_", "server.bolt.", "server.http.", "server.https.", "server.directories."),
    *("dbms.security.", "server.config."),
)
"""Beginnings of names in neo4j.conf by which the managed server would be elsewhere, or open to others."""


class Neo4jSettings(Section):
    """Where Neo4j is. Without `uri`, kg runs its own managed local one."""

    uri: Annotated[str | None, Field(pattern=r"^(neo4j|bolt)(\+s|\+ssc)?://[^@]+$")] = None
    """URI of an external Neo4j, such as `bolt://host:7687`, without a password; unset: kg runs its own."""
    user: str = "neo4j"
    """Username for `KG_NEO4J__URI`."""
    password: SecretStr | None = None
    """Password for `KG_NEO4J__URI`; required."""
    database: str = "neo4j"
    """Name of the database."""
    connection_seconds: Seconds = constant(5)
    """Age at which a connection to Neo4j is replaced: firewalls forget idle connections later."""
    port: Annotated[int | None, Field(ge=1, le=65535)] = None
    """Bolt port of the managed Neo4j."""
    heap_mb: Annotated[int | None, Field(ge=256)] = None
    """Heap size of the managed Neo4j, MiB."""
    pagecache_mb: Annotated[int | None, Field(ge=64)] = None
    """Page cache of the managed Neo4j, MiB."""
    disk_reserve_mb: Annotated[int, Field(ge=0, le=1_000_000)] = 64
    """Free disk space below which writes are refused, MiB."""
    conf: dict[str, str] | None = None
    """Further entries of neo4j.conf as JSON, such as `{"db.transaction.timeout": "300s"}`; they win over kg's
    own. Refused: addresses, folders and security, which are kg's to set."""
    start_timeout_seconds: Seconds = constant(300)
    """Time limit for Neo4j to start."""

    @field_validator("conf")
    @classmethod
    def _without_ours(cls, conf: dict[str, str] | None) -> dict[str, str] | None:
        entries = (conf or {}).items()
        if ours := sorted(name for name, _ in entries if name.strip().startswith(OWN_ENTRIES)):
            raise ValueError(f"{', '.join(ours)}: kg sets that itself; leave it out")
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
    """Backups of the managed Neo4j and of the pictures beside it."""

    every_hours: Annotated[float | None, Field(ge=0.001, le=8760, allow_inf_nan=False)] = None
    """`kg up` makes a backup each time so many hours have passed; unset: none."""
    folder: Path | None = None
    """Folder for backups, better on another disk; unset: `backups` below KG_HOME."""
    keep: Annotated[int, Field(ge=1, le=10_000)] = 7
    """Number of whole backups of this home that are kept by those that `kg up` makes."""


MIB = 1024 * 1024
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")
_ORIGIN = re.compile(r"https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?")


def split_list(value: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())


class ApiSettings(Section):
    """The REST service."""

    host: str = "127.0.0.1"
    """Address the service listens on; the default is reachable from this machine only."""
    port: Annotated[int | None, Field(ge=1, le=65535)] = None
    """Port the service listens on; unset: 8420, or a free port if that is taken."""
    processes: Annotated[int | None, Field(ge=1, le=64)] = None
    """Number of processes that serve requests on that port; unset: one per core up to 4, beyond that three of
    four cores, at most 12, if they fit into a sixteenth of the memory. The limits of this section are shared
    out among them."""
    allowed_hosts: str | None = None
    """Comma-separated host names and addresses that clients use to reach the service; required when
    KG_API__HOST is not a loopback address. `localhost` and loopback addresses are always allowed."""
    require_keys: bool | None = None
    """Whether nobody is answered without an API key (`kg admin keys create`); unset: where KG_API__HOST is
    not a loopback address, and there it cannot be false. Set it behind a proxy. A key that is sent is checked
    all the same."""
    root_path: Annotated[str | None, Field(pattern=r"^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?$")] = None
    """Path below which a reverse proxy serves kg, such as `/kg`; the proxy may remove the path from requests
    or keep it. Unset: none, or the `X-Forwarded-Prefix` of a proxy on this machine or in
    `FORWARDED_ALLOW_IPS`."""
    requests_per_minute: Annotated[int | None, Field(ge=1, le=1_000_000)] = None
    """Requests that one API key may send a minute, to each process of the service; beyond it: 429. Unset: no
    limit."""
    provider_tokens_per_day: Annotated[int | None, Field(ge=1, le=10**12)] = None
    """Tokens that providers may read and write in a day (UTC) for the searches and questions of one API key,
    by each process of the service; beyond it: 429. What workers embed and extract is not counted. Unset: no
    limit."""
    allowed_origins: str | None = None
    """Comma-separated origins of other web pages that may call the service, such as
    `https://app.example.org`."""
    max_document_bytes: Annotated[int, Field(gt=0)] = 64 * MIB
    """Maximum size of a document."""
    max_request_bytes: int = constant(1 * MIB)
    """Maximum size of any other request body."""
    max_connections: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Maximum number of open connections; beyond it, the one that has gone longest without a complete request
    is closed. Lower where the limit on open files is low."""
    header_seconds: Seconds = constant(10)
    """Time limit for receiving the headers of a request."""
    idle_seconds: Seconds = constant(5)
    """How long an idle connection is kept open."""
    stall_seconds: Seconds = constant(20)
    """A transfer that stays slower than `min_bytes_per_second` for this long is aborted."""
    min_bytes_per_second: int = constant(500)
    """Minimum transfer rate of request and response bodies; 0: no minimum."""
    backlog_seconds: Seconds = constant(120)
    """`/ready` fails if a job has waited longer than this and no worker is running."""
    event_streams: int = constant(50)
    """Maximum number of concurrent Server-Sent Events streams."""

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
        return self.processes or service_processes(cores(), memory_bytes())

    def share(self, most: int) -> int:
        """Of something that all processes may have so much of: what is one's; none where there is none."""
        return -(-most // self.process_count)

    @property
    def allowed_host_names(self) -> tuple[str, ...]:
        """The hosts one by one; addresses of IPv6 without brackets, as requests are compared."""
        return tuple(each.strip("[]").lower() for each in split_list(self.allowed_hosts))

    @property
    def allowed_web_pages(self) -> tuple[str, ...]:
        return split_list(self.allowed_origins)


class ConversionSettings(Section):
    """Files that are no plain text are read in processes apart."""

    processes: int = constant(2)
    """Files converted at once, by each process of the service."""
    max_seconds: Seconds = 120
    """Time limit for converting one file."""
    max_memory_mb: Annotated[int, Field(ge=512, le=1_048_576)] = 2048
    """Memory limit of a converting process, in MiB."""
    ocr: Literal["auto", "off", "tesseract", "rapidocr"] = "auto"
    """What reads pages of PDFs that have no readable text: `tesseract` (a program), `rapidocr` (the extra
    `ocr`), `auto` (the first of the two that is installed) or `off`. A page takes seconds."""
    ocr_languages: Annotated[
        str | None, Field(pattern=r"^[A-Za-z_]+(/[A-Za-z_]+)?(\+[A-Za-z_]+(/[A-Za-z_]+)?){0,7}$")
    ] = None
    """Languages of such pages as tesseract names them, such as `eng+deu`; unset: up to three that are
    installed, English first. `rapidocr` knows Latin, Chinese and Japanese letters at once."""
    ocr_max_pages: int = constant(200)
    """Maximum pages of one file that OCR reads."""
    ocr_max_seconds: Seconds = constant(300)
    """Time limit for OCR of one file; its notes name the other pages."""
    ocr_max_megapixels: float = constant(10)
    """Size of the picture that a page is drawn as for OCR; 200 dpi where that is less."""
    images_within: bool = True
    """Whether pictures within documents (PDF, EPUB, DOCX, HTML and others) become sources too."""
    image_max_megapixels: Annotated[float, Field(gt=0, le=1000)] = 100
    """Size of a picture that is read at most."""
    image_keep_place: bool = False
    """Whether pictures are stored as they came, with the place where they were taken, which is metadata, too;
    otherwise only what shows them rightly is stored, and words and dates."""

    def of_one_process(self) -> ConversionSettings:
        """The same, one file at a time."""
        return self.model_copy(update={"processes": 1})


class S3Settings(Section):
    """Pictures and PDFs in a bucket; its keys are read where all tools of S3 read them."""

    bucket: Annotated[str | None, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")] = None
    """Bucket of an S3-compatible store for pictures, their thumbnails and PDFs, instead of a folder (the
    extra `s3`). Its keys are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."""
    endpoint: Annotated[str | None, Field(pattern=r"^https?://[^\s/@?#\\]+/?$")] = None
    """URL of the store, such as `https://s3.example.org:9000`; unset: Amazon's by region."""
    region: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")] = "us-east-1"
    """Region of the bucket; stores other than Amazon's mostly take any."""
    prefix: Annotated[str, Field(pattern=r"^([A-Za-z0-9!_.*'()-]+(/[A-Za-z0-9!_.*'()-]+)*/?)?$")] = ""
    """What the keys of all files begin with, such as `kg/`, where others use the bucket, too."""
    seconds: Seconds = constant(60)
    """Time limit for putting or getting one file."""


class BlobSettings(Section):
    """Where pictures and PDFs are kept."""

    s3: S3Settings = S3Settings()

    folder: Path | None = None
    """Folder for pictures, their thumbnails and PDFs, shared by the service and its workers; unset: `blobs`
    below KG_HOME, where `kg admin backup` copies it; another folder is not in a backup."""
    keep_pdfs: bool = True
    """Whether PDFs that are ingested are kept as they came, too: there are no pictures of their pages without
    them."""


DEFAULT_CONVERSION = ConversionSettings()
"""As they are where nobody has changed them."""


# Secrets in files, as Docker and Kubernetes provide them: KG_API_KEY_FILE names a file with KG_API_KEY.

FILE = "_FILE"
MAX_BYTES = 65_536


def with_secrets_of_files(
    environment: Mapping[str, str | None], secrets: Iterable[str]
) -> dict[str, str | None]:
    """Return an environment, in lower case, in which each secret has its value and no file is named."""
    found = dict(environment)
    wrong: list[str] = []
    for variable in secrets:
        path = found.pop((variable + FILE).lower(), None)
        if not path:
            continue
        if found.get(variable.lower()):
            wrong.append(f"{variable + FILE}: {variable} is set, too; unset one of the two")
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
    """The text of a file without the end of its last line, which editors add."""
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
    """Communities of the concepts of each ontology."""

    enabled: bool = True
    """Whether communities are detected by themselves when concepts have changed."""
    max_size: int = constant(100)
    """A community of more concepts is divided on the next level."""
    min_size: int = constant(3)
    """Communities of fewer concepts are left out, and counted."""
    max_concepts: int = constant(200_000)
    """Maximum concepts per ontology that are looked at, the most connected first."""
    changed_share: float = constant(0.1)
    """Share of sources, concepts or relationships that must have changed before the next detection."""


class EmbeddingSettings(Section):
    """The embedding model of ontologies that name no other."""

    provider: Provider = "local"
    """Embedding provider; `deterministic` is for tests only: it hashes words and knows no meaning."""
    model: Annotated[str | None, Field(min_length=1)] = None
    """Embedding model; unset: the provider's default (openai: OPENAI_EMBED_MODEL)."""
    model_folder: Path | None = None
    """Folder with model.onnx and tokenizer.json to use instead."""
    threads: int | None = constant(None)
    """Threads for local models; None: one per core."""
    requests_at_once: int = constant(8)
    """Maximum requests in flight to a remote provider per worker; fewer when the provider answers 429."""
    query_seconds: Seconds = 5
    """How long a search waits for the provider, retries included, before it continues without vectors."""
    cache_entries: int = constant(200_000)
    """Maximum vectors in the embedding cache; 0: no cache."""
    max_tokens: Annotated[int, Field(ge=64, le=1_000_000)] = 512
    """Maximum input tokens of a model that kg does not know."""
    query_prefix: str = ""
    """Query prefix of a model that kg does not know."""
    passage_prefix: str = ""
    """Passage prefix of a model that kg does not know."""
    price: Price | None = None
    """Price of a model that kg does not know, in US dollars per million tokens."""

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if self.model_folder is not None and (self.model is not None or self.provider != "local"):
            raise ValueError(
                "KG_EMBEDDING__MODEL_FOLDER is a local model of your own: "
                "leave out KG_EMBEDDING__MODEL, and KG_EMBEDDING__PROVIDER unless it is local"
            )
        return self


class ImageEmbeddingSettings(Section):
    """The model of pictures of ontologies that name no other. Keys and addresses are the providers' own."""

    provider: ImageProvider = "histogram"
    """Model that embeds pictures: `histogram` compares colours and edges, needs no model and reads no text;
    `onnx` is a model in a folder of your own; `nomic`, `openai` (any server whose /embeddings takes pictures)
    and `cohere` are asked over HTTP."""
    model: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    """Picture model; unset: the provider's default. Of `onnx`: a folder in the next one."""
    dimensions: Annotated[int | None, Field(ge=1, le=4096)] = None
    """Dimensions of its vectors; required for a model that kg does not know."""
    folder: Path | None = None
    """For `onnx`: folder with a subfolder for each model, described in it."""
    dialect: ImageDialect = "jina"
    """For `openai`: how the server takes pictures: `jina` as `input: [{image: ...}]` (Jina, SGLang),
    `infinity` with `modality`, `vllm` as `messages`, one picture a request."""
    max_tokens: int = constant(256)
    """Maximum input tokens of a model that kg does not know; each byte is counted as one."""
    query_prefix: str = ""
    """Query prefix of a model that kg does not know."""


class ProposalSettings(Section):
    """Links that are proposed between sources, and between concepts, of different documents."""

    enabled: bool = True
    """Whether links are proposed by themselves, in ontologies that say nothing else."""
    min_similarity: float | None = constant(None)
    """Minimum cosine of two sources; unset: by what the model's cosines mean."""
    min_concept_similarity: float | None = constant(None)
    """Minimum cosine of two concepts; unset: by what the model's cosines mean."""
    min_contrast: float | None = constant(None)
    """Minimum difference of the cosine of two sources and the mean cosine of both with their neighbours."""
    min_concept_contrast: float | None = constant(None)
    """The same of two concepts."""
    neighbours: int = constant(1)
    """Each must be among so many that are nearest to the other."""
    hops: int = constant(2)
    """What is connected by so few steps already is not proposed."""
    max_open: int = constant(500)
    """Maximum open proposals per ontology; the best are kept."""
    nodes_a_run: int = constant(5000)
    """Maximum sources and concepts that one job looks at; the next check goes on."""


# The one place that reads the environment.
#
# KG_* variables, nested by `__` (KG_NEO4J__URI), and a provider's own by its own names (OPENAI_API_KEY).

BY_THEIR_OWN_NAMES = ("openai", "nomic", "cohere", "otel")
"""Sections whose variables have no KG_ before them, as the providers' own tools read them."""


SOURCES_READ_A_BATCH = 250
"""As many as one transaction forgets (`kg_api/graph/concept_writes.py`): each may carry 50 concepts."""


class WorkerSettings(Section):
    """The process that keeps embeddings there and fresh."""

    batch_size: int | None = constant(None)
    """Sources embedded and written per batch; None: by the cores of the machine."""
    poll_seconds: Seconds = constant(0.5)
    """How often an idle worker polls for jobs."""
    lease_seconds: Seconds = constant(30)
    """A job whose worker has sent no heartbeat for this long is taken over by another."""
    heartbeat_seconds: Seconds = constant(10)
    """Interval between heartbeats."""
    tick_seconds: Seconds = constant(60)
    """Interval between checks for missing work."""
    max_stumbles: int = constant(5)
    """Maximum failures in a row before a job is dead."""
    turn_seconds: Seconds = constant(20)
    """Time slice of a job: after this long it yields to jobs that are waiting."""
    stuck_seconds: Seconds = constant(1800)
    """A job that makes no progress for this long is dead, even if its worker is alive."""
    grace_seconds: Seconds = 30
    """Time limit for the current batch on shutdown."""
    most_queued: int = constant(10_000)
    """Maximum queued jobs; then requests get a 429."""
    niceness: int = constant(5)
    """Nice value of the worker, so it never slows a search."""
    metrics_port: Annotated[int | None, Field(ge=1, le=65535)] = None
    """Port for Prometheus metrics; unset: none."""

    @property
    def sources_a_batch(self) -> int:
        return self.batch_size or batch_for(cores())

    @property
    def sources_read_a_batch(self) -> int:
        """How many sources are read for concepts before what was found is written, unless it was set."""
        return self.batch_size or SOURCES_READ_A_BATCH


class LogSettings(Section):
    """Structured logs on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Minimum log level."""
    format: Literal["json", "text"] = "json"
    """Log format: JSON for programs, or text for people."""


class Settings(BaseSettings):
    """All settings of kg. A value that is wrong stops the start and names its variable."""

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
    """Folder for the data, password, logs and state of the processes that kg manages."""
    cache: Path = Field(default_factory=lambda: platformdirs.user_cache_path("kg"))
    """Cache for Neo4j's jars and the embedding model; safe to delete, it is downloaded again."""
    api_url: Annotated[str | None, Field(pattern=r"^https?://")] = None
    """URL of the kg service for the client; unset: the one that `kg up` started from this home."""
    api_key: SecretStr | None = None
    """Sent by the client as a bearer token."""
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
        source = cast("EnvSettingsSource", env_settings)
        source.env_vars = with_secrets_of_files(source.env_vars, secret_variables())
        own = InitSettingsSource(settings_cls, _by_their_own_names(source.env_vars))
        return init_settings, own, source


def _by_their_own_names(environment: Mapping[str, str | None]) -> dict[str, dict[str, str]]:
    """Return OPENAI_API_KEY as `openai.api_key`, and so on, of an environment in lower case."""
    found: dict[str, dict[str, str]] = {}
    for section in BY_THEIR_OWN_NAMES:
        fields = cast("type[Section]", type(Settings.model_fields[section].default)).model_fields
        for name in fields:
            if value := environment.get(f"{section}_{name}"):
                found.setdefault(section, {})[name] = value
    return found


def variables(*, constants: bool = False) -> Iterator[tuple[str, FieldInfo]]:
    return (each for each in _fields(Settings, ()) if is_constant(each[1]) == constants)


def _fields(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from _fields(type(field.default), (*path, name))
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
    """Read the environment; raise ConfigurationError naming each variable that is wrong, and why."""
    environment = EnvSettingsSource(Settings).env_vars
    known = [*(name for name, _ in variables()), *(name + FILE for name in secret_variables())]
    unknown = [*suggestions.complaints(environment, known)]
    given = {name.upper() for name, value in environment.items() if value}
    unknown += [
        suggestions.describe_unknown(name, known) for name, _ in variables(constants=True) if name in given
    ]
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
        return suggestions.describe_unknown(variable, (name for name, _ in variables()))
    return f"{variable}: {fault['msg']}"

"""Errors of kg as a tree, with HTTP status and exit code.

    KgError                        500   exit 1
    ├── InvalidInput               422   exit 2    the request is invalid
    │   ├── UnreadableDocument     422   exit 2    a file is not readable as text
    │   └── TooLarge               413   exit 2
    ├── Unauthorized               401   exit 77   the key is missing or invalid
    ├── Forbidden                  403   exit 77   the key lacks the scope
    ├── NotFound                   404   exit 4
    │   └── FileLost               404   exit 4    a stored file is missing or damaged
    ├── Conflict                   409   exit 5
    │   └── FilesCollected         409   exit 5    files of a document were deleted before it was stored
    ├── ConfigurationError         500   exit 78   settings, schema, or model do not fit. A person must act
    │   ├── SchemaTooNew           500   exit 78
    │   ├── ProviderMissing        500   exit 78   this process lacks a provider. Others may have it
    │   ├── SchemaTooOld           500   exit 78
    │   ├── BudgetSpent            500   exit 78   the budget of the language model is used up
    │   ├── OtherModel             500   exit 78   another model has the name of a space's model
    │   └── FolderUnusable         500   exit 78   a synced folder is missing or looks unmounted
    │       └── FolderEmptied      500   exit 78   the folder has no files, perhaps on purpose
    ├── Unavailable                503   exit 69   a component does not respond. Retry
    │   ├── DatabaseUnavailable    503   exit 69
    │   │   ├── DatabasePanicked   503   exit 69   Neo4j runs, but answers only after a restart
    │   │   ├── TookTooLong        503   exit 69   a read or its request exceeded the time limit
    │   │   ├── StorageFull        507   exit 69   the disk is full. Reads work, writes fail
    │   │   └── SchemaChanging     503   exit 69   two processes start at once on an empty database
    │   ├── ModelUnavailable       503   exit 69   with the delay that the provider requests
    │   │   ├── EmbeddingUnavailable  503   exit 69
    │   │   ├── LlmUnavailable     503   exit 69
    │   │   └── RerankUnavailable  503   exit 69
    │   ├── FileStoreFull          507   exit 69   the file store is full, not the database
    │   ├── TooBusy                429   exit 69   the job queue is full
    │   ├── RateExceeded           429   exit 69   a key exceeds its rate limit
    │   └── ServiceUnreachable     503   exit 69   the client cannot reach kg
    ├── EmbeddingFailed            502   exit 1    the model returned no usable vectors
    ├── LlmFailed                  502   exit 1    the language model returned no usable answer
    ├── LeaseLost                  409   exit 1    another worker owns the job
    ├── TooMuchAtOnce              500   exit 1    too much work for one Neo4j transaction
    └── ManagedProcessError        500   exit 70   a local process does not start or stop

The docstring of a class is its default message. `kg_api.web.shared.problems` and `kg_cli.main` report errors.
"""

from __future__ import annotations

import inspect
from typing import ClassVar


class KgError(Exception):
    """Internal error in kg. See the log of the service."""

    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.getdoc(type(self)) or type(self).__name__)

    @classmethod
    def slug(cls) -> str:
        """Return the name of the error in problem+json: `InvalidInput` becomes `invalid-input`."""
        return "".join(f"-{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("-")


class TooMuchAtOnce(KgError):
    """The request is too large for one Neo4j transaction. Split the request."""


class InvalidInput(KgError):
    """The request is invalid. Correct the request and send it again."""

    status = 422
    exit_code = 2


class UnreadableDocument(InvalidInput):
    """The file cannot be read as text."""


class TooLarge(InvalidInput):
    """The request is larger than this service accepts. Split the request."""

    status = 413


class Unauthorized(KgError):
    """This service needs an API key. Send a key."""

    status = 401
    exit_code = 77


class Forbidden(KgError):
    """This API key lacks the required scope. Ask an administrator for a new key."""

    status = 403
    exit_code = 77


class NotFound(KgError):
    """The requested object was not found."""

    status = 404
    exit_code = 4


class FileLost(NotFound):
    """A stored file is missing or damaged. Ingest its document again."""


class Conflict(KgError):
    """The request conflicts with the current state."""

    status = 409
    exit_code = 5


class FilesCollected(Conflict):
    """A file of the document was deleted during ingestion. Send the document again, or scan its folder."""


class ConfigurationError(KgError):
    """The settings are invalid. Correct them and restart kg."""

    exit_code = 78


class SchemaTooNew(ConfigurationError):
    """A newer kg wrote the database. Install that version or a later one."""


class ProviderMissing(ConfigurationError):
    """This process lacks the settings of a provider. Set them and restart kg."""


class SchemaTooOld(ConfigurationError):
    """An earlier version of kg wrote the database. Use an empty KG_HOME, and ingest the documents again."""


class BudgetSpent(ConfigurationError):
    """The budget for the language model is used up. Raise the budget to resume."""


class OtherModel(ConfigurationError):
    """Another model responds than the model of the stored vectors. Restore the former model."""


class FolderUnusable(ConfigurationError):
    """The folder cannot be scanned. Nothing was deleted."""


class FolderEmptied(FolderUnusable):
    """The folder is empty. Nothing was deleted. If this is on purpose, scan with --allow-empty."""


class Unavailable(KgError):
    """A part of the service does not respond. Try again."""

    status = 503
    exit_code = 69


class DatabaseUnavailable(Unavailable):
    """Neo4j does not respond. `kg doctor` shows the cause."""


class DatabasePanicked(DatabaseUnavailable):
    """Neo4j reported a critical error and needs a restart."""


class TookTooLong(DatabaseUnavailable):
    """A part of the request exceeded the time limit. Try again, or request less at once."""


class StorageFull(DatabaseUnavailable):
    """The disk of the database is full, so kg cannot write. Free some space."""

    status = 507


class SchemaChanging(DatabaseUnavailable):
    """Another process of kg is creating the schema. This process continues automatically."""


class ModelUnavailable(Unavailable):
    """The model does not respond."""

    def __init__(self, message: str | None = None, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
        """Seconds to wait, if the provider requested a delay."""


class EmbeddingUnavailable(ModelUnavailable):
    """The embedding model does not respond."""


class LlmUnavailable(ModelUnavailable):
    """The language model does not respond."""


class RerankUnavailable(ModelUnavailable):
    """The reranker does not respond in time."""


class FileStoreFull(Unavailable):
    """The file store is full, so kg cannot store images or PDFs. Free some space."""

    status = 507


class TooBusy(Unavailable):
    """The job queue is full. Try again in a few seconds."""

    status = 429
    retry_after_seconds: ClassVar[int] = 5


class RateExceeded(Unavailable):
    """The API key exceeds its rate limit. Try again in a minute."""

    status = 429

    def __init__(self, message: str | None = None, *, retry_after_seconds: int = 60) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class ServiceUnreachable(Unavailable):
    """kg does not respond. Start kg with `kg up`, or set KG_API_URL."""


class EmbeddingFailed(KgError):
    """The embedding model returned no usable vectors."""

    status = 502


class LlmFailed(KgError):
    """The language model returned no usable answer."""

    status = 502


class LeaseLost(KgError):
    """Another worker owns this job now."""

    status = 409


class ManagedProcessError(KgError):
    """A local process did not start or stop. Its log shows the cause."""

    exit_code = 70

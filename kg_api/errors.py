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
    """Something went wrong inside kg; the service's log has the details."""

    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or inspect.getdoc(type(self)) or type(self).__name__)

    @classmethod
    def slug(cls) -> str:
        """Return the name of the error in problem+json: `InvalidInput` becomes `invalid-input`."""
        return "".join(f"-{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("-")


class TooMuchAtOnce(KgError):
    """It takes more memory or time than one transaction of Neo4j has; do it in parts."""


class InvalidInput(KgError):
    """The request cannot be understood; correct it and send it again."""

    status = 422
    exit_code = 2


class UnreadableDocument(InvalidInput):
    """The file cannot be read as text."""


class TooLarge(InvalidInput):
    """The request is larger than this service accepts."""

    status = 413


class Unauthorized(KgError):
    """The service wants to know who asks; send a key."""

    status = 401
    exit_code = 77


class Forbidden(KgError):
    """The key is not good for this; ask an administrator for another."""

    status = 403
    exit_code = 77


class NotFound(KgError):
    """There is nothing by that name."""

    status = 404
    exit_code = 4


class FileLost(NotFound):
    """A stored file is missing or damaged; ingest its document again."""


class Conflict(KgError):
    """The request does not fit the present state."""

    status = 409
    exit_code = 5


class FilesCollected(Conflict):
    """A file of it was deleted meanwhile; send it again, or scan the folder that it comes from."""


class ConfigurationError(KgError):
    """The settings do not fit; correct them and start again."""

    exit_code = 78


class SchemaTooNew(ConfigurationError):
    """The database was written by a newer kg; install that version or a later one."""


class ProviderMissing(ConfigurationError):
    """This process lacks the settings of a provider; set them and start again."""


class SchemaTooOld(ConfigurationError):
    """A development version from before the first schema wrote the database; export it there."""


class BudgetSpent(ConfigurationError):
    """The money for the language model is used up; raise the budget to go on."""


class OtherModel(ConfigurationError):
    """Another model answers than the one whose vectors are stored; let that one answer again."""


class FolderUnusable(ConfigurationError):
    """The folder cannot be scanned as it is; nothing was removed."""


class FolderEmptied(FolderUnusable):
    """The folder holds no file any more, and nothing was removed; say that it was cleared on purpose."""


class Unavailable(KgError):
    """A part of the service does not answer at the moment; try again."""

    status = 503
    exit_code = 69


class DatabaseUnavailable(Unavailable):
    """Neo4j does not answer; `kg doctor` says why."""


class DatabasePanicked(DatabaseUnavailable):
    """Neo4j has met an error after which it answers nothing until it is started again."""


class TookTooLong(DatabaseUnavailable):
    """The time for a part of the request is over: try again, or ask for less at once."""


class StorageFull(DatabaseUnavailable):
    """The disk of the database is full: nothing can be written until there is room."""

    status = 507


class SchemaChanging(DatabaseUnavailable):
    """The schema is being made by another process of kg; this one goes on by itself when it is there."""


class ModelUnavailable(Unavailable):
    """The model does not answer."""

    def __init__(self, message: str | None = None, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
        """Seconds to wait, if the provider requested a delay."""


class EmbeddingUnavailable(ModelUnavailable):
    """The embedding model does not answer."""


class LlmUnavailable(ModelUnavailable):
    """The language model does not answer."""


class RerankUnavailable(ModelUnavailable):
    """The reranker does not answer, or not in time."""


class FileStoreFull(Unavailable):
    """The store of files is full: no picture and no PDF can be kept until there is room."""

    status = 507


class TooBusy(Unavailable):
    """So many jobs are waiting that kg takes no new ones for now; try again in a few seconds."""

    status = 429
    retry_after_seconds: ClassVar[int] = 5


class RateExceeded(Unavailable):
    """Too many requests were sent with one key; try again in a minute."""

    status = 429

    def __init__(self, message: str | None = None, *, retry_after_seconds: int = 60) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class ServiceUnreachable(Unavailable):
    """kg does not answer; start it with `kg up`, or set KG_API_URL."""


class EmbeddingFailed(KgError):
    """The embedding model answered, but not with usable vectors."""

    status = 502


class LlmFailed(KgError):
    """The language model answered, but not what it was asked for."""

    status = 502


class LeaseLost(KgError):
    """Another worker owns this job now."""

    status = 409


class ManagedProcessError(KgError):
    """A local process did not start or stop; its log says why."""

    exit_code = 70

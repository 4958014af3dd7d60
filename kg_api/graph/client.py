"""Access to Neo4j: named statements in sessions and transactions, with retries and translated errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, LiteralString, Self, TypeVar, get_args

import neo4j
import structlog
from neo4j.exceptions import AuthError, DriverError, IncompleteCommit, Neo4jError, ResultFailedError
from neo4j.exceptions import ConfigurationError as DriverConfigurationError
from pydantic import BaseModel
from tenacity import (
    retry,
    retry_if_exception,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    stop_all,
    wait_exponential_jitter,
    wait_random,
)

from kg_api.errors import (
    ConfigurationError,
    DatabasePanicked,
    DatabaseUnavailable,
    KgError,
    SchemaChanging,
    StorageFull,
    TookTooLong,
    TooMuchAtOnce,
    Unavailable,
)
from kg_api.graph.statements import build_statement, combine_reads
from kg_api.metrics import get_meters
from kg_api.schemas.spaces import FIRST_SLUG

log = structlog.get_logger()

Row = dict[str, Any]
T = TypeVar("T")

MAX_ROWS_PER_STATEMENT = 2000  # rows per statement, the default of `split_into_portions`
CONNECT_SECONDS = 5.0
CONNECTION_SECONDS = 5.0
"""Maximum age of a connection. A firewall can drop an idle connection silently. The driver notices that after
16 s only, and its own check of idle connections takes as long. A new connection costs a few milliseconds."""
SEARCH_SECONDS = 15.0
"""Time limit of one statement of a search. A search reports a database that is warming up."""
MIN_SECONDS = 0.01
"""Smallest time limit: the driver takes 0 for no limit."""
RETRY_SECONDS = 5.0
"""Time limit of retries. After it, a request answers 503, and a worker waits."""
SCHEMA_SECONDS = 120
"""Time limit of waiting for another process that creates the schema."""

# Codes and messages of Neo4j 2026.08.1
_SCHEMA_RACE = "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"  # in spite of IF NOT EXISTS
_NO_SUCH_INDEX = "22N69"
_TIMED_OUT = "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"
_TOO_MUCH = {
    "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
    "Neo.ClientError.Transaction.TransactionTimedOut",
}
_ENTITY_NOT_FOUND = "Neo.ClientError.Statement.EntityNotFound"
_LOCKED_OUT = "Neo.ClientError.Security.AuthenticationRateLimit"
_NO_ROOM = "no space left on device"
_PANIC = ("needs to be restarted", "database has panicked")  # Bolt still answers, statements do not
# A full disk causes TransactionLogError at the first commit, then TransactionStartFailed
_SERVER_FAULTS = ("Neo.DatabaseError.Transaction.", "Neo.DatabaseError.Database.")

_until = ContextVar[float | None]("_until", default=None)
"""Deadline of all reads of this request, on the monotonic clock."""


class ConcurrentChange(KgError):
    """Another transaction changed data on which this transaction depends. kg repeats the transaction."""


@contextmanager
def limit_time(until: float) -> Generator[None]:
    """Raise TookTooLong for reads of this thread after a monotonic deadline. Inner limits never extend it."""
    outer = _until.get()
    token = _until.set(until if outer is None else min(outer, until))
    try:
        yield
    finally:
        _until.reset(token)


def _get_seconds_left(usual: float | None) -> float | None:
    until = _until.get()
    if until is None:
        return usual
    left = until - time.monotonic()
    if left <= 0:
        raise TookTooLong
    return max(MIN_SECONDS, left if usual is None else min(left, usual))


def _unmask(error: BaseException) -> BaseException:
    """Return the error that failed a result in the middle, such as a deadlock.

    The driver (6.4.1) reads the result again for the rollback. It raises ResultFailedError in place of the
    error, and does not repeat the transaction.
    """
    return error.__cause__ or error if isinstance(error, ResultFailedError) else error


def _is_worth_repeating(error: BaseException) -> bool:
    """Check if the response to a commit was lost, or other transactions interfered."""
    if (failed := _unmask(error)) is not error:
        return _is_read_retryable(failed)
    changed = isinstance(error, Neo4jError) and error.code == _ENTITY_NOT_FOUND
    return changed or isinstance(error, IncompleteCommit | ConcurrentChange)


def _is_read_retryable(error: BaseException) -> bool:
    passes = isinstance(error, DriverError | Neo4jError) and error.is_retryable()
    return passes or _is_worth_repeating(error)


def _log_read(error: BaseException | None) -> None:
    get_meters().count("neo4j_retries", "read")
    log.warning("a read is tried again", reason=type(error).__name__)


while_schema_changes = retry(
    retry=retry_if_exception_type(SchemaChanging),
    wait=wait_random(0.1, 1.0),
    stop=stop_after_delay(SCHEMA_SECONDS),
    reraise=True,
)
"""Decorator for functions that create constraints or indexes, which two starting processes may do at once."""

_retry_read = retry(
    retry=retry_if_exception(_is_read_retryable),
    wait=wait_exponential_jitter(initial=1, max=4, jitter=0.2),  # as the driver does for transactions
    stop=stop_all(stop_after_attempt(1), stop_after_delay(RETRY_SECONDS)),  # at least this retry
    before_sleep=lambda state: _log_read(state.outcome.exception() if state.outcome else None),
    reraise=True,
)
_retry_transaction = retry(
    retry=retry_if_exception(_is_worth_repeating),
    wait=wait_random(0, 0.2),
    stop=stop_after_attempt(5),
    before_sleep=lambda _: get_meters().count("neo4j_retries", "write"),
    reraise=True,
)


@dataclass(frozen=True, slots=True)
class Lookup:
    """A reading statement that returns one row with one column, `found`, and its parameters."""

    name: LiteralString
    parameters: Row
    space: str = FIRST_SLUG


class Transaction:
    """An open transaction. The caller of `Graph.transaction` commits it."""

    def __init__(self, transaction: neo4j.ManagedTransaction, most_queued: int) -> None:
        self._transaction = transaction
        self.most_queued = most_queued
        """Maximum number of queued jobs."""

    def run(self, name: LiteralString, space: str = FIRST_SLUG, /, **parameters: Any) -> list[Row]:
        return _read_rows(
            self._transaction.run(build_statement(name, space, parameters.get("label")), parameters)
        )

    def read(self, name: LiteralString, space: str = FIRST_SLUG, /, **parameters: Any) -> list[Row]:
        """Run a reading statement within this transaction."""
        return self.run(name, space, **parameters)

    search = read


class Graph:
    """A database of a Neo4j server. Long-lived and thread-safe, one per process.

    All reads and writes raise DatabaseUnavailable if Neo4j does not answer.
    """

    def __init__(
        self,
        uri: str,
        user: str,
        password: str,
        database: str = "neo4j",
        *,
        most_queued: int = 10_000,
        connection_seconds: float = CONNECTION_SECONDS,
        require_room: Callable[[], None] = lambda: None,
    ) -> None:
        """Create the driver, which connects at first use.

        Before each write, `require_room` raises StorageFull if the disk of the database is full. An invalid
        address raises ConfigurationError.
        """
        self._uri = uri
        self._database = database
        self.most_queued = most_queued
        self._require_room = require_room
        try:
            self._driver = neo4j.GraphDatabase.driver(
                uri,
                auth=(user, password),
                connection_timeout=CONNECT_SECONDS,
                connection_acquisition_timeout=CONNECT_SECONDS * 2,
                max_connection_lifetime=connection_seconds,
                max_transaction_retry_time=RETRY_SECONDS,
                notifications_min_severity=neo4j.NotificationMinimumSeverity.OFF,
            )
        except (DriverConfigurationError, ValueError) as error:
            raise ConfigurationError(f"KG_NEO4J__URI {uri!r} cannot be used: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._driver.close()

    def read(self, name: LiteralString, space: str = FIRST_SLUG, /, **parameters: Any) -> list[Row]:
        """Run one reading statement."""
        with self._translate_errors():
            text = build_statement(name, space, parameters.get("label"))
            query = neo4j.Query(text, timeout=_get_seconds_left(None))
            return self._read(query, parameters)

    def search(self, name: LiteralString, space: str = FIRST_SLUG, /, **parameters: Any) -> list[Row]:
        """Run one reading statement of a search. Raise TookTooLong after SEARCH_SECONDS."""
        with self._translate_errors():
            query = neo4j.Query(build_statement(name, space), timeout=_get_seconds_left(SEARCH_SECONDS))
            return self._read(query, parameters)

    def look_up(self, lookups: Sequence[Lookup]) -> list[Any]:
        """Run several lookups in one round trip and return the `found` of each.

        One round trip saves a millisecond over two statements, and parallel statements are not faster (ADR
        46).
        """
        if not lookups:
            return []
        text = combine_reads(*((each.name, each.space) for each in lookups))
        numbered = {
            f"{name}_{at}": value
            for at, each in enumerate(lookups)
            for name, value in each.parameters.items()
        }
        with self._translate_errors():
            query = neo4j.Query(text, timeout=_get_seconds_left(SEARCH_SECONDS * len(lookups)))
            return self._read(query, numbered)[0]["found"]

    def write(self, name: LiteralString, space: str = FIRST_SLUG, /, **parameters: Any) -> list[Row]:
        """Run one writing statement, which must be safe to repeat."""
        return self.transaction(lambda tx: tx.run(name, space, **parameters))

    def transaction(self, work: Callable[[Transaction], T]) -> T:
        """Run work in one transaction and commit it.

        The work must be safe to repeat. It runs again after a deadlock, a lost leader, a ConcurrentChange, or
        a commit with a lost response (IncompleteCommit, which the driver does not repeat).
        """
        self._require_room()
        try:
            with self._translate_errors():
                return self._commit(work)
        except DatabaseUnavailable:
            self._require_room()  # a full disk is the better reason
            raise

    def _read(self, query: neo4j.Query, parameters: Row) -> list[Row]:
        """Run a statement, and repeat it if it may succeed then."""
        try:
            return self._read_once(query, parameters)  # without the cost of tenacity
        except (DriverError, Neo4jError) as error:
            if not _is_read_retryable(error):
                raise
            _log_read(error)
        return self._read_again(query, parameters)

    def _read_once(self, query: neo4j.Query, parameters: Row) -> list[Row]:
        """Run a statement in one round trip.

        A managed transaction needs three more messages, which take a third of the time of a search.
        """
        with self._session(neo4j.READ_ACCESS) as session:
            return _read_rows(session.run(query, parameters))

    @_retry_read
    def _read_again(self, query: neo4j.Query, parameters: Row) -> list[Row]:
        return self._read_once(query, parameters)

    @_retry_transaction
    def _commit(self, work: Callable[[Transaction], T]) -> T:
        tries = 0

        def once(transaction: neo4j.ManagedTransaction) -> T:
            nonlocal tries
            if tries:
                get_meters().count("neo4j_retries", "write")
            tries += 1
            return work(Transaction(transaction, self.most_queued))

        with self._session(neo4j.WRITE_ACCESS) as session:
            return session.execute_write(once)

    @contextmanager
    def _session(self, access: str) -> Generator[neo4j.Session]:
        """Open a session for one attempt, counted and timed."""
        meter, kind = get_meters(), access.lower()
        with meter.under_way("neo4j_sessions_open"), meter.timing("neo4j_seconds", kind):
            try:
                with self._driver.session(database=self._database, default_access_mode=access) as session:
                    yield session
            except (DriverError, Neo4jError) as error:
                meter.count("neo4j_failures", kind, type(error).__name__)
                raise

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Raise errors of the driver as errors of kg, except bugs such as a wrong statement."""
        try:
            yield
        except (DriverError, Neo4jError) as error:
            failed = _unmask(error)
            known = isinstance(failed, DriverError | Neo4jError)
            if not known or (translated := _translate(failed, self._uri)) is None:
                raise failed from failed.__cause__
            raise translated from error


Reader = Graph | Transaction  # a reader: the database, or an open transaction


def split_into_portions(items: Sequence[T], size: int = MAX_ROWS_PER_STATEMENT) -> Iterator[Sequence[T]]:
    """Yield items in parts of at most `size`, in their order."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


@cache
def _list_required_fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields of a model that cannot be null."""
    fields = model.model_fields.items()
    return tuple(name for name, field in fields if type(None) not in get_args(field.annotation))


def drop_deleted_rows(rows: Iterable[Row], always: Sequence[str] | type[BaseModel]) -> list[Row]:
    """Return the rows except those of nodes that were deleted during the read.

    Neo4j reads committed properties one by one, so the row of such a node contains nulls (three times in four
    minutes of `benchmarks/soak`). `always` names the columns that a complete row has, or the model of a row.
    """
    columns = _list_required_fields(always) if isinstance(always, type) else always
    return [row for row in rows if all(row.get(each, True) is not None for each in columns)]


def _read_rows(result: neo4j.Result) -> list[Row]:
    """Return all rows. Statements return values, lists and maps but no nodes, so nothing needs conversion."""
    keys = result.keys()
    return [dict(zip(keys, values, strict=True)) for values in result.values()]


def _translate(error: DriverError | Neo4jError, uri: str) -> KgError | None:  # noqa: PLR0911 - one per fault
    if isinstance(error, AuthError):
        return ConfigurationError(
            f"Neo4j at {uri} rejects the user or password. Check KG_NEO4J__USER and KG_NEO4J__PASSWORD"
        )
    if isinstance(error, DriverConfigurationError):
        return ConfigurationError(f"KG_NEO4J__URI {uri!r} cannot be used: {error}")
    if isinstance(error, Neo4jError):
        if error.code == _SCHEMA_RACE:
            return SchemaChanging()
        if error.gql_status == _NO_SUCH_INDEX:
            return Unavailable("a search index was dropped or rebuilt during this request. Try again")
        if error.code == _TIMED_OUT:
            return _describe_slow(uri)
        if error.code in _TOO_MUCH:
            return TooMuchAtOnce(
                f"the request is too large for one Neo4j transaction ({error.code}). Split the request"
            )
        if fault := classify_fault(error, uri):
            return fault
    if isinstance(error, DriverError) or error.is_retryable():
        return DatabaseUnavailable(
            f"Neo4j at {uri} does not respond ({type(error).__name__}). `kg doctor` shows the cause"
        )
    return None


def classify_fault(error: Neo4jError, uri: str) -> DatabaseUnavailable | None:
    """Return the error for a fault of the server, or None if the statement or its parameters are wrong."""
    messages: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        messages.append(str(cause))
        cause = cause.__cause__
    message = " ".join(messages).lower()
    if any(words in message for words in _PANIC):
        return DatabasePanicked(
            f"Neo4j at {uri} reported a critical error and needs a restart. The supervisor of `kg up` "
            "restarts Neo4j automatically"
        )
    if _NO_ROOM in message:
        return StorageFull(f"the disk of Neo4j at {uri} is full: free some space, and try again")
    if error.code == _LOCKED_OUT:
        return DatabaseUnavailable(
            f"Neo4j at {uri} rejects all logins for a few seconds after too many wrong passwords. "
            "Check KG_NEO4J__PASSWORD and try again"
        )
    if (error.code or "").startswith(_SERVER_FAULTS):
        return DatabaseUnavailable(f"Neo4j at {uri} reports {error.code}. `kg doctor` shows the cause")
    return None


def _describe_slow(uri: str) -> TookTooLong:
    until = _until.get()
    if until is not None and time.monotonic() >= until:
        return TookTooLong()
    return TookTooLong(
        f"Neo4j at {uri} took more than {SEARCH_SECONDS:.0f} s for a part of a search. If Neo4j has "
        "just started, try again in a minute. Otherwise request less at once. `kg doctor` shows more"
    )

"""Faults of the server itself: they pass, by themselves or by a restart, and no statement is to blame."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, LiteralString, Self, TypeVar

import neo4j
import structlog
from neo4j.exceptions import AuthError, DriverError, IncompleteCommit, Neo4jError
from neo4j.exceptions import ConfigurationError as DriverConfigurationError
from pydantic import ValidationError
from tenacity import (
    RetryCallState,
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
from kg_api.graph.statements import statement, together
from kg_api.metrics import meters
from kg_api.schemas.spaces import FIRST_SLUG

_NO_ROOM = "no space left on device"
_PANIC = ("needs to be restarted", "database has panicked")
"""What a server says that keeps answering Bolt, but no query (GQL status 50N00, seen on 2026.08.1)."""
_OF_THE_SERVER = ("Neo.DatabaseError.Transaction.", "Neo.DatabaseError.Database.")
"""Seen with a full disk: TransactionLogError at the commit that meets it, then TransactionStartFailed."""
_LOCKED_OUT = "Neo.ClientError.Security.AuthenticationRateLimit"
"""After wrong passwords, whoever sent them; it passes within seconds."""


def fault_of(error: Neo4jError, uri: str) -> DatabaseUnavailable | None:
    """Give our error for a fault of the server; None when it is about the statement or its parameters."""
    # All that the server says, with the causes that it names, in lower case
    parts: list[str] = []
    cause: BaseException | None = error
    while cause is not None:
        parts.append(str(cause))
        cause = cause.__cause__
    told = " ".join(parts).lower()
    if any(words in told for words in _PANIC):
        return DatabasePanicked(
            f"Neo4j at {uri} has met a critical error and must be started again; "
            "the supervisor of `kg up` does that by itself"
        )
    if _NO_ROOM in told:
        return StorageFull(f"the disk of Neo4j at {uri} is full: free some space, and try again")
    if error.code == _LOCKED_OUT:
        return DatabaseUnavailable(
            f"Neo4j at {uri} refuses all logins for a few seconds after too many wrong passwords"
        )
    if (error.code or "").startswith(_OF_THE_SERVER):
        return DatabaseUnavailable(f"Neo4j at {uri} cannot do its work ({error.code}); `kg doctor` says why")
    return None


# Sessions with Neo4j that are counted and timed.

MeteredT = TypeVar("MeteredT")


@contextmanager
def metered_session(driver: neo4j.Driver, database: str, access: str) -> Generator[neo4j.Session]:
    """Open a session for one try of what is read or written."""
    meter, kind = meters().database, access.lower()
    with meter.timing(kind):
        try:
            with driver.session(database=database, default_access_mode=access) as session:
                yield session
        except (DriverError, Neo4jError) as error:
            meter.fail(kind, type(error).__name__)
            raise


def counting_tries(
    work: Callable[[neo4j.ManagedTransaction], MeteredT],
) -> Callable[[neo4j.ManagedTransaction], MeteredT]:
    """The same work; what the driver does again of itself is counted."""
    tries = 0

    def once(transaction: neo4j.ManagedTransaction) -> MeteredT:
        nonlocal tries
        if tries:
            meters().database.retry("write")
        tries += 1
        return work(transaction)

    return once


def count_repetition(_: RetryCallState) -> None:
    """Count a transaction that kg does again."""
    meters().database.retry("write")


# What is tried again, and how: statements that lost a race, and what passes by itself.

log = structlog.get_logger()

RETRY_SECONDS = 5.0
"""How long a read or a transaction is tried again; a request then gets 503, a worker waits and goes on."""
SCHEMA_SECONDS = 120
"""When two processes start on an empty database, one makes its schema; the other waits so long for it."""

while_schema_changes = retry(
    retry=retry_if_exception_type(SchemaChanging),
    wait=wait_random(0.1, 1.0),
    stop=stop_after_delay(SCHEMA_SECONDS),
    reraise=True,
)
"""Decorates what makes constraints and indexes: done again when another process was at it."""

_DELETED_MEANWHILE = "Neo.ClientError.Statement.EntityNotFound"


class DeletedMeanwhile(KgError):
    """What a transaction was about to change was deleted while its lock was waited for; it is done again."""


class SaidMeanwhile(KgError):
    """Another document came to say what one says that is not wanted twice; the transaction is done again."""


class LanguageMeanwhile(KgError):
    """Another language was chosen for an ontology whose sources were written; that is done again."""


_MEANWHILE = (IncompleteCommit, DeletedMeanwhile, SaidMeanwhile, LanguageMeanwhile)


def _worth_repeating(error: BaseException) -> bool:
    """The answer to a commit was lost, or a node was deleted while its lock was waited for."""
    return isinstance(error, _MEANWHILE) or (
        isinstance(error, Neo4jError) and error.code == _DELETED_MEANWHILE
    )


def _worth_reading_again(error: BaseException) -> bool:
    """What the driver itself would repeat in a managed transaction, and what we would."""
    passes = isinstance(error, DriverError | Neo4jError) and error.is_retryable()
    return passes or _worth_repeating(error)


def log_retry(attempt: int, error: BaseException | None) -> None:
    """Tell that something is read again, and count it."""
    meters().database.retry("read")
    log.warning("a read is tried again", attempt=attempt, reason=type(error).__name__)


def _log_retry(state: RetryCallState) -> None:
    log_retry(state.attempt_number, state.outcome.exception() if state.outcome else None)


read_again = retry(
    retry=retry_if_exception(_worth_reading_again),
    wait=wait_exponential_jitter(initial=1, max=4, jitter=0.2),  # as the driver does for its transactions
    stop=stop_all(
        stop_after_attempt(2), stop_after_delay(RETRY_SECONDS)
    ),  # once more though the first was long
    before_sleep=_log_retry,
    reraise=True,
)

repeated = retry(
    retry=retry_if_exception(_worth_repeating),
    wait=wait_random(0, 0.2),
    stop=stop_after_attempt(5),
    before_sleep=count_repetition,
    reraise=True,
)

OF_NULLS = (ValidationError, TypeError, AttributeError)
"""What comes of null where there is always a value.

Neo4j reads what is committed, property by property: of a node that another transaction deletes at that
moment a row has null, and whoever takes the row apart fails (three times in four minutes of
`benchmarks/soak`). A bug gives these too, and gives them again.
"""
READ_AGAIN_TIMES = 4
"""With 2, two of 1,219 rounds of reading failed where a document was deleted and stored each second."""

read_whole = retry(
    retry=retry_if_exception_type(OF_NULLS),
    stop=stop_after_attempt(1 + READ_AGAIN_TIMES),
    before_sleep=_log_retry,
    reraise=True,
)
"""Decorates what reads and changes nothing: done again where what it read was deleted in the middle."""


def without_deleted(rows: Iterable[dict[str, Any]], always: Sequence[str]) -> list[dict[str, Any]]:
    """Rows without those of what is deleted at this moment.

    Args:
        rows: of a list, which needs none of them.
        always: columns that a whole row has a value in.
    """
    return [row for row in rows if all(row[each] is not None for each in always)]


# The one seam to Neo4j: named statements in managed transactions.

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Lookup:
    """A reading statement that gives one row, `found`, and what it is asked with."""

    name: LiteralString
    parameters: Row
    space: str = FIRST_SLUG


T = TypeVar("T")
ROWS_A_STATEMENT = 2000
"""Where nothing else is said."""

CONNECT_SECONDS = 5.0
CONNECTION_SECONDS = 5.0
"""A firewall can drop an idle connection without a sign. To use it costs the 16 s after which the driver
gives up, and the driver's own check of idle connections waits as long. A new one costs a few milliseconds."""
SEARCH_SECONDS = 15.0
"""How long one statement of a search may take: a database that is warming up is told of, not waited for."""
_OF_SEARCHES = (
    *("search/", "similar/by_ids", "chunks/texts", "constructive/", "relations/search_", "relations/read"),
    *("concepts/search_", "indexes/states", "ontologies/configuration", "ontologies/synonyms", "spaces/all"),
    *("relations/any_of", "relations/resolve_types", "relations/type_names", "relations/speaking_of"),
    *("relations/stances", "proposals/page", "proposals/count"),
)
MIN_SECONDS = 0.01
"""The driver takes 0 for no limit."""
_until = ContextVar[float | None]("_until", default=None)
"""When reads of this request are to end, by the monotonic clock."""


@contextmanager
def limit_time(until: float) -> Generator[None]:
    """Let no read of this thread last beyond a moment of the monotonic clock: it raises TookTooLong.

    A limit within another one does not go beyond it.
    """
    outer = _until.get()
    token = _until.set(until if outer is None else min(outer, until))
    try:
        yield
    finally:
        _until.reset(token)


def _seconds_left(usual: float | None) -> float | None:
    until = _until.get()
    if until is None:
        return usual
    left = until - time.monotonic()
    if left <= 0:
        raise TookTooLong
    return max(MIN_SECONDS, left if usual is None else min(left, usual))


_SCHEMA_RACE = "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"
"""What IF NOT EXISTS gives all the same when two processes make one index at once (seen on 2026.08.1)."""
_NO_SUCH_INDEX = "22N69"
_OUR_TIME_IS_UP = "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration"
_TOO_MUCH = frozenset(
    {
        "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
        "Neo.ClientError.Transaction.TransactionTimedOut",
    }
)


class Transaction:
    """An open transaction; whoever gave it commits it."""

    def __init__(self, transaction: neo4j.ManagedTransaction, most_queued: int) -> None:
        self._transaction = transaction
        self.most_queued = most_queued
        """So many jobs may wait."""

    def run(self, name: LiteralString, space: str = FIRST_SLUG, /, **parameters: Any) -> list[Row]:
        """Run the statement of that name, in the form for one space, and give all its rows."""
        return _rows(self._transaction.run(statement(name, space), parameters))

    def read(self, name: LiteralString, space: str = FIRST_SLUG, /, **parameters: Any) -> list[Row]:
        """Run a reading statement as `Graph.read` does, but within this transaction and its time."""
        return self.run(name, space, **parameters)


class Graph:
    """A database of a Neo4j server. Long-lived, thread-safe; one a process."""

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
        """Connects when first used.

        Args:
            uri: where it is.
            user: who asks.
            password: of the user.
            database: which of the server's.
            most_queued: so many jobs may wait, when somebody asks for another.
            connection_seconds: age at which a connection is replaced.
            require_room: called before each write; raises StorageFull when the database's disk is full.

        Raises:
            ConfigurationError: the address cannot be one.
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
        """Run one reading statement.

        Raises:
            DatabaseUnavailable: Neo4j does not answer.
        """
        seconds = SEARCH_SECONDS if name.startswith(_OF_SEARCHES) else None
        with _translate_errors(self._uri):
            return self._read(neo4j.Query(statement(name, space), timeout=_seconds_left(seconds)), parameters)

    def look_up(self, lookups: Sequence[Lookup]) -> list[list[Row]]:
        """Do several lookups in one round trip, one after the other; give what each found.

        Two of a search as two statements take a millisecond more of Neo4j and driver, and side by side they
        are no faster than this in one (ADR 46).

        Raises:
            DatabaseUnavailable: Neo4j does not answer.
        """
        if not lookups:
            return []
        text = together(*((each.name, each.space) for each in lookups))
        numbered = {
            f"{name}_{at}": value
            for at, each in enumerate(lookups)
            for name, value in each.parameters.items()
        }
        with _translate_errors(self._uri):
            seconds = _seconds_left(SEARCH_SECONDS * len(lookups))
            return self._read(neo4j.Query(text, timeout=seconds), numbered)[0]["found"]

    def write(self, name: LiteralString, space: str = FIRST_SLUG, /, **parameters: Any) -> list[Row]:
        """Run one writing statement; it must be safe to repeat.

        Raises:
            DatabaseUnavailable: Neo4j does not answer.
        """
        return self.transaction(lambda tx: tx.run(name, space, **parameters))

    def transaction(self, work: Callable[[Transaction], T]) -> T:
        """Run work in one transaction and commit it.

        Work may run several times: after a deadlock, a lost leader, or a commit whose answer was lost
        (IncompleteCommit, which the driver does not repeat). So it must be safe to repeat.

        Raises:
            DatabaseUnavailable: Neo4j does not answer.
            StorageFull: there is no room on its disk.
        """
        self._require_room()
        try:
            with _translate_errors(self._uri):
                return self._commit(work)
        except DatabaseUnavailable:
            self._require_room()  # the better reason, where the disk has just become full
            raise

    @read_again
    def _read(self, query: neo4j.Query, parameters: Row) -> list[Row]:
        """One round trip: a managed transaction takes three messages more, and a third of a search's time."""
        with self._session(neo4j.READ_ACCESS) as session:
            return _rows(session.run(query, parameters))

    def _session(self, access: str) -> AbstractContextManager[neo4j.Session]:
        return metered_session(self._driver, self._database, access)

    @repeated
    def _commit(self, work: Callable[[Transaction], T]) -> T:
        with self._session(neo4j.WRITE_ACCESS) as session:
            once = counting_tries(lambda tx: work(Transaction(tx, self.most_queued)))
            return session.execute_write(once)


def _rows(result: neo4j.Result) -> list[Row]:
    """All rows; statements give values, lists and maps, no nodes: so nothing is left to be converted."""
    keys = result.keys()
    return [dict(zip(keys, values, strict=True)) for values in result.values()]


Reader = Graph | Transaction
"""What reading functions take: alone, or within a transaction."""


def portions(items: Sequence[T], size: int = ROWS_A_STATEMENT) -> Iterator[Sequence[T]]:
    """Items in parts, in their order."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


@contextmanager
def _translate_errors(uri: str) -> Generator[None]:
    """Turn the driver's errors into ours; what a person cannot mend (a wrong statement) stays as it is."""
    try:
        yield
    except AuthError as error:
        raise ConfigurationError(
            f"Neo4j at {uri} refuses the user or password; check KG_NEO4J__USER and KG_NEO4J__PASSWORD"
        ) from error
    except DriverConfigurationError as error:
        raise ConfigurationError(f"KG_NEO4J__URI {uri!r} cannot be used: {error}") from error
    except (DriverError, Neo4jError) as error:
        code = error.code if isinstance(error, Neo4jError) else None
        if code == _SCHEMA_RACE:
            raise SchemaChanging from error
        if isinstance(error, Neo4jError) and error.gql_status == _NO_SUCH_INDEX:
            raise Unavailable("a search index has just been dropped or made anew: try again") from error
        if code == _OUR_TIME_IS_UP:
            raise _describe_slow(uri) from error
        if code in _TOO_MUCH:
            raise TooMuchAtOnce(
                f"that was too much for one transaction of Neo4j ({code}): do it in parts"
            ) from error
        if isinstance(error, Neo4jError) and (fault := fault_of(error, uri)):
            raise fault from error
        if isinstance(error, DriverError) or error.is_retryable():
            raise DatabaseUnavailable(
                f"Neo4j at {uri} does not answer ({type(error).__name__}); `kg doctor` says why"
            ) from error
        raise


def _describe_slow(uri: str) -> TookTooLong:
    until = _until.get()
    if until is not None and time.monotonic() >= until:
        return TookTooLong()
    return TookTooLong(
        f"Neo4j at {uri} took more than {SEARCH_SECONDS:.0f} s for a part of a search; after a start it is "
        "still warming up: try again in a minute; else ask for less at once; `kg doctor` says more"
    )

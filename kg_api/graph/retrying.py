"""What is tried again, and how: statements that lost a race, and what passes by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import structlog
from neo4j.exceptions import DriverError, IncompleteCommit, Neo4jError
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

from kg_api.errors import KgError, SchemaChanging
from kg_api.graph.metered import count_repetition
from kg_api.metrics.meters import meters

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

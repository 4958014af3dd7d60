"""Sessions with Neo4j that are counted and timed."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

import neo4j
from neo4j.exceptions import DriverError, Neo4jError
from tenacity import RetryCallState

from kg_api.metrics.meters import meters

T = TypeVar("T")


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


def counting_tries(work: Callable[[neo4j.ManagedTransaction], T]) -> Callable[[neo4j.ManagedTransaction], T]:
    """The same work; what the driver does again of itself is counted."""
    tries = 0

    def once(transaction: neo4j.ManagedTransaction) -> T:
        nonlocal tries
        if tries:
            meters().database.retry("write")
        tries += 1
        return work(transaction)

    return once


def count_repetition(_: RetryCallState) -> None:
    """Count a transaction that kg does again."""
    meters().database.retry("write")

"""Faults of the server are told apart from wrong statements, by the codes that a real one has given."""

from __future__ import annotations

import pytest
from neo4j.exceptions import Neo4jError

from kg_api.errors import DatabasePanicked, DatabaseUnavailable, StorageFull
from kg_api.graph.client import fault_of

NEEDS_RESTART = "The database has encountered a critical error, and needs to be restarted. Please see logs."


def told(code: str, message: str) -> Neo4jError:
    """What the driver makes of a server's failure."""
    return Neo4jError._hydrate_neo4j(code=code, message=message)


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        ("Neo.DatabaseError.Transaction.TransactionStartFailed", NEEDS_RESTART, DatabasePanicked),
        ("Neo.DatabaseError.Transaction.TransactionLogError", "Could not append", DatabaseUnavailable),
        ("Neo.DatabaseError.General.UnknownError", "No space left on device", StorageFull),
        ("Neo.ClientError.Security.AuthenticationRateLimit", "too many times", DatabaseUnavailable),
    ],
)
def test_faults_of_the_server_are_ours_to_wait_for(
    code: str, message: str, expected: type[DatabaseUnavailable]
) -> None:
    assert type(fault_of(told(code, message), "bolt://x")) is expected


@pytest.mark.parametrize(
    "code",
    [
        "Neo.ClientError.Statement.SyntaxError",
        "Neo.DatabaseError.Statement.ExecutionFailed",
        "Neo.ClientError.Security.Forbidden",
    ],
)
def test_a_wrong_statement_is_not_waited_for(code: str) -> None:
    assert fault_of(told(code, "wrong"), "bolt://x") is None


def test_a_lock_out_is_told_with_its_reason() -> None:
    fault = fault_of(told("Neo.ClientError.Security.AuthenticationRateLimit", "too many times"), "bolt://x")
    wanted = "Neo4j at bolt://x refuses all logins for a few seconds after too many wrong passwords"
    assert str(fault) == wanted

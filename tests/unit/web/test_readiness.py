from __future__ import annotations

import pytest

from kg_api.schemas.operations import Check, Readiness
from kg_api.web.shared.health import without_names


@pytest.mark.parametrize(
    ("failing", "ready", "waiting_for"),
    [
        ([], True, None),
        (["model", "disk"], True, None),
        (["passage_embedding_secret"], False, "an index"),
        (["model", "worker"], False, "a worker"),
        (["processes"], False, "a process that keeps dying"),
    ],
)
def test_readiness_without_names(failing: list[str], ready: bool, waiting_for: str | None) -> None:
    checks = [Check(name=each, ok=False, detail="secret") for each in failing]
    whole = Readiness(ready=ready, waiting_for=None if ready else "secret", checks=checks)
    assert without_names(whole) == Readiness(ready=ready, waiting_for=waiting_for, checks=[])


def test_readiness_before_the_database_is_open_names_nothing() -> None:
    told = without_names(Readiness(ready=False, waiting_for="Neo4j at bolt://secret", checks=[]))
    assert (told.ready, told.waiting_for) == (False, "the service to open")

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kg_api.local import supervisor
from kg_api.local.processes import Home
from kg_api.local.supervisor import RoleStatus, State

READY = RoleStatus("ready", 1, 0, "")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path).create()


def test_state_round_trips(home: Home) -> None:
    said = State("1.2", "bolt://x", {"neo4j": READY, "api": RoleStatus("failed", None, 4, "no port")})
    supervisor.write(home, said)
    assert supervisor.read(home) == said
    supervisor.forget(home)
    supervisor.forget(home)
    assert supervisor.read(home) == State()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": "1"}', '{"version": "1", "neo4j_uri": "", "roles": {"a": {"pid": 1}}}']
)
def test_file_of_another_version_is_an_empty_state(home: Home, text: str) -> None:
    home.state_file.write_text(text, encoding="utf-8")
    assert supervisor.read(home) == State()


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ({}, "the supervisor to start"),
        ({"neo4j": READY}, None),
        ({"neo4j": READY, "api": RoleStatus("waiting", None, 0, "neo4j to work")}, "neo4j to work"),
        ({"api": RoleStatus("waiting", None, 0, "")}, "api to start"),
    ],
)
def test_state_names_the_pending_role(roles: dict[str, RoleStatus], expected: str | None) -> None:
    assert State(roles=roles).waiting_for() == expected


def test_state_shows_next_start_and_cause_of_death() -> None:
    once = RoleStatus("pausing", None, 1, "log", 0, time.time() + 1, "SIGKILL")
    often = RoleStatus("pausing", None, 7, "log", 6, time.time() + 60, "exit code 1")
    assert State(roles={"api": once}).waiting_for() == "api restarts in 1 s: it died once (SIGKILL)"
    told = State(roles={"api": often}).waiting_for()
    assert told == "api restarts in 60 s: it died 7 times (exit code 1)"
    assert State(roles={"api": once}).failed() is None
    assert State(roles={"api": often}).failed() == "log"


def test_state_explains_permanently_failed_roles() -> None:
    assert State(roles={"a": READY, "b": RoleStatus("failed", None, 4, "why")}).failed() == "why"
    assert State(roles={"a": READY}).failed() is None

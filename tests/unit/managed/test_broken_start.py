"""A process that is broken before it has ever worked, as a panicked Neo4j that a new supervisor adopts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kg_api.local import processes
from kg_api.local.processes import Home, ProcessId, Role
from kg_api.local.supervisor import Policy, Watch
from kg_api.settings import Settings
from kg_cli.stack import roles

PANIC = "it has panicked"
SLEEP = ("-c", "import time; time.sleep(60)")


def sleeper(folder: Path, broken: Callable[[], str | None]) -> Role:
    """A process that never works."""
    return Role(
        name="sleeper",
        argv=(sys.executable, *SLEEP),
        env=processes.inherit(),
        cwd=folder,
        log=folder / "sleeper.log",
        pid_file=folder / "sleeper.pid",
        waiting_for=lambda: "it to answer",
        broken=broken,
    )


class Clock:
    """Goes on when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def adopted(tmp_path: Path) -> Iterator[ProcessId]:
    """It runs before there is a supervisor."""
    process = processes.start(sleeper(tmp_path, lambda: None))
    yield process
    process.kill()


def attended(role: Role, seconds: float) -> Watch:
    """A supervisor's look after a role, so long after it began."""
    clock = Clock()
    watch = Watch(role, Policy(), clock)
    watch.attend(set())
    clock.now = seconds
    watch.attend(set())
    return watch


def test_one_that_is_broken_before_it_ever_worked_is_ended_and_started_again(
    tmp_path: Path, adopted: ProcessId
) -> None:
    watch = attended(sleeper(tmp_path, lambda: PANIC), Policy().check_seconds + 1)
    assert (watch.state, watch.deaths) == ("pausing", 1)
    assert PANIC in watch.message
    assert not adopted.alive()


def test_a_slow_start_is_waited_for(tmp_path: Path, adopted: ProcessId) -> None:
    watch = attended(sleeper(tmp_path, lambda: None), 3600)
    assert (watch.state, watch.message, watch.process) == ("starting", "it to answer", adopted)


def test_it_is_not_asked_at_every_look(tmp_path: Path, adopted: ProcessId) -> None:
    watch = attended(sleeper(tmp_path, lambda: PANIC), Policy().check_seconds - 1)
    assert (watch.state, watch.process) == ("starting", adopted)


@pytest.mark.parametrize(("waits", "panic"), [("the port", None), (None, PANIC)])
def test_a_neo4j_that_does_not_answer_yet_is_asked_no_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: str | None, panic: str | None
) -> None:
    asked: list[str] = []
    probe = SimpleNamespace(panic=lambda: asked.append("panic") or PANIC)
    monkeypatch.setattr(roles, "_probe", lambda *_: probe)
    monkeypatch.setattr(
        roles,
        "neo4j_role",
        lambda *_: Role(
            name="neo4j",
            argv=(),
            env={},
            cwd=tmp_path,
            log=tmp_path / "log",
            pid_file=tmp_path / "pid",
            waiting_for=lambda: waits,
        ),
    )
    neo4j = roles.stack_roles(Home(tmp_path), Settings())[0]
    assert neo4j.broken() == panic
    assert len(asked) == (0 if waits else 1)

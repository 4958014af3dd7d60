"""`kg up` and its sisters, the way a person runs them: the whole stack in a home of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from kg_api.local import processes
from kg_api.local.processes import Home, free_port
from tests.neo4j_server import KEPT_PLANS
from tests.process.managed.dummy import until
from tests.support import forked, migrated_home

SMALL = {
    "KG_NEO4J__HEAP_MB": "512",
    "KG_NEO4J__PAGECACHE_MB": "128",
    "KG_NEO4J__CONF": json.dumps(KEPT_PLANS),
    "KG_EMBEDDING__PROVIDER": "deterministic",
    "KG_API__PROCESSES": "1",
}
SECONDS = 240


@dataclass(frozen=True)
class Machine:
    """A home, and `kg` commands run on it."""

    home: Path
    env: dict[str, str]
    prefix: tuple[str, ...] = ()
    """A command that runs the others, elsewhere."""

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.prefix, sys.executable, "-m", "kg_cli.main", *arguments],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kg(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Run a command; give what it wrote to standard output and standard error."""
        ran = self._run(arguments)
        assert ran.returncode == code, f"{ran.stdout}\n{ran.stderr}"
        return ran.stdout, ran.stderr

    def _run(self, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        """Those that start and end the stack are processes of their own; the others ask it."""
        if not self.prefix and arguments[0] not in {"up", "down"}:
            return forked.run(arguments, self.env, timeout=SECONDS)
        with self.start(*arguments) as command:
            out, err = command.communicate(timeout=SECONDS)
        return subprocess.CompletedProcess(command.args, command.returncode, out, err)

    def status(self) -> dict[str, Any]:
        return json.loads(self.kg("status", "--json")[0])

    def pids(self) -> dict[str, int]:
        return {process["role"]: process["pid"] for process in self.status()["processes"]}

    def with_variables(self, **more: str) -> Machine:
        return replace(self, env=self.env | more)


def alive(pid: int) -> bool:
    return processes.identify(pid) is not None  # an init may leave zombies


def machine_in(home: Path, *, first_start: bool = False, **more: str) -> Machine:
    if not first_start and "KG_NEO4J__URI" not in more:
        migrated_home.give(home)
    ports = {"KG_NEO4J__PORT": str(free_port()), "KG_API__PORT": str(free_port())}
    return Machine(home, processes.inherit() | SMALL | ports | {"KG_HOME": str(home)} | more)


@pytest.fixture(scope="module")
def first_ups(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Machine, list[tuple[int, str]]]]:
    """A stack that two `kg up` started at once, and how each of them ended."""
    machine = machine_in(tmp_path_factory.mktemp("machine") / "kg", first_start=True)
    try:
        with machine.start("up") as first, machine.start("up") as second:
            ends = [(up.wait(SECONDS), "".join(up.communicate())) for up in (first, second)]
        yield machine, ends
    finally:
        machine.kg("down")


@pytest.fixture
def machine(first_ups: tuple[Machine, object]) -> Machine:
    """The stack, running; a command that starts it takes two seconds where nothing is to do."""
    stack, _ = first_ups
    if not stack.status()["ready"]:
        stack.kg("up")
    return stack


def test_two_at_once_start_one_of_each(first_ups: tuple[Machine, list[tuple[int, str]]]) -> None:
    machine, ends = first_ups
    assert [code for code, _ in ends] == [0, 0], ends
    servers = [
        process.info["cmdline"]
        for process in psutil.process_iter(["cmdline"])
        if f"--home-dir={machine.home}/neo4j" in (process.info["cmdline"] or ())
    ]
    assert len(servers) == 1


def test_status_says_where_everything_is(machine: Machine) -> None:
    status = machine.status()
    assert set(status) >= {"api_url", "neo4j_uri", "version", "ready", "processes"}
    assert status["ready"] is True
    assert status["api_url"] == f"http://127.0.0.1:{machine.env['KG_API__PORT']}"
    assert status["neo4j_uri"] == f"bolt://127.0.0.1:{machine.env['KG_NEO4J__PORT']}"
    assert [process["role"] for process in status["processes"]] == ["neo4j", "api", "worker"]
    assert all(alive(process["pid"]) for process in status["processes"])
    assert "ready" in machine.kg("status")[0]


def test_up_again_changes_nothing_and_says_what_to_do_next(machine: Machine) -> None:
    before = machine.pids()
    out, err = machine.kg("up")
    assert machine.pids() == before
    assert machine.status()["api_url"] in out
    assert "kg ingest" in out
    assert err == ""


def test_up_again_with_other_settings_names_those_that_wait_for_the_next_start(machine: Machine) -> None:
    before = machine.pids()
    err = machine.with_variables(KG_CONVERSION__IMAGES_WITHIN="false").kg("up")[1]
    assert "KG_CONVERSION__IMAGES_WITHIN has another value than kg was started with" in err
    assert machine.pids() == before


def test_the_doctor_is_content(machine: Machine) -> None:
    findings = json.loads(machine.kg("doctor", "--json")[0])
    assert {finding["state"] for finding in findings} <= {"ok", "warn"}
    assert {"versions", "settings", "home", "java", "Bolt", "neo4j", "api", "worker", "service"} <= {
        finding["name"] for finding in findings
    }


def test_a_killed_worker_comes_back_by_itself(machine: Machine) -> None:
    killed = machine.pids()["worker"]
    os.kill(killed, signal.SIGKILL)
    until(lambda: machine.pids().get("worker", killed) != killed, "a new worker", 60, pause=0.5)


def test_after_kill_9_of_everything_up_just_works(machine: Machine) -> None:
    before, supervisor = machine.pids(), machine.status()["supervisor_pid"]
    for pid in (supervisor, *before.values()):
        os.kill(pid, signal.SIGKILL)
    assert machine.status()["ready"] is False
    machine.kg("up")
    after = machine.pids()
    assert set(after) == set(before)
    assert not set(after.values()) & set(before.values())
    assert machine.status()["ready"] is True


def test_lost_supervisor_is_replaced_and_keeps_what_runs(machine: Machine) -> None:
    before = machine.pids()
    os.kill(machine.status()["supervisor_pid"], signal.SIGKILL)
    machine.kg("up")
    assert machine.pids() == before


def test_another_database_is_not_mixed_in(machine: Machine) -> None:
    other = machine.with_variables(KG_NEO4J__URI="bolt://127.0.0.1:1", KG_NEO4J__PASSWORD="x")
    assert "kg down" in other.kg("up", code=5)[1]


def test_with_an_address_no_neo4j_is_started_and_ctrl_c_ends_the_foreground(
    machine: Machine, tmp_path: Path
) -> None:
    address = {"KG_NEO4J__URI": machine.status()["neo4j_uri"]}
    password = Home(machine.home).password() or ""
    guest = machine_in(tmp_path / "guest", **address, KG_NEO4J__PASSWORD=password)
    with guest.start("up", "--foreground") as foreground:
        until(lambda: guest.status()["ready"], "the guest stack", 120, pause=0.5)
        pids = guest.pids()
        assert set(pids) == {"api", "worker"}
        foreground.send_signal(signal.SIGINT)
        out, err = foreground.communicate(timeout=60)
    assert foreground.returncode == 0, err
    assert "kg is up" in out
    assert not any(alive(pid) for pid in pids.values())
    assert machine.status()["ready"] is True


def test_down_ends_everything_and_says_so(machine: Machine) -> None:
    before = [*machine.pids().values(), machine.status()["supervisor_pid"]]
    begun = time.monotonic()
    assert "kg is stopped" in machine.kg("down")[1]
    assert time.monotonic() - begun < 60
    assert [pid for pid in before if alive(pid)] == []
    assert machine.status()["processes"] == []
    assert "was not running" in machine.kg("down")[1]


def test_a_home_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert str(tmp_path / "file") in machine_in(tmp_path / "file", first_start=True).kg("up", code=78)[1]

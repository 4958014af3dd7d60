"""Tests that embedding continues if workers are killed again and again by a real supervisor (G30)."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api.local import processes, supervisor
from kg_api.local.processes import Home
from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer
from tests.process.managed.dummy import until
from tests.process.managed.test_kg_up import Machine, alive, machine_in

pytestmark = pytest.mark.timeout(900)

GOES_ON_SECONDS = 60
WITHOUT_CONCEPTS = {"KG_CONCEPTS__EXTRACTOR": "none"}


@contextmanager
def up(home: Path) -> Generator[Machine]:
    started = machine_in(home, **WITHOUT_CONCEPTS)
    try:
        started.kg("up")
        yield started
    finally:
        started.kg("down")


@dataclass(frozen=True)
class Foreground:
    """Run the stack in the foreground, using the Neo4j of the tests."""

    machine: Machine
    process: subprocess.Popen[str]
    log: Path


@pytest.fixture(scope="module")
def foreground(
    server: Neo4jServer, driver: neo4j.Driver, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Foreground]:
    """Use the Neo4j of the tests, because it would take too long to start another one."""
    wipe(driver)
    folder = tmp_path_factory.mktemp("guest")
    address = {"KG_NEO4J__URI": server.uri, "KG_NEO4J__USER": server.user}
    machine = machine_in(folder / "kg", **WITHOUT_CONCEPTS, **address, KG_NEO4J__PASSWORD=server.password)
    log = folder / "log"
    with log.open("w") as errors, machine.start("up", "--foreground", stderr=errors) as process:
        try:
            until(machine.is_ready, "the stack", 120, pause=0.1)
            yield Foreground(machine, process, log)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=60)


@pytest.fixture
def guest(foreground: Foreground) -> Machine:
    return foreground.machine


@pytest.fixture
def machine(tmp_path: Path) -> Generator[Machine]:
    with up(tmp_path / "kg") as started:
        yield started


def add(machine: Machine, count: int) -> None:
    with httpx.Client(base_url=Home(machine.home).build_api_url() or "", timeout=30) as http:
        for number in range(count):
            body = {"ontology": "notes", "document": f"d{number}", "text": f"Short document number {number}."}
            http.post("/documents", json=body).raise_for_status()


def missing(machine: Machine) -> int:
    response = httpx.get(f"{Home(machine.home).build_api_url()}/embedding-status", timeout=30)
    return response.json()["missing"] if response.is_success else -1


def kill_worker(machine: Machine, seconds: float) -> int:
    """Kill the next worker. If no worker has started in time, return 0."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if worker := processes.load(Home(machine.home).get_pid_file("worker")):
            os.kill(worker.pid, signal.SIGKILL)
            worker.wait(5)
            return 1
        time.sleep(0.01)
    return 0


@pytest.mark.parametrize(
    "pauses",
    [
        pytest.param((1, 2), id="2 kills"),
        pytest.param((1, 2, 4, 8, 16), id="5 kills", marks=pytest.mark.full),
    ],
)
def test_repeatedly_killed_worker_restarts_and_is_reported(
    foreground: Foreground, guest: Machine, pauses: tuple[int, ...]
) -> None:
    """The test has to wait for all the pauses, but not for the last one."""
    kills = len(pauses)
    assert sum(kill_worker(guest, 40) for _ in pauses) == kills
    home = Home(guest.home)
    until(lambda: supervisor.read(home).roles["worker"].deaths == kills, "that the last death is seen")
    ready = httpx.get(
        f"{home.build_api_url()}/ready", timeout=10
    )  # first: the pause does not wait for slow commands
    status = guest.status()
    assert ready.status_code == 503
    assert "worker restarts in" in ready.json()["waiting_for"]
    told = status["roles"]["worker"]
    assert (told["deaths"], told["last_exit"], told["restarts"]) == (kills, "SIGKILL", kills - 1)
    assert 0 < told["next_start_seconds"] <= pauses[-1]
    assert f"died {kills} times (SIGKILL)" in status["waiting_for"]
    add(guest, 3)
    begun = time.monotonic()
    until(lambda: missing(guest) == 0, "embedding", seconds=GOES_ON_SECONDS)
    assert time.monotonic() - begun < GOES_ON_SECONDS
    findings = {each["name"]: each["detail"] for each in json.loads(guest.kg("doctor", "--json")[0])}
    worker = findings["worker"]
    assert f"died {kills} times in a row" in worker or f"started again {kills} times" in worker
    lines = [line for line in foreground.log.read_text(encoding="utf-8").splitlines() if line[:1] == "{"]
    deaths = [line for line in map(json.loads, lines) if line["event"] == "process died"]
    assert [(each["role"], each["last_exit"], each["next_start_seconds"]) for each in deaths] == [
        ("worker", "SIGKILL", pause) for pause in pauses
    ]


def test_interrupt_ends_foreground_but_not_external_neo4j(
    foreground: Foreground, driver: neo4j.Driver
) -> None:
    until(foreground.machine.is_ready, "the stack", 60, pause=0.1)
    pids = foreground.machine.pids()
    assert set(pids) == {"api", "worker"}
    foreground.process.send_signal(signal.SIGINT)
    out, _ = foreground.process.communicate(timeout=60)
    assert foreground.process.returncode == 0, foreground.log.read_text()
    assert "kg is up" in out
    assert not any(alive(pid) for pid in pids.values())
    driver.verify_connectivity()


@pytest.mark.full
def test_twenty_kills_while_embedding_1400_documents_lose_nothing(machine: Machine) -> None:
    """Kill the worker of the supervisor and the other workers."""
    add(machine, 1400)
    begun, killed = time.monotonic(), 0
    while killed < 20 and time.monotonic() - begun < 40:
        if kill_worker(machine, 0.2):
            killed += 1
            continue
        with machine.start("worker") as further:
            time.sleep(1.2)
            further.kill()
            further.communicate()
        killed += 1
    assert killed == 20
    before = missing(machine)
    until(lambda: missing(machine) < before or before == 0, "embedding", seconds=GOES_ON_SECONDS)
    until(lambda: missing(machine) == 0, "all embedded", seconds=300)

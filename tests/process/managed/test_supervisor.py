import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kg_api.errors import ConfigurationError
from kg_api.local import processes, supervisor
from kg_api.local.processes import Home, ProcessId, Role
from kg_api.local.supervisor import Policy, RoleStatus, Supervisor
from tests.process.managed.dummy import FAST, publisher, script_role, until, web_role


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    place = Home(tmp_path / "kg").create()
    yield place
    for pid_file in place.run.glob("*.pid"):
        if process := processes.load(pid_file):
            process.kill()


@pytest.fixture
def port() -> int:
    return processes.find_free_port()


def working(home: Home, name: str) -> RoleStatus | None:
    status = supervisor.read(home).roles.get(name)
    return status if status and status.state == "ready" else None


def process_of(home: Home, name: str) -> ProcessId:
    process = processes.load(home.get_pid_file(name))
    assert process is not None
    return process


class Running:
    """Run a supervisor in a thread of this process."""

    def __init__(self, home: Home, *watched: Role, policy: Policy = FAST) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=Supervisor(watched, publisher(home), policy).run, args=(self._stop,)
        )

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def test_roles_start_in_order_and_outlive_the_supervisor(home: Home, port: int) -> None:
    first, second = (
        web_role(home, "first", port),
        web_role(home, "second", processes.find_free_port(), "first"),
    )
    with Running(home, second, first):
        until(lambda: any(each.message for each in supervisor.read(home).roles.values()), "its first word")
        assert supervisor.read(home).roles["second"].message == "first to work"
        until(lambda: working(home, "second"), "the second role")
    assert process_of(home, "first").created <= process_of(home, "second").created
    assert not processes.is_free(port)


def test_failing_process_restarts_with_its_last_output(home: Home) -> None:
    role = script_role(home, "sick", ("-c", "print('no licence today'); raise SystemExit(3)"))
    with Running(home, role):
        until(lambda: supervisor.read(home).describe_failure(), "that a person is told")
        told = supervisor.read(home).describe_failure() or ""
        until(lambda: supervisor.read(home).roles["sick"].deaths >= 8, "the eighth death")
        status = supervisor.read(home).roles["sick"]
    assert (status.restarts, status.last_exit) == (status.deaths - 1, "exit code 3")
    assert "no licence today" in told
    assert str(role.log) in told
    assert role.log.read_text().count("no licence") >= 8


def test_wrong_settings_wait_longest_and_need_a_person(home: Home) -> None:
    script = f"raise SystemExit({ConfigurationError.exit_code})"
    with Running(home, script_role(home, "wrong", ("-c", script)), policy=replace(FAST, max_pause=60)):
        until(lambda: supervisor.read(home).describe_failure(), "the end")
        status, told = supervisor.read(home).roles["wrong"], supervisor.read(home).waiting_for()
    assert (status.state, status.deaths, status.last_exit) == ("failed", 1, "exit code 78")
    assert 50 < (status.next_start_seconds() or 0) <= 60
    assert "A person has to change its settings" in (told or "")


def test_broken_process_is_restarted(home: Home, port: int) -> None:
    broken = home.path / "broken"
    role = replace(web_role(home, "web", port), broken=lambda: "it panicked" if broken.exists() else None)
    with Running(home, role, policy=replace(FAST, check_seconds=0.1)):
        until(lambda: working(home, "web"), "the start")
        first = process_of(home, "web")
        broken.touch()
        until(lambda: supervisor.read(home).roles["web"].deaths, "its end")
        assert "it panicked" in supervisor.read(home).roles["web"].message
        broken.unlink()
        until(lambda: working(home, "web"), "the next start")
    assert process_of(home, "web") != first


def test_supervisor_without_disk_space_continues(home: Home, port: int) -> None:
    """If the disk is full, you cannot write the state or a pid file."""
    full = threading.Event()

    def publish(statuses: dict[str, RoleStatus]) -> None:
        if full.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        publisher(home)(statuses)

    stop = threading.Event()
    thread = threading.Thread(
        target=Supervisor([web_role(home, "web", port)], publish, FAST).run, args=(stop,)
    )
    thread.start()
    try:
        until(lambda: working(home, "web"), "the start")
        full.set()
        os.kill(process_of(home, "web").pid, signal.SIGKILL)
        until(lambda: not processes.is_free(port), "the next start")
        full.clear()
        until(lambda: (status := working(home, "web")) and status.restarts, "the state to be told again")
    finally:
        stop.set()
        thread.join()


def test_next_supervisor_adopts_processes_of_a_killed_one(home: Home, port: int) -> None:
    first = subprocess.Popen([sys.executable, "-m", "tests.process.managed.dummy", str(home.path), str(port)])
    until(lambda: working(home, "web"), "the start")
    web = process_of(home, "web")
    first.kill()
    first.wait()
    assert web.is_alive()
    supervisor.forget(home)
    with Running(home, web_role(home, "web", port)):
        until(lambda: working(home, "web"), "the take-over")
        assert process_of(home, "web") == web
        os.kill(web.pid, signal.SIGKILL)  # no child of ours: it must be seen all the same
        until(lambda: (status := working(home, "web")) and status.deaths == 1, "the new start")
    assert process_of(home, "web") != web


def test_stale_pid_file_is_harmless(home: Home, port: int) -> None:
    role = web_role(home, "web", port)
    bystander = processes.identify(os.getpid())
    assert bystander is not None
    processes.save(role.pid_file, ProcessId(bystander.pid, bystander.created - 1000))
    assert not processes.stop(role)
    processes.save(role.pid_file, ProcessId(bystander.pid, bystander.created - 1000))
    started = processes.start(role)
    assert started.pid != bystander.pid
    processes.wait(role, started, timeout=20)
    assert processes.stop(role)
    assert not started.is_alive()

import errno
import os
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psutil
import pytest

from kg_api.errors import ConfigurationError, ManagedProcessError
from kg_api.local import processes, supervisor
from kg_api.local.processes import Home, ProcessId
from kg_api.local.supervisor import RoleStatus, State
from kg_api.settings import load_settings
from kg_cli.stack.roles import own_environment

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


def test_state_explains_permanently_failed_roles() -> None:
    assert State(roles={"a": READY, "b": RoleStatus("failed", None, 4, "why")}).describe_failure() == "why"
    assert State(roles={"a": READY}).describe_failure() is None


ME = os.getpid()
CREATED = psutil.Process().create_time()


@pytest.fixture
def pid_file(tmp_path: Path) -> Path:
    return tmp_path / "role.pid"


def free_pid() -> int:
    return next(pid for pid in range(4_000_000, 300, -1) if not psutil.pid_exists(pid))


def test_a_live_process_is_found_by_its_file(pid_file: Path) -> None:
    processes.save(pid_file, ProcessId(ME, CREATED))
    assert processes.load(pid_file) == ProcessId(ME, CREATED) == processes.identify(ME)


def test_a_stale_pid_is_not_alive(pid_file: Path) -> None:
    processes.save(pid_file, ProcessId(free_pid(), CREATED))
    assert processes.load(pid_file) is None
    assert processes.identify(free_pid()) is None


@pytest.mark.parametrize("text", ["", "{", "17", "{}", '{"pid": null, "created": 1}', '{"pid": 1}'])
def test_damaged_pid_file_is_ignored(pid_file: Path, text: str) -> None:
    processes.write_text(pid_file, text)
    assert processes.load(pid_file) is None


def test_children_inherit_only_allowed_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KG_CANARY", "secret")
    monkeypatch.setenv("LANG", "C.UTF-8")
    assert processes.inherit({"LANG"}) == {"LANG": "C.UTF-8"}
    assert processes.inherit()["KG_CANARY"] == "secret"


def test_processes_of_kg_get_absolute_paths(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.path)
    chosen = {"KG_CACHE": "a", "KG_BACKUP__FOLDER": "b", "KG_EMBEDDING__MODEL_FOLDER": "c", "KG_HOME": "."}
    for name, path in chosen.items():
        monkeypatch.setenv(name, path)
    given = own_environment(home, load_settings())
    assert {name: given[name] for name in chosen} == {
        name: str((home.path / path).absolute()) for name, path in chosen.items()
    }
    assert given["PROMETHEUS_MULTIPROC_DIR"] == str(home.metrics)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "role.log"


def test_relevant_lines_are_the_marked_ones(log: Path) -> None:
    log.write_text("ERROR first\nnoise\nCaused by: port in use\n  at x\nCaused by: port in use\n")
    told = processes.select_crash_lines([log], ("ERROR", "Caused by"))
    assert told == "ERROR first\nCaused by: port in use"


def test_oversized_log_is_rotated_while_written(log: Path) -> None:
    with log.open("ab", buffering=0) as writer:
        writer.write(b"x" * 101)
        assert processes.limit(log, max_bytes=100)
        writer.write(b"new\n")
    assert log.read_bytes() == b"new\n"
    assert log.with_name("role.log.1").read_bytes() == b"x" * 101


def test_hanging_service_is_slow_but_present() -> None:
    with socket.create_server((processes.LOOPBACK, 0)) as silent:
        answer = processes.ask_ready(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
    assert (answer.reached, answer.slow) == (False, True)
    assert "did not respond within 0.2 s" in (answer.waiting_for or "")


@pytest.mark.parametrize(
    ("holder", "told"),
    [("other", "where the kg of the home"), (None, "where another process answers instead")],
)
def test_service_without_proof_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: str | None, told: str
) -> None:
    home = Home(tmp_path / "own").create()

    def answer_without_proof(url: str, *_: object, **__: object) -> tuple[int, bytes]:
        raise processes.OtherHomeError(url)

    by = f"the kg of the home {holder}" if holder else "another process"
    monkeypatch.setattr(processes, "describe_holder", lambda _: by)
    monkeypatch.setattr(processes, "exchange", answer_without_proof)
    answer = processes.ask_ready("http://127.0.0.1:8420", home=home)
    assert not answer.reached
    assert told in (answer.waiting_for or "")


def test_service_of_another_home_is_detected() -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

    with HTTPServer((processes.LOOPBACK, 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        with pytest.raises(processes.OtherHomeError):
            processes.exchange(f"http://127.0.0.1:{server.server_port}", "/", {}, timeout=5, instance="own")


@pytest.mark.parametrize(
    ("program", "told"), [("/nowhere", "/nowhere: No such file"), (sys.executable, "x.pid: no space")]
)
def test_role_that_cannot_start_leaves_no_process(
    home: Home, monkeypatch: pytest.MonkeyPatch, program: str, told: str
) -> None:
    started = list[ProcessId]()

    def fail(_: Path, process: ProcessId) -> None:
        started.append(process)
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(processes, "save", fail)
    role = processes.Role(
        name="x",
        argv=(program, "-c", "import time; time.sleep(60)"),
        env={},
        cwd=home.path,
        log=home.log_file("x"),
        pid_file=home.get_pid_file("x"),
        waiting_for=lambda: None,
    )
    with pytest.raises(ManagedProcessError, match=f"^x cannot be started: .*{told}"):
        processes.start(role)
    assert all(each.wait(10) for each in started)


class Process:
    """Process of a role whose life a test decides."""

    pid, lives = 7, True

    def is_alive(self) -> bool:
        return self.lives


def test_role_passes_through_its_states(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = dict[str, str | None](waiting="port 1", broken=None, blocked="the disk is full")
    now, code, stopped, start_error = [0.0], [3], list[str](), list[Exception]([OSError("no room")])

    def start(_: processes.Role) -> Process:
        if start_error:
            raise start_error.pop()
        return Process()

    monkeypatch.setattr(processes, "start", start)
    monkeypatch.setattr(processes, "stop", lambda role, **_: stopped.append(role.name))
    monkeypatch.setattr(processes, "exit_code", lambda _: code[0])
    monkeypatch.setattr(processes, "describe_death", lambda _, last_exit: f"died of {last_exit}")
    monkeypatch.setattr(processes, "read_complaint", lambda _: "the setting is wrong")
    role = processes.Role(
        name="api",
        argv=("api",),
        env={},
        cwd=home.path,
        log=home.log_file("api"),
        pid_file=home.get_pid_file("api"),
        waiting_for=lambda: reasons["waiting"],
        after=("neo4j",),
        blocked=lambda: reasons["blocked"],
        broken=lambda: reasons["broken"],
    )
    watch = supervisor.Watch(role, supervisor.Policy(), lambda: now[0])

    def attend(seconds: float = 0, **changed: str | None) -> tuple[str, int, int, float | None, str]:
        now[0] += seconds
        reasons.update(changed)
        watch.attend({"neo4j"} if now[0] else set())
        status = watch.status()
        return status.state, status.deaths, status.restarts, status.next_start_seconds(), status.message

    def die() -> None:
        assert isinstance(watch.process, Process)
        watch.process.lives = False

    assert attend() == ("waiting", 0, 0, None, "neo4j to work")
    assert attend(1) == ("waiting", 0, 0, None, "the disk is full")
    assert attend(blocked=None) == ("pausing", 1, 0, 1, "OSError: no room")
    start_error.append(ManagedProcessError("no file"))
    assert attend(0.9)[:3] == ("pausing", 1, 0)
    assert attend(0.1) == ("pausing", 2, 0, 2, "no file")
    assert attend(2) == ("starting", 2, 0, None, "api to start")
    assert attend(1) == ("starting", 2, 0, None, "port 1")
    assert attend(waiting=None) == ("ready", 2, 0, None, "")
    assert attend(1, broken="deadlock") == ("pausing", 3, 0, 4, "api was ended to be started again: deadlock")
    assert (stopped, watch.status().last_exit) == (["api"], "ended by the supervisor")
    assert attend(4, broken=None)[:3] == ("starting", 3, 1)
    assert attend(1)[:3] == ("ready", 3, 1)
    assert attend(broken="again")[:2] == ("ready", 3), "the last check was 5 seconds ago"
    assert attend(30, broken=None)[:3] == ("ready", 0, 1), "a healthy uptime resets the count"
    die()
    assert attend(0.1) == ("pausing", 1, 1, 1, "died of exit code 3")
    assert attend(1)[:3] == ("starting", 1, 2)
    code[0] = ConfigurationError.exit_code
    die()
    expected = f"the setting is wrong\napi ended with exit code 78. Its log is {role.log}"
    assert attend(1) == ("failed", 2, 2, 60, expected)
    assert attend(59.9)[0] == "failed"
    start_error.append(ConfigurationError("no licence"))
    assert attend(0.1) == ("failed", 3, 2, 60, "no licence")

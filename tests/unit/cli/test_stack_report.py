import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from kg_api import __version__
from kg_api.client import KgClient
from kg_api.errors import ConfigurationError, ManagedProcessError
from kg_api.local import neo4j, processes, supervisor
from kg_api.local.processes import ApiAnswer, Home, ProcessId
from kg_api.local.supervisor import RoleState, RoleStatus, State
from kg_api.schemas.operations import QueueStatus, WorkerInfo
from kg_api.settings import Neo4jSettings, Settings
from kg_cli import main
from kg_cli.stack import doctor, report
from kg_cli.stack.report import RunningProcess, StackStatus, read_status
from kg_cli.terminal import console

QUEUE = QueueStatus(
    queued=2, waiting=1, running=1, stalled=1, failed=0, oldest_waiting_seconds=4, backlog_age_seconds=9
)
STARTED = datetime(2026, 1, 1, tzinfo=UTC)
WORKER = WorkerInfo(
    name="here:7", host="here", pid=7, started_at=STARTED, seen_seconds_ago=1, alive=True, job=None
)
BUSY = WORKER.model_copy(update={"name": "here:8", "pid": 8, "job": "embedding of notes"})
STATUS = StackStatus(
    api_url="http://127.0.0.1:1",
    neo4j_uri="bolt://127.0.0.1:2",
    version="1",
    ready=True,
    processes=[],
    waiting_for=None,
    home="/home",
    supervisor_pid=None,
    roles={},
    jobs=QUEUE,
    to_review=None,
    refusal=None,
    slow=False,
    serves=True,
    stopped=False,
)
DIED = replace(STATUS, jobs=QUEUE.model_copy(update={"failed": 3}))


def test_status_lists_workers_that_down_does_not_stop(capsys: pytest.CaptureFixture[str]) -> None:
    others = [WORKER.model_copy(update=each) for each in ({"pid": 8}, {"alive": False, "pid": 9})]
    jobs = QUEUE.model_copy(update={"workers": [WORKER, *others]})
    report.print_status(replace(STATUS, jobs=jobs, processes=[RunningProcess("worker", 7)]))
    assert "workers  8 on here: started with `kg worker`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("waiting", "told"), [(None, ""), (0, ""), (2, "2 documents to approve or reject: kg ")]
)
def test_pending_documents_are_reported(
    capsys: pytest.CaptureFixture[str], waiting: int | None, told: str
) -> None:
    report.print_status(replace(STATUS, to_review=waiting))
    out = capsys.readouterr().out
    assert told in out
    assert ("review" in out) == bool(told)


@pytest.mark.parametrize("say", [report.print_started, report.print_status])
def test_failed_jobs_are_mentioned_with_their_command(
    say: Callable[[StackStatus], None], capsys: pytest.CaptureFixture[str]
) -> None:
    say(DIED)
    assert (
        "3 jobs failed within a day. For the reasons: kg jobs list --state failed" in capsys.readouterr().err
    )


def test_stopped_status_explains_how_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KG_HOME", str(tmp_path))
    assert main.run_command(["status"]) == 69
    assert "stopped. Start with: kg up" in capsys.readouterr().out
    assert main.run_command(["doctor"]) == 1
    assert "processes: stopped" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("terminal", "ci", "wanted", "opened"),
    [(True, None, True, 1), (True, "1", True, 0), (False, None, True, 0), (True, None, False, 0)],
)
def test_up_opens_the_page_for_a_person(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool, ci: str | None, wanted: bool, opened: int
) -> None:
    pages: list[str] = []
    monkeypatch.setattr(console, "open_browser", pages.append)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", ci)
    report.print_started(STATUS, open_page=wanted)
    assert pages == ["http://127.0.0.1:1/ui"] * opened


def test_status_shows_deaths_and_next_start(capsys: pytest.CaptureFixture[str]) -> None:
    worker = RoleStatus("pausing", None, 7, "log", 6, time.time() + 59.9, "SIGKILL")
    up = [RunningProcess("api", 2)]
    troubled = replace(STATUS, supervisor_pid=1, roles={"worker": worker}, processes=up)
    report.print_status(troubled)
    told = " ".join(capsys.readouterr().out.split())
    for words in ("died 7 times", "SIGKILL", "started again 6 times", "next start in 60 s"):
        assert words in told
    assert 50 < troubled.as_json()["roles"]["worker"]["next_start_seconds"] <= 60


@pytest.mark.parametrize(
    ("state", "kind"), [("failed", ConfigurationError), ("pausing", ManagedProcessError)]
)
def test_start_ends_with_the_message_of_a_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: RoleState, kind: type[Exception]
) -> None:
    died = State(roles={"api": RoleStatus(state, None, supervisor.MANY_DEATHS, "no port")})
    monkeypatch.setattr(supervisor, "read", lambda _: died)
    with pytest.raises(kind, match="no port"):
        report.wait_until_ready(Home(tmp_path), Settings(home=tmp_path), print)


def test_service_is_not_queried_if_neo4j_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its database it would say no more, and only after seconds."""
    processes.announce(Home(tmp_path).create(), "127.0.0.1", 1)
    monkeypatch.setattr(processes, "ask_ready", lambda *_, **__: pytest.fail("it was asked"))
    found = read_status(Settings(home=tmp_path))
    assert (found.waiting_for, found.ready, found.serves) == ("`kg up`: neo4j does not run", False, False)


@pytest.mark.parametrize(("free", "state"), [(2.0, "ok"), (1.9, "warn"), (0.5, "warn"), (0.4, "fail")])
def test_doctor_grades_the_free_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: float, state: str
) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: SimpleNamespace(free=free * doctor.GIB))
    *_, disk = doctor.examine_home(Home(tmp_path), Settings(home=tmp_path))
    assert (disk.name, disk.state) == ("disk", state)


def test_doctor_reports_each_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    died, left = RoleStatus("ready", 8, 2, "", 0, None, "SIGKILL"), RoleStatus("failed", None, 1, "no model")
    known = {"neo4j": RoleStatus("ready", 7, 0, "", 1), "api": died, "worker": left}
    up = {"neo4j": ProcessId(7, 0), "api": ProcessId(8, 0)}
    monkeypatch.setattr(supervisor, "read", lambda _: State("0.0", "", known))
    monkeypatch.setattr(processes, "find_running", lambda role: up.get(role.name))
    monkeypatch.setattr(processes, "ask_ready", lambda *_, **__: ApiAnswer(reached=True, waiting_for="jobs"))
    home = Home(tmp_path)
    api_log, worker_log = home.log_file("api"), home.log_file("worker")
    assert [*map(astuple, doctor.examine_processes(home, Settings(home=tmp_path)))] == [
        ("warn", "version", f"kg 0.0 runs here, this is {__version__}", "kg down, kg up"),
        ("ok", "neo4j", "runs (pid 7), started again once", ""),
        ("warn", "api", "runs (pid 8), but died 2 times in a row (SIGKILL)", f"its log is {api_log}"),
        ("fail", "worker", "not running. no model", f"start it with: kg up (its log is {worker_log})"),
        ("warn", "supervisor", "not running: kg restarts no process", "kg up"),
        ("fail", "service", "waits for jobs", f"see {api_log}"),
    ]


@pytest.mark.parametrize(
    ("up", "patience"), [(("api", "worker"), doctor.WORKER_STARTS_SECONDS), (("api",), 0.0)]
)
def test_doctor_waits_for_a_worker_that_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, up: Sequence[str], patience: float
) -> None:
    waited = list[float]()

    def examine(*_: object, patience_seconds: float, **__: object) -> doctor.Findings:
        waited.append(patience_seconds)
        yield from ()

    monkeypatch.setattr(processes, "find_running", lambda role: ProcessId(8, 0) if role.name in up else None)
    monkeypatch.setattr(processes, "ask_ready", lambda *_, **__: ApiAnswer(reached=True, serves=True))
    monkeypatch.setattr(doctor, "_examine_models", lambda *_: iter(()))
    monkeypatch.setattr(doctor, "examine_jobs", examine)
    assert [*doctor.examine_processes(Home(tmp_path), Settings(home=tmp_path))]
    assert waited == [patience]


@pytest.mark.parametrize(
    ("missing", "broken", "expected"),
    [
        ([], ["a.jar"], ("fail", "damaged: a.jar")),
        (["b.jar"], ["a.jar"], ("fail", "damaged: a.jar")),
        (["b.jar", "c.jar"], [], ("warn", "2 jars are not there yet")),
        ([], [], ("ok", "all jars are there, with the right checksums (CACHE)")),
    ],
)
def test_doctor_grades_the_jars(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    missing: list[str],
    broken: list[str],
    expected: tuple[str, str],
) -> None:
    found = [[Path(each) for each in names] for names in (missing, broken)]
    monkeypatch.setattr(neo4j, "inspect", lambda _: found)
    monkeypatch.setattr(neo4j, "find_java", lambda: tmp_path / "missing")
    _, jars, *_ = doctor.examine_neo4j(Home(tmp_path), Settings(home=tmp_path, cache=Path("CACHE")))
    assert (jars.state, jars.detail) == expected


@pytest.mark.parametrize(
    ("workers", "waited", "running", "expected"),
    [
        ([], 0, 0, ("warn", "no heartbeat from any worker")),
        ([], 300, 0, ("fail", "no heartbeat from any worker, and jobs have been waiting for 5 min")),
        ([WORKER], 300, 0, ("fail", "1 running, but a job has been waiting for 5 min and none takes it")),
        ([WORKER], 300, 1, ("ok", "1 running, 0 busy")),
        ([WORKER], 4, 0, ("ok", "1 running, 0 busy")),
        ([WORKER, BUSY], 4, 0, ("ok", "2 running, 1 busy with scheduled work")),
        ([WORKER, BUSY], 4, 1, ("ok", "2 running, 1 busy")),
        ([BUSY.model_copy(update={"alive": False})], 0, 0, ("warn", "no heartbeat from any worker")),
    ],
)
def test_doctor_grades_the_workers(
    workers: list[WorkerInfo], waited: float, running: int, expected: tuple[str, str]
) -> None:
    changes = {"workers": workers, "oldest_waiting_seconds": waited, "running": running}
    queue = QUEUE.model_copy(update={**changes, "waiting": 0, "stalled": 0})
    client = cast("KgClient", SimpleNamespace(queue=lambda: queue))
    (found, _) = doctor._examine_queue(client, Settings(), "kg worker", 0)
    assert (found.state, found.detail) == expected


def test_doctor_names_other_program_on_configured_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings = Settings(home=tmp_path, neo4j=Neo4jSettings(port=port))
        (found,) = doctor._examine_bolt(Home(tmp_path), settings)
    assert (found.name, found.state) == ("Bolt port", "fail")
    assert f"port {port} is taken" in found.detail

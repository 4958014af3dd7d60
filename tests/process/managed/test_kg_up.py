from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, LiteralString

import httpx
import neo4j
import psutil
import pytest
from neo4j.exceptions import AuthError

from kg_api.local import neo4j as jars
from kg_api.local import processes
from kg_api.local.processes import Home, ProcessId, find_free_port
from tests.neo4j_server import KEPT_PLANS, home_in_memory
from tests.process.managed.dummy import until
from tests.support import forked, migrated_home
from tests.support.backups import write_backup
from tests.support.images import drawn, encoded
from tests.support.running import ready

SMALL = {
    "KG_NEO4J__HEAP_MB": "512",
    "KG_NEO4J__PAGECACHE_MB": "128",
    "KG_NEO4J__CONF": json.dumps(KEPT_PLANS),
    "KG_EMBEDDING__PROVIDER": "deterministic",
    "KG_API__PROCESSES": "1",
}
SECONDS = 240
CANARY = "sk-kg-canary-3f9a"
GUIDES = Path(__file__).parents[3] / "docs" / "guides"
QUESTIONS = ("what happens when the disk is full", "pictures of pages", "red boat", "who may ask")
Hits = dict[str, list[tuple[str, float]]]


@dataclass(frozen=True)
class Machine:
    """Home to use, with a method to run `kg` commands."""

    home: Path
    env: dict[str, str]
    prefix: tuple[str, ...] = ()
    """Command to add before all others, for example to run them in a container."""

    def start(self, *arguments: str, stderr: int | IO[str] = subprocess.PIPE) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.prefix, sys.executable, "-m", "kg_cli.main", *arguments],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def kg(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        ran = self._run(arguments)
        assert ran.returncode == code, f"{ran.stdout}\n{ran.stderr}"
        return ran.stdout, ran.stderr

    def _run(self, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        if not self.prefix:
            return forked.run(arguments, self.env, timeout=SECONDS)
        with self.start(*arguments) as command:
            out, err = command.communicate(timeout=SECONDS)
        return subprocess.CompletedProcess(command.args, command.returncode, out, err)

    def status(self) -> dict[str, Any]:
        return json.loads(self._run(("status", "--json")).stdout)

    def is_ready(self) -> bool:
        url = Home(self.home).build_api_url()
        return url is not None and ready(url)

    def pids(self) -> dict[str, int]:
        home = Home(self.home)
        found = {role: processes.load(home.get_pid_file(role)) for role in ("neo4j", "api", "worker")}
        return {role: process.pid for role, process in found.items() if process}

    def with_variables(self, **more: str) -> Machine:
        return replace(self, env=self.env | more)


def alive(pid: int) -> bool:
    return processes.identify(pid) is not None  # an init may leave zombies


def kill_and_wait(pid: int) -> None:
    """Kill a process and wait until it has ended, because SIGKILL does not wait."""
    process = processes.identify(pid)
    assert process is not None
    process.kill()
    assert not process.is_alive()


def machine_in(home: Path, **more: str) -> Machine:
    if "KG_NEO4J__URI" not in more:
        migrated_home.give(home)
    return fresh_machine(home, **more)


def fresh_machine(home: Path, **more: str) -> Machine:
    ports = {"KG_NEO4J__PORT": str(find_free_port()), "KG_API__PORT": str(find_free_port())}
    return Machine(home, processes.inherit() | SMALL | ports | {"KG_HOME": str(home)} | more)


@pytest.fixture(scope="module")
def first_ups() -> Generator[tuple[Machine, list[tuple[int, str]]]]:
    """Run two `kg up` commands at once, and return how each of them ended."""
    with home_in_memory() as home:
        machine = fresh_machine(home.path / "kg", OPENAI_API_KEY=CANARY)
        try:
            with machine.start("up") as first, machine.start("up") as second:
                ends = [(up.wait(SECONDS), "".join(up.communicate())) for up in (first, second)]
            yield machine, ends
        finally:
            machine.kg("down")


@pytest.fixture
def machine(first_ups: tuple[Machine, object]) -> Machine:
    """Return the running stack. If it has been stopped, this takes two seconds to start it."""
    stack, _ = first_ups
    if not stack.is_ready():
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
    first = [sys.executable, "-m", "kg_cli.first_run", '[["status"]]', "Open {page} in a browser"]
    ran = subprocess.run(first, env=machine.env, capture_output=True, text=True, check=True)
    assert "ready" in ran.stdout
    assert f"Open {status['page']} in a browser" in ran.stdout


def test_repeated_up_changes_nothing_and_lists_pending_settings(machine: Machine) -> None:
    before = machine.pids()
    out, err = machine.with_variables(KG_CONVERSION__IMAGES_WITHIN="false").kg("up")
    assert machine.pids() == before
    assert machine.status()["api_url"] in out
    assert "kg ingest" in out
    assert "Changed settings take effect after `kg down` and `kg up`" in err


def test_the_doctor_is_content(machine: Machine) -> None:
    findings = json.loads(machine.kg("doctor", "--json")[0])
    assert {finding["state"] for finding in findings} <= {"ok", "note", "warn"}
    assert {"versions", "settings", "home", "java", "Bolt", "neo4j", "api", "worker", "service"} <= {
        finding["name"] for finding in findings
    }


def query(
    machine: Machine, text: LiteralString, password: str | None = None, **parameters: Any
) -> list[list[Any]]:
    home = Home(machine.home)
    auth = ("neo4j", password or home.read_password() or "")
    with neo4j.GraphDatabase.driver(home.build_bolt_uri() or "", auth=auth) as driver:
        return [list(record) for record in driver.execute_query(text, parameters).records]


def test_neo4j_runs_the_pinned_version_with_its_settings(machine: Machine) -> None:
    rows = query(machine, "CALL dbms.components() YIELD name, versions, edition")
    assert ["Neo4j Kernel", [jars.VERSION], "community"] in rows
    wanted = {
        "db.transaction.timeout": "2m",
        "db.checkpoint.interval.time": "1m",
        "dbms.security.auth_max_failed_attempts": "0",
        "dbms.usage_report.enabled": "false",
        "dbms.security.allow_csv_import_from_file_urls": "false",
        "server.fleet_discovery.enabled": "false",
        "server.http.enabled": "false",
        "server.memory.heap.max_size": "512.00MiB",
        "server.memory.pagecache.size": "128.00MiB",
    }
    text = "SHOW SETTINGS YIELD name, value WHERE name IN $names RETURN name, value"
    assert dict(query(machine, text, names=list(wanted))) == wanted


def test_neo4j_listens_on_loopback_only(machine: Machine) -> None:
    process = psutil.Process(machine.pids()["neo4j"])
    listening = [c.laddr for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert [address[0].removeprefix("::ffff:") for address in listening] == ["127.0.0.1"]
    assert not [c for c in process.net_connections("udp") if c.laddr]


def test_only_the_stored_password_opens_neo4j(machine: Machine) -> None:
    assert stat.S_IMODE(Home(machine.home).password_file.stat().st_mode) == 0o600
    for guess in ("neo4j", *["guess"] * 4):
        with pytest.raises(AuthError):
            query(machine, "RETURN 1", password=guess)
        assert query(machine, "RETURN 1") == [[1]]


def test_secrets_are_not_in_arguments_environment_or_files(machine: Machine) -> None:
    home, process = Home(machine.home), psutil.Process(machine.pids()["neo4j"])
    for secret in (home.read_password() or "", CANARY):
        assert secret not in " ".join([*process.cmdline(), *process.environ().values()])
        files = [path for path in home.path.rglob("*") if path.is_file() and path != home.password_file]
        assert [path for path in files if secret.encode() in path.read_bytes()] == []


def test_up_recovers_after_killing_every_process(machine: Machine) -> None:
    query(machine, "CREATE (:Kept {n: 1})")
    before, supervisor = machine.pids(), machine.status()["supervisor_pid"]
    for pid in (supervisor, *before.values()):
        kill_and_wait(pid)
    assert not machine.is_ready()
    assert "run `kg up` and `kg down` first" in machine.kg("admin", "backup", code=70)[1]
    assert list(machine.home.glob("backups/*")) == []
    assert not [*Home(machine.home).backups.iterdir()]
    me = processes.identify(os.getpid())
    assert me is not None
    pid_file = Home(machine.home).get_pid_file("neo4j")
    processes.save(pid_file, ProcessId(me.pid, me.created - 100))  # the pid went to somebody else
    machine.kg("up")
    after = machine.pids()
    assert set(after) == set(before)
    assert not set(after.values()) & {*before.values(), me.pid}
    assert machine.is_ready()
    assert query(machine, "MATCH (k:Kept) RETURN k.n") == [[1]]


def test_lost_supervisor_is_replaced_without_restarts(machine: Machine) -> None:
    before = machine.pids()
    kill_and_wait(machine.status()["supervisor_pid"])
    machine.kg("up")
    assert machine.pids() == before


def test_another_database_is_rejected_while_kg_runs(machine: Machine) -> None:
    other = machine.with_variables(KG_NEO4J__URI="bolt://127.0.0.1:1", KG_NEO4J__PASSWORD="x")
    assert "kg down" in other.kg("up", code=5)[1]
    kill_and_wait(machine.status()["supervisor_pid"])
    assert "kg down" in other.kg("up", code=5)[1]
    machine.kg("up")


@pytest.fixture(scope="module")
def library(
    first_ups: tuple[Machine, object], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Hits, bytes]:
    """Ingest two guides and an image. Return the image and the hits for the questions."""
    stack, _ = first_ups
    stack.kg("up")
    boat = tmp_path_factory.mktemp("library") / "boat.jpg"
    boat.write_bytes(encoded(drawn(600, 400), "JPEG"))
    texts = [str(GUIDES / name) for name in ("ingest.md", "images.md")]
    stack.kg("ingest", *texts, str(boat), "--ontology", "notes", "--wait")
    return hits(stack.status()["api_url"]), picture(stack)


def ask(url: str, question: str) -> httpx.Response:
    body = {"query_text": question, "ontology": "notes", "limit": 10}
    return httpx.post(f"{url}/queries/sources/search", json=body, timeout=30)


def hits(url: str) -> Hits:
    answers = {question: ask(url, question).json() for question in QUESTIONS}
    return {
        question: [(hit["source_id"], hit["score"]) for hit in answer["sources"]]
        for question, answer in answers.items()
    }


def picture(machine: Machine) -> bytes:
    page = json.loads(machine.kg("images", "list", "--ontology", "notes", "--json")[0])
    url, source = machine.status()["api_url"], page["images"][0]["source_id"]
    answer = httpx.get(f"{url}/images/{source}")
    assert answer.status_code == 200, answer.text
    return answer.content


def test_backup_and_restore_are_rejected_while_kg_runs(machine: Machine, tmp_path: Path) -> None:
    other = str(write_backup(tmp_path, "kg-1"))
    for command in (("backup",), ("restore", other, "--replace", "--yes")):
        assert "kg down" in machine.kg("admin", *command, code=5)[1]
    assert machine.is_ready()


@pytest.mark.usefixtures("library")
def test_down_ends_every_process_and_reports_it(machine: Machine) -> None:
    before = [*machine.pids().values(), machine.status()["supervisor_pid"]]
    begun = time.monotonic()
    assert "kg is stopped" in machine.kg("down")[1]
    assert time.monotonic() - begun < 60
    assert [pid for pid in before if alive(pid)] == []
    assert machine.status()["processes"] == []
    home = Home(machine.home)
    assert not home.get_pid_file("neo4j").exists()
    assert "Stopped." in (home.neo4j_logs / "neo4j.log").read_text().splitlines()[-1], "it could finish"
    assert "was not running" in machine.kg("down")[1]


@pytest.mark.timeout(1500)
def test_restored_copy_searches_equally_despite_killed_restores(
    first_ups: tuple[Machine, object], library: tuple[Hits, bytes]
) -> None:
    machine, (before, boat) = first_ups[0], library
    folder = machine.home.parent
    machine = machine.with_variables(KG_BACKUP__FOLDER=str(folder / "backups"))
    machine.kg("down")
    path = json.loads(machine.kg("admin", "backup", "--keep", "1", "--json")[0])["path"]
    copy = fresh_machine(folder / "copy")
    home, restore = Home(copy.home), ("admin", "restore", path)
    killed(copy, *restore, reached=home.restoring.joinpath("neo4j/data/transactions/neo4j").exists)
    assert not home.has_data()
    assert "interrupted" in copy.kg("doctor", code=1)[0]
    assert json.loads(copy.kg(*restore, "--json")[0])["counts"]["documents"] == 3
    assert not home.restoring.exists()
    assert "--replace" in copy.kg(*restore, code=5)[1]
    assert "nothing was done" in copy.kg(*restore, "--replace", code=1)[1]
    try:
        copy.kg("up")
        url = copy.status()["api_url"]
        until(lambda: hits(url) == before, "the same hits with the same scores", 30, pause=0.5)
        assert picture(copy) == boat
    finally:
        copy.kg("down")


def killed(machine: Machine, *arguments: str, reached: Callable[[], bool]) -> None:
    command = [sys.executable, "-m", "kg_cli.main", *arguments]
    with subprocess.Popen(command, env=machine.env, stderr=subprocess.DEVNULL) as child:
        until(reached, "the restore to be under way", 180)
        child.kill()


def test_a_home_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert str(tmp_path / "file") in fresh_machine(tmp_path / "file").kg("up", code=78)[1]

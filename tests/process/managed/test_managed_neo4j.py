"""The managed Neo4j itself: real processes, real data."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import stat
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit

import neo4j
import psutil
import pytest
from neo4j.exceptions import AuthError

from kg_api.errors import ConfigurationError, ManagedProcessError
from kg_api.local import neo4j as jars
from kg_api.local import processes
from kg_api.local.neo4j import choose_bolt_port, neo4j_role
from kg_api.local.processes import Home, ProcessId, Role
from kg_api.settings import load_settings
from tests.neo4j_server import Neo4jServer, managed_server, small_settings
from tests.support import migrated_home

CANARY = "kg-canary-3f9a"


@pytest.fixture(scope="module")
def managed() -> Generator[Neo4jServer]:
    os.environ["KG_API_KEY"] = CANARY
    try:
        with managed_server(first_start=True) as started:
            yield started
    finally:
        del os.environ["KG_API_KEY"]


@pytest.fixture
def own_server(managed: Neo4jServer) -> Neo4jServer:
    """A running Neo4j that a test may kill."""
    if managed.role and processes.running(managed.role) is None:
        managed.restart()
    return managed


@pytest.fixture
def role(own_server: Neo4jServer) -> Role:
    assert own_server.role is not None
    return own_server.role


@pytest.fixture
def home(own_server: Neo4jServer) -> Home:
    return Home(own_server.home)


def query(
    server: Neo4jServer, text: LiteralString, password: str | None = None, **parameters: Any
) -> list[list[Any]]:
    with neo4j.GraphDatabase.driver(server.uri, auth=(server.user, password or server.password)) as driver:
        return [list(record) for record in driver.execute_query(text, parameters).records]


def process_of(role: Role) -> ProcessId:
    process = processes.running(role)
    assert process is not None
    return process


def test_it_is_the_pinned_community_edition(own_server: Neo4jServer) -> None:
    rows = query(own_server, "CALL dbms.components() YIELD name, versions, edition")
    assert ["Neo4j Kernel", [jars.VERSION], "community"] in rows


def test_it_listens_on_loopback_alone(role: Role) -> None:
    process = psutil.Process(process_of(role).pid)
    listening = [c.laddr for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert [address[0].removeprefix("::ffff:") for address in listening] == ["127.0.0.1"]
    assert not [c for c in process.net_connections("udp") if c.laddr]


def test_only_the_password_of_the_file_opens_it(own_server: Neo4jServer, home: Home) -> None:
    assert stat.S_IMODE(home.password_file.stat().st_mode) == 0o600
    assert own_server.password == home.password()
    assert query(own_server, "RETURN 1") == [[1]]
    with pytest.raises(AuthError):
        query(own_server, "RETURN 1", password="neo4j")


def test_wrong_passwords_of_a_stranger_lock_nobody_out(own_server: Neo4jServer) -> None:
    for _ in range(10):
        with pytest.raises(AuthError):
            query(own_server, "RETURN 1", password="guess")
        assert query(own_server, "RETURN 1") == [[1]]


def test_its_settings_are_in_force(own_server: Neo4jServer) -> None:
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
    assert dict(query(own_server, text, names=list(wanted))) == wanted


def test_neither_password_nor_keys_reach_its_arguments_environment_or_files(
    own_server: Neo4jServer, role: Role, home: Home
) -> None:
    process = psutil.Process(process_of(role).pid)
    for secret in (own_server.password, CANARY):
        assert secret not in " ".join([*process.cmdline(), *process.environ().values()])
        files = [path for path in home.path.rglob("*") if path.is_file() and path != home.password_file]
        assert [path for path in files if secret.encode() in path.read_bytes()] == []


def test_another_home_does_not_take_it_for_its_own(role: Role, tmp_path: Path) -> None:
    assert process_of(role)
    assert processes.running(neo4j_role(Home(tmp_path), small_settings(tmp_path))) is None


def test_a_running_server_keeps_its_port(home: Home, role: Role) -> None:
    assert process_of(role)
    before = home.bolt_port()
    assert choose_bolt_port(home, small_settings(home.path)) == before


def test_kill_9_loses_nothing_and_a_stale_pid_file_is_no_hindrance(
    own_server: Neo4jServer, role: Role
) -> None:
    query(own_server, "CREATE (:Kept {n: 1})")
    own_server.kill()
    me = processes.identify(os.getpid())
    assert me is not None
    processes.save(role.pid_file, ProcessId(me.pid, me.created - 100))  # the pid went to somebody else
    own_server.restart()
    assert process_of(role).pid != me.pid
    assert query(own_server, "MATCH (k:Kept) RETURN k.n") == [[1]]


def test_a_graceful_stop_lets_it_finish(own_server: Neo4jServer, role: Role, home: Home) -> None:
    process = process_of(role)
    own_server.stop()
    assert not process.alive()
    assert not role.pid_file.exists()
    assert "Stopped." in (home.neo4j_logs / "neo4j.log").read_text().splitlines()[-1]


def test_a_name_that_the_server_does_not_know_is_told(tmp_path: Path) -> None:
    with broken_start(tmp_path, {"server.no_such_setting": "1"}) as message:
        assert "Unrecognized setting" in message
        assert "server.no_such_setting" in message
        assert str(tmp_path) in message


def test_a_port_that_is_taken_in_between_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with broken_start(tmp_path, {"server.bolt.listen_address": address}) as message:
            assert "Address already in use" in message


def test_a_taken_port_that_was_asked_for_is_refused_before_anything_starts(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"port {port}.*KG_NEO4J__PORT.*pid {os.getpid()}"):
            choose_bolt_port(home, small_settings(tmp_path, port))
    assert home.bolt_port() is None


def test_a_port_that_somebody_else_took_is_changed(tmp_path: Path, own_server: Neo4jServer) -> None:
    """Two that start at once choose one port: the later one must not take the other's server for its own."""
    migrated_home.give(tmp_path)
    home, settings = Home(tmp_path).create(), small_settings(tmp_path)
    taken = urlsplit(own_server.uri).port or 0
    home.remember(neo4j=taken)
    role = neo4j_role(home, settings)
    me = processes.identify(os.getpid())
    assert me is not None
    processes.save(role.pid_file, me)
    assert "another server answers" in (role.waiting_for() or "")
    role.pid_file.unlink()
    processes.save(home.pid_file("api"), me)
    role.prepare()
    assert home.bolt_port() == taken, "a service waits for it there"
    home.pid_file("api").unlink()
    try:
        processes.wait(role, processes.start(role), timeout=120)
        assert home.bolt_port() not in {None, taken}
        own = Neo4jServer(home.bolt_uri() or "", "neo4j", home.password() or "", role)
        assert query(own, "RETURN 1") == [[1]]
    finally:
        processes.stop(role)


def test_damaged_and_missing_jars_are_found_and_fetched_again(tmp_path: Path) -> None:
    cache = load_settings().cache
    jars.fetch(cache)
    shutil.copytree(cache / "m2", tmp_path / "m2", copy_function=_link)
    shutil.copytree(cache / "verified", tmp_path / "verified")
    paths = jars.fetch(tmp_path)
    damaged, missing = paths[7], paths[8]
    before = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (damaged, missing)]
    damaged.unlink()
    damaged.write_bytes(b"half a jar")
    missing.unlink()
    assert jars.inspect(tmp_path) == ([missing], [damaged])
    assert jars.check_jars(tmp_path) == paths
    assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in (damaged, missing)] == before
    assert jars.inspect(tmp_path) == ([], [])


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copyfile(source, target)


class broken_start:  # noqa: N801 - reads as a function
    """Start a Neo4j with more lines in its configuration; give what is said of its death."""

    def __init__(self, folder: Path, more: dict[str, str]) -> None:
        migrated_home.give(folder)
        self._home = Home(folder).create()
        self._more = more
        settings = small_settings(folder)
        choose_bolt_port(self._home, settings)
        self._role = neo4j_role(self._home, settings)

    def __enter__(self) -> str:
        role = replace(self._role, prepare=self._prepare)
        with pytest.raises(ManagedProcessError) as caught:
            processes.wait(role, processes.start(role), timeout=60)
        return str(caught.value)

    def __exit__(self, *_: object) -> None:
        processes.stop(self._role)

    def _prepare(self) -> None:
        self._role.prepare()
        conf = self._home.neo4j_conf / "neo4j.conf"
        kept = [line for line in conf.read_text().splitlines() if line.split("=")[0] not in self._more]
        conf.write_text("\n".join([*kept, *(f"{name}={value}" for name, value in self._more.items())]))

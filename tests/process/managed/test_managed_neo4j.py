import hashlib
import os
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kg_api.errors import ManagedProcessError
from kg_api.local import neo4j as jars
from kg_api.local import processes
from kg_api.local.neo4j import build_neo4j_role, choose_bolt_port
from kg_api.local.processes import Home
from kg_api.settings import load_settings
from tests.neo4j_server import Neo4jServer, small_settings
from tests.support import migrated_home


def test_unknown_server_setting_is_reported(tmp_path: Path) -> None:
    with broken_start(tmp_path, {"server.no_such_setting": "1"}) as message:
        assert "Unrecognized setting" in message
        assert "server.no_such_setting" in message
        assert str(tmp_path) in message


def test_default_port_in_use_changes(tmp_path: Path, server: Neo4jServer) -> None:
    """If two start at once, both choose the same port. The second one should not use the server of the
    first."""
    migrated_home.give(tmp_path)
    home, settings = Home(tmp_path).create(), small_settings(tmp_path)
    taken = urlsplit(server.uri).port or 0
    home.remember(neo4j=taken)
    role = build_neo4j_role(home, settings)
    me = processes.identify(os.getpid())
    assert me is not None
    processes.save(role.pid_file, me)
    assert choose_bolt_port(home, settings) == taken, "one that runs keeps its port"
    assert "another server answers" in (role.waiting_for() or "")
    role.pid_file.unlink()
    processes.save(home.get_pid_file("api"), me)
    role.prepare()
    assert home.read_bolt_port() == taken, "a service waits for it there"
    home.get_pid_file("api").unlink()
    role.prepare()
    assert home.read_bolt_port() not in {None, taken}
    assert f":{home.read_bolt_port()}" in (home.neo4j_conf / "neo4j.conf").read_text()


def test_damaged_and_missing_jars_are_downloaded_again(tmp_path: Path) -> None:
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
    def __init__(self, folder: Path, more: dict[str, str]) -> None:
        migrated_home.give(folder)
        self._home = Home(folder).create()
        self._more = more
        settings = small_settings(folder)
        choose_bolt_port(self._home, settings)
        self._role = build_neo4j_role(self._home, settings)

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

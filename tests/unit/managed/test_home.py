import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Generator
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from pydantic import SecretStr

from kg_api.errors import ConfigurationError, StorageFull
from kg_api.local import processes
from kg_api.local.neo4j import LACK_OF_HEAP, NAME, DiskRoom, _size_memory_for_start, choose_machine_memory
from kg_api.local.processes import Home
from kg_api.settings import Neo4jSettings, Settings
from kg_cli.stack.roles import stop_all


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "kg").create()


def test_opening_a_home_writes_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path / "kg")
    assert (home.build_bolt_uri(), home.build_api_url(), home.read_password()) == (None, None, None)
    assert not home.path.exists()


def test_folders_are_accessible_to_their_owner_only(home: Home) -> None:
    folders = [home.path, *(path for path in home.path.rglob("*") if path.is_dir())]
    assert len(folders) > 5
    assert {mode(folder) for folder in folders} == {0o700}


def test_relative_home_is_resolved_at_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Home(Path("here")).path == tmp_path / "here"


LISTENING = """
import socket, sys
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def listening(home: Path) -> Generator[int]:
    """Yield the port of a process that looks like a kg of this home."""
    command, environment = [sys.executable, "-c", LISTENING, "kg_cli"], {**os.environ, "KG_HOME": str(home)}
    with Popen(command, env=environment, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin:
            yield int(process.stdout.readline())


def test_port_belongs_to_the_home_of_its_listener(tmp_path: Path) -> None:
    homes = [tmp_path / "one", tmp_path / "two"]
    with listening(homes[0]) as first, listening(homes[1]) as second:
        ports = [first, second, processes.find_free_port()]
        assert [processes.find_holder_home(port) for port in ports] == [str(homes[0]), str(homes[1]), None]
        held = [[processes.is_port_held_by_home(home, port) for port in ports] for home in homes]
        assert held == [[True, False, False], [False, True, False]]


def test_the_password_is_random_kept_and_private(home: Home, tmp_path: Path) -> None:
    password = home.ensure_password()
    assert home.ensure_password() == password == home.read_password()
    assert mode(home.password_file) == 0o600
    assert len(password) >= 40
    assert password.isalnum()  # one that begins with a dash is an option to Neo4j's command
    assert Home(tmp_path / "other").create().ensure_password() != password


def test_lost_password_of_existing_database_is_not_replaced(home: Home) -> None:
    home.ensure_password()
    (home.neo4j_data / "databases" / "system").mkdir(parents=True)
    home.password_file.unlink()
    with pytest.raises(ConfigurationError, match="Restore the file"):
        home.ensure_password()
    assert home.read_password() is None


def test_interrupted_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    processes.write_text(path, "old")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        processes.write_text(path, "new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert path.read_text(encoding="utf-8") == "old"


def test_full_disk_keeps_rewritten_json_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processes.write_json(path := tmp_path / "file", {"long": "value " * 20})

    def fail(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(processes, "write_json", fail)
    processes.rewrite_json(path, {"a": 1})
    assert processes.read_json(path) == {"a": 1}


def test_home_below_a_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="cannot be used: Not a directory"):
        Home(tmp_path / "file" / "kg").create()


def test_instance_differs_between_homes_and_copies(home: Home, tmp_path: Path) -> None:
    assert home.read_instance() == Home(home.path).create().read_instance()
    assert Home(tmp_path / "never").read_instance() is None
    copied = Home(shutil.copytree(home.path, tmp_path / "copy"))
    other = Home(tmp_path / "other").create()
    assert len({home.read_instance(), copied.read_instance(), other.read_instance()}) == 3
    (tmp_path / "link").symlink_to(home.path)
    assert Home(tmp_path / "link").read_instance() == home.read_instance()


def test_empty_id_of_a_killed_start_is_replaced(home: Home) -> None:
    home.id_file.write_text("")
    assert home.read_instance() is None
    home.create()
    assert home.read_instance() is not None


EVERYTHING = 1 << 60


def test_writes_are_rejected_below_the_disk_reserve(tmp_path: Path) -> None:
    full = DiskRoom(tmp_path / "not" / "there" / "yet", EVERYTHING)
    with pytest.raises(StorageFull, match="the disk is full"):
        full.require()
    assert full.is_little()


def test_next_start_after_low_heap_uses_more(tmp_path: Path) -> None:
    home, settings = Home(tmp_path).create(), Neo4jSettings(heap_mb=512)
    assert _size_memory_for_start(home, settings) == choose_machine_memory(settings)
    home.log_file(NAME).write_text(f"INFO started\nTerminating due to {LACK_OF_HEAP}: Java heap space\n")
    assert _size_memory_for_start(home, settings).heap_mb > 512
    home.log_file(NAME).write_text(f"Terminating due to {LACK_OF_HEAP}: Java heap space\n" + "INFO ok\n" * 9)
    assert _size_memory_for_start(home, settings).heap_mb == 512
    assert processes.read_tail(home.log_file(NAME), 1) == ["INFO ok"]


def test_down_stops_neo4j_although_the_settings_name_another_one_now(home: Home) -> None:
    with Popen(["sleep", "20"]) as child:
        found = processes.identify(child.pid)
        assert found
        processes.save(home.get_pid_file("neo4j"), found)
        elsewhere = Settings(
            home=home.path, neo4j=Neo4jSettings(uri="bolt://127.0.0.1:1", password=SecretStr("x"))
        )
        assert stop_all(home, elsewhere, lambda _: None) == ["neo4j"]
        assert child.wait(10) != 0

from collections.abc import Callable
from pathlib import Path

import pytest

from kg_api.local.processes import Home
from kg_api.transfer.backup import MANIFEST
from tests.process.managed.test_kg_up import fresh_machine, machine_in
from tests.support.backups import write_backup


def cut(path: Path) -> None:
    (path / "neo4j.dump").write_bytes(b"rec")


def spoil(path: Path) -> None:
    (path / "neo4j.dump").write_bytes(b"rEcords")


def lose(path: Path) -> None:
    (path / "blobs/ab/ab1").unlink()


def unfinish(path: Path) -> None:
    (path / MANIFEST).unlink()


def garble(path: Path) -> None:
    (path / MANIFEST).write_text((path / MANIFEST).read_text()[:-100])


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        *((cut, "damaged"), (spoil, "damaged"), (lose, "ab1 is missing")),
        *((unfinish, "manifest.json, which is written last, is missing"), (garble, "damaged")),
    ],
)
def test_corrupt_backup_is_rejected_and_home_stays_empty(
    tmp_path: Path, harm: Callable[[Path], None], told: str
) -> None:
    backup = write_backup(tmp_path, "kg-1")
    harm(backup)
    machine = fresh_machine(tmp_path / "kg")
    assert told in machine.kg("admin", "restore", str(backup), code=5)[1]
    assert not Home(machine.home).has_data()
    assert not Home(machine.home).restoring.exists()


def test_backup_of_later_version_is_rejected(tmp_path: Path) -> None:
    backup = write_backup(tmp_path, "kg-1", neo4j_version="2999.01.0", kg_version="9.9")
    machine = fresh_machine(tmp_path / "kg")
    assert "Install kg 9.9" in machine.kg("admin", "restore", str(backup), code=78)[1]
    assert not machine.home.exists()


def test_database_that_does_not_load_is_not_installed(tmp_path: Path) -> None:
    backup = write_backup(tmp_path, "kg-1")
    machine = fresh_machine(tmp_path / "kg")
    home = Home(machine.home).create()
    password = home.ensure_password()
    (home.neo4j_data / "databases/system").mkdir(parents=True)
    err = machine.kg("admin", "restore", str(backup), "--replace", "--yes", code=70)[1]
    assert "nothing was changed" in err
    assert home.read_password() == password
    assert home.has_data()
    assert not home.restoring.exists()


def test_external_neo4j_needs_its_own_backup_tools(tmp_path: Path) -> None:
    machine = machine_in(tmp_path / "kg", KG_NEO4J__URI="bolt://127.0.0.1:1", KG_NEO4J__PASSWORD="x")
    for command in (("backup",), ("restore", "kg-1")):
        assert "kg export" in machine.kg("admin", *command, code=5)[1]


def test_empty_home_and_unknown_backup_are_errors(tmp_path: Path) -> None:
    machine = fresh_machine(tmp_path / "kg")
    assert "never started" in machine.kg("admin", "backup", code=4)[1]
    write_backup(machine.home / "backups", "kg-2")
    assert "Backups in" in (err := machine.kg("admin", "restore", "kg-1", code=4)[1])
    assert ": kg-2" in err
    within = tmp_path / "data/neo4j/backups"
    data = fresh_machine(tmp_path / "data")
    assert "is part of the backed-up data" in data.kg("admin", "backup", str(within), code=2)[1]

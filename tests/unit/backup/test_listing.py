import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from kg_api.errors import Conflict, SchemaTooNew
from kg_api.local.processes import Home
from kg_api.settings import load_settings
from kg_api.transfer import backup
from kg_api.transfer.backup import (
    MANIFEST,
    BackupManifest,
    Restored,
    finish_swap,
    holds_data,
    read_manifest,
    remove_oldest,
    require_known_neo4j,
    require_no_mounts,
    swap,
)
from kg_cli.stack.doctor import examine_restore
from kg_cli.transfer import backups
from tests.support.backups import FILES, write_backup


@pytest.mark.parametrize(
    "path",
    ["../etc/passwd", "blobs/../../x", "blobs/..", "/etc/passwd", "logs/x", "blobs", "", "neo4j.dump\n"],
)
def test_manifest_paths_stay_inside_the_backup(tmp_path: Path, path: str) -> None:
    value = read_manifest(write_backup(tmp_path, "kg-1")).model_dump(mode="json")
    value["files"][0]["path"] = path
    with pytest.raises(ValueError, match="pattern"):
        BackupManifest.model_validate(value)


def test_incomplete_backups_are_never_removed(tmp_path: Path) -> None:
    newest = write_backup(tmp_path, "kg-20260131-000009")
    assert read_manifest(newest).bytes == sum(map(len, FILES.values()))
    (write_backup(tmp_path, "kg-20260131-000002") / "blobs/ab/ab1").unlink()
    (write_backup(tmp_path, "kg-20260131-000003") / "neo4j.dump").write_bytes(b"lo")
    (write_backup(tmp_path, "kg-20260131-000004") / MANIFEST).write_text("{")
    (write_backup(tmp_path, "kg-20260131-000005") / MANIFEST).unlink()
    write_backup(tmp_path, "kg-20260131-000006", format=3)
    (tmp_path / "kg-notes.txt").touch()
    assert remove_oldest(tmp_path, 1, "/home") == []
    assert remove_oldest(tmp_path / "nowhere", 1, "/home") == []


def test_oldest_backups_are_deleted_except_the_last(tmp_path: Path) -> None:
    for number in range(1, 5):
        write_backup(tmp_path, f"kg-2026010{number}-000000")
    (tmp_path / "kg-20260104-000000" / MANIFEST).unlink()
    other = write_backup(tmp_path, "kg-20250101-000000", home="/elsewhere")
    assert [path.name[9:11] for path in remove_oldest(tmp_path, 2, "/home")] == ["01"]
    assert [path.name[9:11] for path in remove_oldest(tmp_path, 0, "/home")] == ["02"]
    assert (tmp_path / "kg-20260103-000000").exists()
    assert other.exists()


def test_backup_of_later_neo4j_is_rejected(tmp_path: Path) -> None:
    for version in ("2025.01.0", "2026.08.1"):
        require_known_neo4j(read_manifest(write_backup(tmp_path, "kg-1", neo4j_version=version)))
    with pytest.raises(SchemaTooNew, match="Nothing was changed"):
        require_known_neo4j(read_manifest(write_backup(tmp_path, "kg-1", neo4j_version="2026.10.0")))


def test_interrupted_restore_is_reported(tmp_path: Path) -> None:
    home = Home(tmp_path / "kg").create()
    assert [*examine_restore(home, load_settings())] == []
    home.restoring.mkdir()
    assert [(each.name, each.state) for each in examine_restore(home, load_settings())] == [
        ("restore", "warn")
    ]


BACKUP = Path("/backups/kg-1")


class KilledError(Exception): ...


def home_with(path: Path, *, blobs: bool = True, restored_blobs: bool = True) -> Home:
    home = Home(path / "kg").create()
    fill(home.path, "old", blobs=blobs)
    fill(home.restoring, "new", blobs=restored_blobs)
    return home


def fill(place: Path, text: str, *, blobs: bool) -> None:
    (place / "neo4j/data/databases/system").mkdir(parents=True, exist_ok=True)
    (place / "neo4j/data/records").write_text(text)
    (place / "neo4j-password").write_text(text)
    if blobs:
        (place / "blobs").mkdir()
        (place / "blobs/picture").write_text(text)


def held(home: Home) -> dict[str, str]:
    paths = ("neo4j/data/records", "neo4j-password", "blobs/picture")
    return {path: (home.path / path).read_text() for path in paths if (home.path / path).exists()}


@pytest.mark.parametrize("restored_blobs", [True, False])
@pytest.mark.parametrize("blobs", [True, False])
@pytest.mark.parametrize("killed_at", range(1, 12))
def test_interrupted_swap_is_finished_by_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int, blobs: bool, restored_blobs: bool
) -> None:
    home = home_with(tmp_path, blobs=blobs, restored_blobs=restored_blobs)
    steps = kill_at(monkeypatch, killed_at)
    try:
        swap(home, BACKUP)
    except KilledError:
        pass
    else:
        assert steps[0] < killed_at, "there were no more steps"
    monkeypatch.undo()
    home.create()  # as every command that starts something does
    noted = home.restore_file.exists()
    assert finish_swap(home) == (str(BACKUP) if noted else None)
    wanted = {"neo4j/data/records", "neo4j-password", *(["blobs/picture"] if restored_blobs else [])}
    before = {"neo4j/data/records", "neo4j-password", *(["blobs/picture"] if blobs else [])}
    untouched = killed_at == 1
    assert held(home) == dict.fromkeys(before if untouched else wanted, "old" if untouched else "new")


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> list[int]:
    """Let the process end before its n-th rename or removal."""
    done = [0]

    def counted(action: Any) -> Any:
        def act(*arguments: Any, **options: Any) -> Any:
            done[0] += 1
            if done[0] == step:
                raise KilledError
            return action(*arguments, **options)

        return act

    monkeypatch.setattr(backup.shutil, "rmtree", counted(shutil.rmtree))
    monkeypatch.setattr(Path, "rename", counted(Path.rename))
    monkeypatch.setattr(Path, "unlink", counted(Path.unlink))
    return done


def test_data_on_another_disk_is_rejected_before_moving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = home_with(tmp_path)
    monkeypatch.setattr(Path, "is_mount", lambda path: path == home.blobs)
    with pytest.raises(Conflict, match="separate disk"):
        require_no_mounts(home)


def test_an_empty_home_holds_nothing_to_replace(tmp_path: Path) -> None:
    home = Home(tmp_path / "kg")
    assert not holds_data(home)
    home.create()
    home.blobs.mkdir()
    assert not holds_data(home)
    (home.blobs / "picture").touch()
    assert holds_data(home)


@pytest.mark.parametrize("as_json", [True, False])
def test_restore_reports_what_the_backup_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    found = write_backup(tmp_path, "kg-1", left_out=["the logs"], settings=["KG_LLM__MODEL"])
    restored = Restored({"ontologies": 1, "documents": 3}, ["2 API keys were revoked"])
    monkeypatch.setenv("KG_HOME", str(tmp_path / "kg"))
    monkeypatch.setattr(backups, "stopped", lambda *_: nullcontext())
    monkeypatch.setattr(backup, "restore_backup", lambda *_: restored)
    backups.restore_backup(found, replace=False, agreed=False, as_json=as_json)
    told = capsys.readouterr()
    for each in ("2 API keys were revoked", "not in the backup: the logs", "KG_LLM__MODEL"):
        assert each in (told.out if as_json else told.err)
    assert as_json or "1 ontology, 3 documents" in told.out

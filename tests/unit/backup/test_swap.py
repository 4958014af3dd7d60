from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kg_api.errors import Conflict
from kg_api.local.processes import Home
from kg_api.transfer import backup
from kg_api.transfer.backup import finish_swap, holds_data, require_no_mounts, swap

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


def test_restored_data_replaces_the_old(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    swap(home, BACKUP)
    assert set(held(home).values()) == {"new"}
    assert not any(path.exists() for path in (home.restoring, home.replaced, home.restore_file))
    assert finish_swap(home) is None


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

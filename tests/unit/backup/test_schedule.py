"""Schedule and swap of backups."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from kg_api.errors import Conflict
from kg_api.local.processes import Home, ProcessId
from kg_api.transfer import backup, restore
from kg_api.transfer.backup import (
    RETRY_SECONDS,
    BackupRecord,
    BackupSchedule,
    get_next_backup_time,
    is_overdue,
)
from kg_api.transfer.restore import finish_swap, holds_data, swap

DAY = 86_400.0
GONE = ProcessId(2**22 + 1, 1.0)
MADE = BackupRecord(begun=1000.0, ended=1010.0, made=1000.0, path="/backups/kg-1")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "kg").create()


def test_the_next_one_is_due_after_the_last_and_soon_after_a_failure() -> None:
    assert get_next_backup_time(None, DAY) == 0.0
    assert get_next_backup_time(MADE, DAY) == 1000.0 + DAY
    failed = replace(MADE, begun=500_000.0, ended=500_001.0, error="the disk is full")
    assert get_next_backup_time(failed, DAY) == 500_000.0 + RETRY_SECONDS
    assert get_next_backup_time(replace(failed, begun=2000.0), DAY) == 1000.0 + DAY
    assert get_next_backup_time(replace(failed, made=None), 60.0) == 500_060.0


def test_it_is_overdue_when_two_are_missing() -> None:
    assert is_overdue(None, DAY, 0.0)
    assert not is_overdue(MADE, DAY, 1000.0 + 2 * DAY)
    assert is_overdue(MADE, DAY, 1001.0 + 2 * DAY)
    assert is_overdue(replace(MADE, made=None), DAY, 0.0)


class Clock:
    now = 10_000.0

    def __call__(self) -> float:
        return self.now


def test_one_at_a_time_only_when_neo4j_works_and_only_when_due(home: Home) -> None:
    clock, started = Clock(), list[ProcessId]()

    def start() -> ProcessId:
        started.append(GONE)
        return GONE

    schedule = BackupSchedule(home, DAY, start, clock)
    schedule.attend({"api"})
    assert not started
    schedule.attend({"neo4j"})
    assert len(started) == 1
    with capture_logs() as logs:
        schedule.attend({"neo4j"})
    assert [(each["event"], each["reason"]) for each in logs] == [
        ("backup failed", "the backup left no record")
    ]
    assert len(started) == 1, "it is not tried again at once"
    clock.now += RETRY_SECONDS
    schedule.attend({"neo4j"})
    assert len(started) == 2


def test_one_that_is_being_made_by_hand_is_waited_for(home: Home) -> None:
    started = list[ProcessId]()
    schedule = BackupSchedule(home, 1.0, lambda: started.append(GONE) or GONE)
    begun = backup.begin(home)
    schedule.attend({"neo4j"})
    assert not started
    backup.succeed(home, replace(begun, begun=1.0), "/backups/kg-1", 10, 0.1)
    schedule.attend({"neo4j"})
    assert started


def test_the_record_tells_of_the_last_attempt_and_of_the_last_whole_one(home: Home) -> None:
    assert backup.read_record(home) is None
    begun = backup.begin(home)
    assert begun.running()
    backup.succeed(home, begun, "/backups/kg-1", 10, 0.1)
    backup.fail(home, backup.begin(home), "the disk is full")
    known = backup.read_record(home)
    assert known is not None
    assert (known.path, known.made, known.trouble()) == ("/backups/kg-1", begun.begun, "the disk is full")


def test_the_record_of_one_that_was_killed_says_so(home: Home) -> None:
    script = (
        "import sys; from pathlib import Path; from kg_api.transfer import backup; "
        "from kg_api.local.processes import Home; backup.begin(Home(Path(sys.argv[1])))"
    )
    subprocess.run([sys.executable, "-c", script, str(home.path)], check=True)
    known = backup.read_record(home)
    assert known is not None
    assert not known.running()
    assert known.trouble() == "the backup was interrupted"


def test_a_damaged_record_is_none(home: Home) -> None:
    home.backup_file.write_text('{"unknown": 1}')
    assert backup.read_record(home) is None


BACKUP = Path("/backups/kg-1")


class KilledError(Exception):
    """The process ends here."""


def home_with(path: Path, *, blobs: bool = True, restored_blobs: bool = True) -> Home:
    """A home with a database, and another one restored beside it."""
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


def test_what_is_restored_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    home = home_with(tmp_path)
    swap(home, BACKUP)
    assert set(held(home).values()) == {"new"}
    assert not any(path.exists() for path in (home.restoring, home.replaced, home.restore_file))
    assert finish_swap(home) is None


@pytest.mark.parametrize("restored_blobs", [True, False])
@pytest.mark.parametrize("blobs", [True, False])
@pytest.mark.parametrize("killed_at", range(1, 12))
def test_a_kill_at_any_step_is_finished_by_the_next_command(
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

    monkeypatch.setattr(restore.shutil, "rmtree", counted(shutil.rmtree))
    monkeypatch.setattr(Path, "rename", counted(Path.rename))
    monkeypatch.setattr(Path, "unlink", counted(Path.unlink))
    return done


def test_a_part_that_is_a_disk_of_its_own_is_refused_before_anything_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = home_with(tmp_path)
    monkeypatch.setattr(Path, "is_mount", lambda path: path == home.blobs)
    with pytest.raises(Conflict, match="separate disk"):
        swap(home, BACKUP)
    assert set(held(home).values()) == {"old"}


def test_an_empty_home_holds_nothing_to_replace(tmp_path: Path) -> None:
    home = Home(tmp_path / "kg")
    assert not holds_data(home)
    home.create()
    home.blobs.mkdir()
    assert not holds_data(home)
    (home.blobs / "picture").touch()
    assert holds_data(home)

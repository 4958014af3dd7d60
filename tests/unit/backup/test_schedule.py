from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from kg_api.local.processes import Home, ProcessId
from kg_api.transfer import backup
from kg_api.transfer.backup import RETRY_SECONDS, BackupRecord, BackupSchedule, due_at, is_overdue

DAY = 86_400.0
GONE = ProcessId(2**22 + 1, 1.0)
MADE = BackupRecord(begun=1000.0, ended=1010.0, made=1000.0, path="/backups/kg-1")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "kg").create()


def test_the_next_one_is_due_after_the_last_and_soon_after_a_failure() -> None:
    assert due_at(None, DAY) == 0.0
    assert due_at(MADE, DAY) == 1000.0 + DAY
    failed = replace(MADE, begun=500_000.0, ended=500_001.0, error="the disk is full")
    assert due_at(failed, DAY) == 500_000.0 + RETRY_SECONDS
    assert due_at(replace(failed, begun=2000.0), DAY) == 1000.0 + DAY
    assert due_at(replace(failed, made=None), 60.0) == 500_060.0


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
    assert [(each["event"], each["reason"]) for each in logs] == [("backup failed", "it left no record")]
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
    assert known.trouble() == "it was interrupted"


def test_a_damaged_record_is_none(home: Home) -> None:
    home.backup_file.write_text('{"unknown": 1}')
    assert backup.read_record(home) is None

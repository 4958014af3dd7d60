"""What `kg status` and `kg doctor` say of backups, and room on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.errors import StorageFull
from kg_api.local.processes import Home
from kg_api.settings import BackupSettings, Settings, load_settings
from kg_api.transfer import backup
from kg_api.transfer.backup import MIB, require_room
from kg_cli.stack.doctor import describe_last, examine_backups


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "kg").create()


def settings_with(hours: float | None) -> Settings:
    return load_settings().model_copy(update={"backup": BackupSettings(every_hours=hours)})


def findings(home: Home, hours: float | None = None) -> list[tuple[str, str]]:
    return [(each.name, each.state) for each in examine_backups(home, settings_with(hours))]


def test_where_nobody_asks_for_backups_nothing_is_said(home: Home) -> None:
    assert describe_last(home) is None
    assert findings(home) == []


def test_one_that_is_due_and_was_never_made_is_a_warning(home: Home) -> None:
    assert findings(home, 24) == [("backup", "warn")]


def test_the_last_one_is_told_and_a_failure_after_it_too(home: Home) -> None:
    backup.succeed(home, backup.begin(home), "/backups/kg-1", 10, 0.1)
    assert str(describe_last(home)).endswith("ago: /backups/kg-1")
    assert findings(home, 24) == [("backup", "ok")]
    begun = backup.begin(home)
    assert str(describe_last(home)).endswith("/backups/kg-1; one is being made")
    backup.fail(home, begun, "the disk is full")
    assert str(describe_last(home)).endswith("the last attempt failed: the disk is full")
    assert findings(home) == [("backup", "warn")]


def test_a_restore_that_was_interrupted_is_told(home: Home) -> None:
    home.restoring.mkdir()
    assert findings(home) == [("restore", "warn")]


def test_only_what_there_is_room_for_is_begun(tmp_path: Path) -> None:
    require_room(tmp_path / "nowhere", 5, MIB)
    with pytest.raises(StorageFull, match="another disk"):
        require_room(tmp_path, 2**60, 0)

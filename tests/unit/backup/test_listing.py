"""Backups in their folder."""

from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import Conflict, NotFound, SchemaTooNew, SchemaTooOld, StorageFull
from kg_api.local import processes
from kg_api.local.processes import Home
from kg_api.settings import BackupSettings, Settings, load_settings
from kg_api.transfer import backup
from kg_api.transfer import backup as listing
from kg_api.transfer import backup as manifest
from kg_api.transfer.backup import (
    MIB,
    BackupManifest,
    Mirror,
    inspect_backup,
    list_backups,
    new_name,
    remove_interrupted,
    remove_oldest,
    require_room,
)
from kg_api.transfer.restore import check_versions, read_backup
from kg_cli.stack.doctor import describe_last, examine_backups
from tests.support.backups import FILES, manifest_of, write_backup

NOON = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)


def test_names_tell_the_time_and_none_is_given_twice(tmp_path: Path) -> None:
    first = new_name(tmp_path, NOON)
    assert first == "kg-20260131-120000"
    (tmp_path / first).mkdir()
    second = new_name(tmp_path, NOON)
    assert second == "kg-20260131-120000-2"
    (tmp_path / f"{listing.UNFINISHED}{second}").mkdir()
    assert new_name(tmp_path, NOON) == "kg-20260131-120000-3"


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    backup = write_backup(tmp_path, "kg-1")
    assert manifest.read(backup) == manifest_of(FILES)
    assert (backup / manifest.MANIFEST).stat().st_mode & 0o777 == 0o600
    assert read_backup(backup).bytes == sum(map(len, FILES.values()))


@pytest.mark.parametrize(
    "path", ["../etc/passwd", "database/../../x", "/etc/passwd", "logs/x", "database", ""]
)
def test_no_path_of_a_manifest_leads_out_of_a_backup(path: str) -> None:
    value = manifest_of(FILES).model_dump(mode="json")
    value["files"][0]["path"] = path
    with pytest.raises(ValueError, match="not inside a backup"):
        BackupManifest.model_validate(value)


def test_backups_are_listed_with_what_is_wrong_with_them(tmp_path: Path) -> None:
    write_backup(tmp_path, "kg-20260131-000001")
    (write_backup(tmp_path, "kg-20260131-000002") / "blobs/ab/ab1").unlink()
    (write_backup(tmp_path, "kg-20260131-000003") / "database/transactions/log.0").write_bytes(b"lo")
    (write_backup(tmp_path, "kg-20260131-000004") / manifest.MANIFEST).write_text("{")
    (write_backup(tmp_path, "kg-20260131-000005") / manifest.MANIFEST).unlink()
    unfinished(tmp_path, "kg-20260131-000006", alive=False)
    unfinished(tmp_path, "kg-20260131-000007", alive=True)
    (tmp_path / "kg-notes.txt").touch()
    told = {each.path.name[-1]: each.problem for each in list_backups(tmp_path)}
    assert [*told] == ["7", "6", "5", "4", "3", "2", "1"]
    assert told["1"] is None
    assert told["2"] == "blobs/ab/ab1 is missing"
    assert told["3"] == "database/transactions/log.0 has 2 bytes, not 3"
    assert "damaged" in str(told["4"])
    assert "manifest.json" in str(told["5"])
    assert (told["6"], told["7"]) == ("the backup was interrupted", "the backup is in progress")
    assert list_backups(tmp_path / "nowhere") == []


def unfinished(folder: Path, name: str, *, alive: bool) -> Path:
    path = folder / f"{listing.UNFINISHED}{name}"
    path.mkdir()
    if alive and (me := processes.identify(os.getpid())):
        processes.save(path / listing.OWNER, me)
    return path


def test_only_what_nobody_makes_any_more_is_swept(tmp_path: Path) -> None:
    dead, living = unfinished(tmp_path, "kg-1", alive=False), unfinished(tmp_path, "kg-2", alive=True)
    whole = write_backup(tmp_path, "kg-3")
    assert remove_interrupted(tmp_path) == [dead]
    assert living.exists()
    assert whole.exists()


def test_the_oldest_whole_ones_of_this_home_go_and_never_the_last(tmp_path: Path) -> None:
    for number in range(1, 5):
        write_backup(tmp_path, f"kg-2026010{number}-000000")
    (tmp_path / "kg-20260104-000000" / manifest.MANIFEST).unlink()
    other = write_backup(tmp_path, "kg-20250101-000000", home="/elsewhere")
    assert [path.name[9:11] for path in remove_oldest(tmp_path, 2, "/home")] == ["01"]
    assert [path.name[9:11] for path in remove_oldest(tmp_path, 0, "/home")] == ["02"]
    assert inspect_backup(tmp_path / "kg-20260103-000000").problem is None
    assert other.exists()


def test_a_backup_is_found_by_its_path_and_by_its_name(tmp_path: Path) -> None:
    backup = write_backup(tmp_path / "backups", "kg-1")
    assert listing.find_backup(backup, tmp_path) == backup
    assert listing.find_backup(Path("kg-1"), tmp_path / "backups") == backup
    with pytest.raises(NotFound, match="kg-2"):
        listing.find_backup(Path("kg-2"), tmp_path / "backups")


def test_versions_that_this_kg_does_not_know_are_refused() -> None:
    check_versions(manifest_of(FILES))
    check_versions(manifest_of(FILES, schema_version=""))
    check_versions(manifest_of(FILES, neo4j_version="2025.01.0"))
    for newer in ({"schema_version": "999_of_tomorrow"}, {"neo4j_version": "2026.10.0"}):
        with pytest.raises(SchemaTooNew, match="Nothing was changed"):
            check_versions(manifest_of(FILES, **newer))


def test_backup_from_before_baseline_is_rejected() -> None:
    with pytest.raises(SchemaTooOld, match="kg export"):
        check_versions(manifest_of(FILES, schema_version="schema/127_judgement_by_question"))


def test_a_form_of_tomorrow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="does not know"):
        manifest.read(write_backup(tmp_path, "kg-1", format=2))


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


def contents(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def age(path: Path, seconds: float) -> None:
    """Let a file have been changed so long ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def mirror_of(folder: Path) -> tuple[Path, Path, Mirror]:
    source, to = folder / "source", folder / "to"
    source.mkdir()
    to.mkdir()
    return source, to, Mirror([(source, "tree")], to)


def test_what_changes_between_the_passes_is_copied_in_the_end(tmp_path: Path) -> None:
    source, to, mirror = mirror_of(tmp_path)
    (source / "deep").mkdir()
    for name in ("deep/same", "changed", "gone"):
        (source / name).write_bytes(b"before")
        age(source / name, 60)
    mirror.refresh(lambda _: None)
    (source / "changed").write_bytes(b"after")
    (source / "gone").unlink()
    (source / "new").write_bytes(b"new")
    copied = list[int]()
    mirror.refresh(copied.append)
    mirror.refresh(copied.append)
    assert contents(to / "tree") == contents(source)
    assert sum(copied) == 2 * (len(b"after") + len(b"new")), "young files are copied again, old ones are not"


def test_a_change_that_no_time_and_no_size_tells_is_copied_while_the_file_is_young(tmp_path: Path) -> None:
    source, to, mirror = mirror_of(tmp_path)
    (source / "log").write_bytes(b"first!")
    at = (source / "log").stat().st_mtime_ns
    mirror.refresh(lambda _: None)
    (source / "log").write_bytes(b"second")
    os.utime(source / "log", ns=(at, at))
    mirror.refresh(lambda _: None)
    assert (to / "tree" / "log").read_bytes() == b"second"


def test_copies_are_for_their_owner_alone(tmp_path: Path) -> None:
    source, to, mirror = mirror_of(tmp_path)
    (source / "a").mkdir()
    (source / "a" / "b").write_bytes(b"x")
    (source / "a" / "b").chmod(0o644)
    mirror.refresh(lambda _: None)
    assert (to / "tree/a/b").stat().st_mode & 0o777 == 0o600
    assert (to / "tree/a").stat().st_mode & 0o777 == 0o700


def test_what_is_not_wanted_stays_out_and_a_folder_that_is_not_there_is_empty(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    for name in ("kept", ".writing-1"):
        (tmp_path / "source" / name).write_bytes(b"x")
    trees = [(tmp_path / "source", "one"), (tmp_path / "nowhere", "two")]
    mirror = Mirror(trees, tmp_path / "to", lambda path: not path.name.startswith(".writing-"))
    mirror.refresh(lambda _: None)
    assert contents(tmp_path / "to") == {"one/kept": b"x"}


STEP = st.lists(st.tuples(st.sampled_from("abc"), st.binary(max_size=4) | st.none()), max_size=4)


@given(st.lists(STEP, max_size=4))
def test_whatever_happens_between_passes_the_copy_is_equal(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[tuple[str, bytes | None]]]
) -> None:
    source, to, mirror = mirror_of(tmp_path_factory.mktemp("mirror"))
    for step in steps:
        for name, content in step:
            if content is None:
                (source / name).unlink(missing_ok=True)
            else:
                (source / name).write_bytes(content)
        mirror.refresh(lambda _: None)
    mirror.refresh(lambda _: None)
    assert contents(to) == {f"tree/{name}": content for name, content in contents(source).items()}

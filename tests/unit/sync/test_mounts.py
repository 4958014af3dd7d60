"""Documents of a file system that is not mounted stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.errors import FolderEmptied
from kg_api.ingest.folder_listing import ABSENT, FolderListing, MountCheck, read_mounts
from kg_api.text.files import FileToIngest

ROOT, SUB = "/nas/notes", "/nas/notes/team"
STORED = ["p/a.md", "p/team/b.md", "p/team/c.md", "p/teams/d.md"]
BEFORE = {"/nas": "7", SUB: "8"}


def check(now: dict[str, str], *there: str, before: dict[str, str] = BEFORE) -> MountCheck:
    listing = FolderListing(
        root=Path(ROOT),
        place=(0, 0),
        prefix="p/",
        files=[FileToIngest(Path("/nowhere", name), name) for name in there],
        problems=[],
        left_out={},
        is_private=lambda _: False,
    )
    return MountCheck(listing, before, now, STORED)


@pytest.mark.parametrize(
    ("now", "there", "told"),
    [
        ({"/": "1"}, ["p/a.md"], "that was at /nas is not mounted"),
        ({"/": "1", SUB: "8"}, ["p/team/b.md", "p/team/c.md"], "not mounted"),
        ({"/nas": "9", SUB: "8"}, ["p/other.md"], "another file system than at the last scan is at /nas"),
        ({ROOT: "9", SUB: "8"}, ["p/other.md"], f"at {ROOT}"),
    ],
)
def test_scan_without_file_system_of_folder_is_refused(
    now: dict[str, str], there: list[str], told: str
) -> None:
    with pytest.raises(FolderEmptied, match=told):
        check(now, *there).refuse_absent_root()


@pytest.mark.parametrize(
    ("now", "there"),
    [
        ({"/": "1"}, STORED),
        ({"/nas": "9", SUB: "8"}, ["p/a.md"]),
        ({ROOT: "9", SUB: "8"}, ["p/a.md"]),
        (BEFORE, ["p/other.md"]),
    ],
)
def test_other_device_with_files_of_folder_is_accepted(now: dict[str, str], there: list[str]) -> None:
    """A device has another number after a restart of the machine, and files are moved to other disks."""
    check(now, *there).refuse_absent_root()


@pytest.mark.parametrize(
    ("now", "there", "reason"),
    [
        ({"/nas": "7"}, ["p/a.md"], "not mounted: 2 documents"),
        ({"/nas": "7"}, ["p/a.md", "p/team/b.md"], "not mounted: 1 documents"),
        (BEFORE, ["p/a.md"], "is empty"),
        ({"/nas": "7", SUB: "9"}, ["p/team/other.md"], "has other files"),
    ],
)
def test_documents_of_absent_mount_stay(now: dict[str, str], there: list[str], reason: str) -> None:
    checked = check(now, *there)
    [problem] = checked.list_absent()
    assert problem.document == "p/team/"
    assert reason in problem.reason
    assert checked.to_remember([problem]) == {**now, SUB: ABSENT}


@pytest.mark.parametrize(
    ("now", "there"),
    [
        (BEFORE, ["p/team/b.md"]),
        (BEFORE, ["p/team/new.md"]),
        ({"/nas": "7", SUB: "9"}, ["p/team/b.md"]),
        ({"/nas": "7"}, ["p/team/b.md", "p/team/c.md"]),
    ],
)
def test_deletions_within_mount_are_followed(now: dict[str, str], there: list[str]) -> None:
    checked = check(now, *there)
    assert checked.list_absent() == []
    assert checked.to_remember([]) == now


def test_mount_that_was_absent_can_be_another_one() -> None:
    """A file system can have the number that another one had before."""
    absent = check({"/nas": "7"}, "p/a.md")
    before = absent.to_remember(absent.list_absent())
    assert check(BEFORE, "p/team/other.md", before=before).list_absent()
    assert not check(BEFORE, *STORED, before=before).list_absent()


def test_mount_over_documents_keeps_them() -> None:
    checked = check({"/nas": "7", SUB: "8"}, "p/a.md", before={"/nas": "7"})
    [problem] = checked.list_absent()
    assert checked.to_remember([problem]) == {"/nas": "7"}


def test_first_scan_compares_with_nothing() -> None:
    checked = check(BEFORE, before={})
    checked.refuse_absent_root()
    assert (checked.list_absent(), checked.to_remember([])) == ([], BEFORE)


def test_mounts_of_this_machine_are_read(tmp_path: Path) -> None:
    [(point, identity)] = read_mounts(tmp_path).items()
    assert tmp_path.is_relative_to(point)
    assert identity.startswith(f"{tmp_path.stat().st_dev}:")
    assert len(read_mounts(Path("/"))) > 1

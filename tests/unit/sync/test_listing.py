import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import FolderEmptied, FolderUnusable, TooLarge, UnreadableDocument
from kg_api.ingest import folder_listing
from kg_api.ingest.folder_listing import (
    ABSENT,
    FolderAccess,
    FolderListing,
    MountCheck,
    Result,
    UnsettledFile,
    add_results,
    add_same_texts,
    compute_file_stamp,
    list_folder,
    read_mounts,
    read_settled,
    resolve_inside,
)
from kg_api.schemas.documents import StoredChange
from kg_api.schemas.folders import (
    MAX_REFUSALS_KEPT,
    NewFolder,
    RefusedFile,
    ScanTally,
    build_folder_grant,
    overlap,
)
from kg_api.text.files import FileToIngest
from tests.support.sync import EVERYWHERE, no_key, put


def test_a_subfolder_that_cannot_be_listed_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, one="1", locked__two="2", locked__deep__three="3", lock="4")
    real = os.scandir

    def scandir(path: str) -> os.DirEntry[str]:
        if str(path).endswith("/locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)  # pyright: ignore[reportReturnType]

    monkeypatch.setattr(os, "scandir", scandir)
    found = list_folder(str(tmp_path), "", EVERYWHERE, granted=False)
    assert [file.document for file in found.files] == ["lock.md", "one.md"]
    assert [problem.document for problem in found.problems] == ["locked/"]
    known = ["one.md", "two.md", "lock.md", "locked/two.md", "locked/deep/three.md"]
    assert found.list_gone(known) == ["two.md"]


def test_unreadable_folder_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(FolderUnusable, match=r"Permission denied\. Nothing was deleted"):
        list_folder(str(tmp_path), "prefix/", EVERYWHERE, granted=False)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nosuch", "not found on the machine"),
        ("a.md", "is not a folder"),
        ("a.md/below", "not found on the machine"),
        ("circle", "cannot be read"),
    ],
)
def test_path_without_folder_is_an_error(tmp_path: Path, path: str, told: str) -> None:
    put(tmp_path, a="a file")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(FolderUnusable, match=told):
        list_folder(str(tmp_path / path), "", EVERYWHERE, granted=False)


def test_only_folders_that_are_allowed_are_listed(tmp_path: Path) -> None:
    put(tmp_path, allowed__notes__a="1", other__b="2")
    (tmp_path / "allowed" / "link").symlink_to(tmp_path / "other")
    access = FolderAccess([tmp_path / "allowed"], (), no_key)
    assert len(list_folder(str(tmp_path / "allowed" / "notes"), "", access, granted=False).files) == 1
    for outside in ("other", "allowed/link", ""):
        with pytest.raises(FolderUnusable, match="KG_SYNC__ROOTS"):
            list_folder(str(tmp_path / outside), "", access, granted=False)


def test_only_certainly_deleted_files_are_deleted(tmp_path: Path) -> None:
    put(tmp_path, here="1", elsewhere__a="2", low__b="3")
    (tmp_path / "link").symlink_to("elsewhere", target_is_directory=True)
    (tmp_path / "dangling.md").symlink_to("nowhere")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "link.md").symlink_to("elsewhere", target_is_directory=True)
    found = list_folder(str(tmp_path), "p/", EVERYWHERE, granted=False)
    there = {name: found.is_deleted(f"p/{name}") for name in ("here.md", "dangling.md", "elsewhere/a.md")}
    assert there == dict.fromkeys(there, False)
    gone = {
        name: found.is_deleted(f"p/{name}")
        for name in ("nosuch.md", "here.md/x.md", "no/such.md", "link/a.md", "folder.md", "link.md")
    }
    assert gone == dict.fromkeys(gone, True)
    assert found.is_deleted("here.md"), "its name is another one since it is followed with this prefix"


def test_hidden_files_are_never_listed(tmp_path: Path) -> None:
    put(tmp_path, seen="1", **{".hidden": "2", ".ssh__key": "3", "below__.git__config": "4"})
    (tmp_path / "to_file.md").symlink_to(".hidden.md")
    (tmp_path / "to_folder").symlink_to(".ssh", target_is_directory=True)
    found = list_folder(str(tmp_path), "", EVERYWHERE, granted=False)
    assert [file.document for file in found.files] == ["seen.md", "to_file.md"]
    with pytest.raises(UnreadableDocument, match="hidden"):
        resolve_inside(tmp_path / "to_file.md", tmp_path, found.is_private)
    assert resolve_inside(tmp_path / "seen.md", tmp_path, found.is_private) == tmp_path / "seen.md"


def test_kg_home_below_a_folder_is_skipped(tmp_path: Path) -> None:
    put(tmp_path, note="1", kg__neo4j__hash="2", kg__secret="3")
    (tmp_path / "way").symlink_to("kg/secret.md")
    (tmp_path / "way.md").symlink_to("kg/secret.md")
    access = FolderAccess([tmp_path], [tmp_path / "kg"], no_key)
    found = list_folder(str(tmp_path), "", access, granted=False)
    assert [file.document for file in found.files] == ["note.md", "way", "way.md"]
    assert found.left_out["folder of kg itself"] == 1, "it is told"
    with pytest.raises(UnreadableDocument, match="a folder of kg"):
        resolve_inside(tmp_path / "way.md", tmp_path, found.is_private)
    assert found.is_deleted("kg/secret.md")
    assert not found.is_deleted("note.md")


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
def test_scan_without_mounted_file_system_is_rejected(
    now: dict[str, str], there: list[str], told: str
) -> None:
    with pytest.raises(FolderEmptied, match=told):
        check(now, *there).require_mounted_root()


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
    """A device can have another number after you restart the machine, and you can move files to another
    disk."""
    check(now, *there).require_mounted_root()


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
    """A file system can get the number that was used by another one."""
    absent = check({"/nas": "7"}, "p/a.md")
    before = absent.to_remember(absent.list_absent())
    assert check(BEFORE, "p/team/other.md", before=before).list_absent()
    assert not check(BEFORE, *STORED, before=before).list_absent()


def test_mount_over_documents_keeps_them() -> None:
    checked = check({"/nas": "7", SUB: "8"}, "p/a.md", before={"/nas": "7"})
    [problem] = checked.list_absent()
    assert checked.to_remember([problem]) == {"/nas": "7"}


def test_mounts_of_this_machine_are_read(tmp_path: Path) -> None:
    [(point, identity)] = read_mounts(tmp_path).items()
    assert tmp_path.is_relative_to(point)
    assert identity.startswith(f"{tmp_path.stat().st_dev}:")
    assert len(read_mounts(Path("/"))) > 1


KEY = "k" * 64


def access(*roots: Path, private: tuple[Path, ...] = (), key: str | None = None) -> FolderAccess:
    return FolderAccess(roots, private, (lambda: key) if key else no_key)


def test_without_roots_a_folder_needs_a_grant(tmp_path: Path) -> None:
    told = access().find_objection(str(tmp_path), granted=False)
    assert told is not None
    assert all(word in told for word in ("KG_SYNC__ROOTS", "kg folders add", "kg folders remove"))
    assert access().find_objection(str(tmp_path), granted=True) is None


def test_folder_below_a_root_needs_no_grant(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in-more").mkdir()
    (tmp_path / "in" / "out").symlink_to(tmp_path / "in-more")
    (tmp_path / "name").symlink_to(tmp_path / "in")
    allowed = access(tmp_path / "in")
    for path in ("in", "in/deep", "in/not-there", "name/deep"):
        assert allowed.find_objection(str(tmp_path / path), granted=False) is None, path
    for path in ("", "in-more", "in/out", "not-there"):
        assert "KG_SYNC__ROOTS" in (allowed.find_objection(str(tmp_path / path), granted=False) or ""), path
    assert access(tmp_path / "name").find_objection(str(tmp_path / "in" / "deep"), granted=False) is None


@pytest.mark.parametrize("granted", [False, True])
def test_hidden_folders_never_may(tmp_path: Path, *, granted: bool) -> None:
    (tmp_path / ".ssh" / "keys").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / ".ssh")
    for path in (".ssh", ".ssh/keys", "link", "link/keys", ".not-there"):
        told = access(Path("/"), tmp_path).find_objection(str(tmp_path / path), granted=granted)
        assert "hidden" in (told or ""), path


@pytest.mark.parametrize("granted", [False, True])
def test_kg_home_never_may_under_any_name(tmp_path: Path, *, granted: bool) -> None:
    home = tmp_path / "kg"
    (home / "neo4j" / "data").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    for own in (home, tmp_path / "link"):
        for path in (home, home / "neo4j" / "data", tmp_path / "link", tmp_path / "link" / "neo4j"):
            told = access(Path("/"), private=(own,)).find_objection(str(path), granted=granted)
            assert "KG_HOME" in (told or ""), path


def test_grant_applies_to_one_folder_ontology_and_home() -> None:
    grant = build_folder_grant(KEY, "/home/me/notes", "notes")
    ours = access(key=KEY)
    assert ours.is_granted("/home/me/notes", "notes", grant)
    assert KEY not in grant
    assert not ours.is_granted("/home/me/other", "notes", grant)
    assert not ours.is_granted("/home/me/notes", "other", grant)
    foreign, keyless = (build_folder_grant(key, "/home/me/notes", "notes") for key in ("another", ""))
    for granted in (None, "", "é" * 64, foreign):
        assert not ours.is_granted("/home/me/notes", "notes", granted)
    assert not access().is_granted("/home/me/notes", "notes", keyless)


def test_granted_folder_replaced_by_link_is_denied(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    notes = tmp_path / "notes"
    notes.symlink_to("private")
    told = access().find_objection(str(notes), granted=True, root=tmp_path / "private")
    assert f"it links to {tmp_path / 'private'}" in (told or ""), "of a worker"
    asked = access().find_objection(str(notes), granted=True) or ""
    assert ("KG_SYNC__ROOTS" in asked, "private" in asked) == (True, False), "links are not told to callers"


def nowhere(folder: Path) -> bool:  # noqa: ARG001
    return False


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "a.md"
    file.write_bytes(b"what it says")
    return file


def meddle(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Change a file after it has been opened and before it is read."""
    real = folder_listing._check

    def check(seen: os.stat_result, max_bytes: int) -> None:
        real(seen, max_bytes)
        act()

    monkeypatch.setattr(folder_listing, "_check", check)


def test_read_file_has_its_modification_time(file: Path) -> None:
    os.utime(file, (0, 1740821400))
    assert read_settled(file, 100).modified == "2025-03-01T09:30:00Z"


def test_stat_of_a_young_file_is_not_trusted(file: Path) -> None:
    assert read_settled(file, 100).stamp is None


@pytest.mark.parametrize("change", [b"more", b"", b"what it SAYS"], ids=["longer", "empty", "same size"])
def test_file_changed_during_reading_is_skipped(
    file: Path, monkeypatch: pytest.MonkeyPatch, change: bytes
) -> None:
    def write() -> None:
        time.sleep(0.02)  # longer than a tick of the file system's clock
        if change == b"more":
            with file.open("ab") as grown:
                grown.write(change)
        else:
            file.write_bytes(change)

    meddle(monkeypatch, write)
    with pytest.raises(UnsettledFile):
        read_settled(file, 100)


def test_deleted_file_is_skipped(file: Path) -> None:
    file.unlink()
    with pytest.raises(UnsettledFile):
        read_settled(file, 100)
    with pytest.raises(UnsettledFile):
        resolve_inside(file, file.parent, nowhere)


def test_file_behind_a_link_is_not_read(file: Path) -> None:
    (file.parent / "link").symlink_to(file.parent)
    with pytest.raises(UnsettledFile):
        read_settled(file.parent / "link" / file.name, 100)


def test_too_large_file_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meddle(monkeypatch, lambda: pytest.fail("it goes on to read"))
    with pytest.raises(TooLarge, match=r"11 bytes \(KG_API__MAX_DOCUMENT_BYTES\)"):
        read_settled(file, 11)


def test_what_became_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(UnreadableDocument, match="pipe"):
        read_settled(tmp_path / "pipe.md", 100)


def test_what_became_a_link_is_not_followed(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to(file)
    with pytest.raises(OSError, match="symbolic links"):
        read_settled(tmp_path / "link.md", 100)


@pytest.mark.parametrize("target", ["../secret.md", "/etc/hostname", "../notes-2/b.md"])
def test_link_out_of_the_folder_is_rejected(tmp_path: Path, target: str) -> None:
    root = tmp_path / "notes"
    for path in (root / "a.md", tmp_path / "secret.md", tmp_path / "notes-2" / "b.md"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (root / "link.md").symlink_to(target)
    (root / "own.md").symlink_to("a.md")
    with pytest.raises(UnreadableDocument, match="out of the folder"):
        resolve_inside(root / "link.md", root, nowhere)
    assert resolve_inside(root / "own.md", root, nowhere) == root / "a.md"


def test_touch_rename_and_change_alter_the_stamp(file: Path) -> None:
    stamps = [compute_file_stamp(file.stat())]
    changes: list[Callable[[], object]] = [
        lambda: os.utime(file, (1, 1)),
        lambda: file.write_bytes(b"what it SAYS"),
        lambda: file.chmod(0o600),
    ]
    for change in changes:
        time.sleep(0.02)
        change()
        stamps.append(compute_file_stamp(file.stat()))
    assert len(set(stamps)) == 4


def test_rejections_are_counted_and_some_are_kept() -> None:
    many = [RefusedFile(document=str(number), reason="why") for number in range(MAX_REFUSALS_KEPT + 5)]
    results: list[Result] = ["refused" for _ in many]
    tally = add_results(ScanTally(), results, many)
    assert (tally.refused, len(tally.refusals)) == (len(many), MAX_REFUSALS_KEPT)
    assert tally.refusals[0].document == "0"


PARTS = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4)


@given(PARTS, PARTS)
def test_folders_overlap_when_one_is_in_the_other(one: list[str], two: list[str]) -> None:
    shorter, longer = sorted((one, two), key=len)
    assert overlap("/" + "/".join(one), "/" + "/".join(two)) == (longer[: len(shorter)] == shorter)


@pytest.mark.parametrize("path", ["notes", "./notes", "", "~/notes", "/a/../b", "/a/..", "..", "/a\x00b"])
def test_relative_folder_path_is_rejected(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        NewFolder(path=path, ontology="notes")


@pytest.mark.parametrize("seconds", [0, 9, -5, 1.5, "300", 31 * 86_400 + 1, True])
def test_invalid_scan_interval_is_rejected(seconds: int) -> None:
    with pytest.raises(ValueError, match="every_seconds"):
        NewFolder(path="/a", ontology="notes", every_seconds=seconds)


def test_only_new_files_count_as_moved() -> None:
    found = [
        ("moved.md", StoredChange("created", 1, 0, 0, None, ("gone.md",))),
        ("edited.md", StoredChange("updated", 1, 0, 1, None, ("gone.md",))),
        ("copy.md", StoredChange("created", 1, 0, 0, None, ("gone.md", "here.md", "too.md"))),
        ("new.md", StoredChange("created", 1, 0, 0, None)),
    ]
    tally = add_same_texts(ScanTally(moved=5, duplicates=7), found, {"gone.md"})
    assert (tally.moved, tally.duplicates) == (7, 8)
    assert [(each.document, each.duplicate_of) for each in tally.duplicate_files] == [("copy.md", "here.md")]

"""What is in a folder, what has gone from it, and when nothing can be told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import FolderUnusable, UnreadableDocument
from kg_api.ingest.folder_listing import FolderAccess, FolderListing, inside, list_folder
from kg_api.text.files import FileProblem, FileToIngest
from tests.support.sync import EVERYWHERE, no_key, put

NAMES = st.text("ab/é", min_size=1, max_size=6)


def listing(files: set[str], problems: set[str]) -> FolderListing:
    return FolderListing(
        root=Path("/nowhere"),
        place=(0, 0),
        prefix="",
        files=[FileToIngest(Path("/nowhere", name), name) for name in files],
        problems=[FileProblem(name, "cannot be seen", name) for name in problems],
        left_out={},
        is_private=lambda _: False,
    )


@given(st.sets(NAMES), st.sets(NAMES), st.sets(NAMES))
def test_gone_is_what_was_known_and_is_nowhere(known: set[str], files: set[str], problems: set[str]) -> None:
    gone = listing(files, problems).gone(known)
    assert gone == sorted(set(gone))
    for name in known:
        unseen = name in problems or any(name.startswith(each) for each in problems if each.endswith("/"))
        assert (name in gone) == (name not in files and not unseen)


@given(st.sets(NAMES))
def test_what_is_there_has_not_gone(files: set[str]) -> None:
    assert listing(files, set()).gone(files) == []


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    put(tmp_path, b="1", a__z="2", a="3", ab="4", é="5")
    names = [file.document for file in list_folder(str(tmp_path), "p/", EVERYWHERE, granted=False).files]
    assert names == sorted(names) == ["p/a.md", "p/a/z.md", "p/ab.md", "p/b.md", "p/é.md"]


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
    assert found.gone(known) == ["two.md"]


def test_a_folder_that_cannot_be_listed_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(FolderUnusable, match="Permission denied; nothing was removed"):
        list_folder(str(tmp_path), "prefix/", EVERYWHERE, granted=False)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("nosuch", "there is no folder"),
        ("a.md", "is not a folder"),
        ("a.md/below", "there is no folder"),
        ("circle", "cannot be read"),
    ],
)
def test_what_is_no_folder_is_an_error(tmp_path: Path, path: str, told: str) -> None:
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


def test_a_folder_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    put(tmp_path, notes__a="1")
    found = list_folder(str(tmp_path / "notes"), "", EVERYWHERE, granted=False)
    assert found.is_still_there()
    (tmp_path / "notes").rename(tmp_path / "away")
    assert not found.is_still_there()
    put(tmp_path, notes__a="1")
    assert not found.is_still_there()


def test_only_what_is_surely_gone_has_gone(tmp_path: Path) -> None:
    put(tmp_path, here="1", elsewhere__a="2", low__b="3")
    (tmp_path / "link").symlink_to("elsewhere", target_is_directory=True)
    (tmp_path / "dangling.md").symlink_to("nowhere")
    found = list_folder(str(tmp_path), "p/", EVERYWHERE, granted=False)
    there = {name: found.has_gone(f"p/{name}") for name in ("here.md", "dangling.md", "elsewhere/a.md")}
    assert there == dict.fromkeys(there, False)
    gone = {
        name: found.has_gone(f"p/{name}") for name in ("nosuch.md", "here.md/x.md", "no/such.md", "link/a.md")
    }
    assert gone == dict.fromkeys(gone, True)
    assert found.has_gone("here.md"), "its name is another one since it is followed with this prefix"


def test_what_cannot_be_told_has_not_gone(tmp_path: Path) -> None:
    found = list_folder(str(tmp_path), "", EVERYWHERE, granted=False)
    assert found.has_gone("nosuch.md")
    assert not found.has_gone("x" * 5000 + ".md"), "too long to be looked for"


def test_hidden_files_and_folders_of_a_folder_are_never_listed(tmp_path: Path) -> None:
    put(tmp_path, seen="1", **{".hidden": "2", ".ssh__key": "3", "below__.git__config": "4"})
    (tmp_path / "to_file.md").symlink_to(".hidden.md")
    (tmp_path / "to_folder").symlink_to(".ssh", target_is_directory=True)
    found = list_folder(str(tmp_path), "", EVERYWHERE, granted=False)
    assert [file.document for file in found.files] == ["seen.md", "to_file.md"]
    with pytest.raises(UnreadableDocument, match="hidden"):
        inside(tmp_path / "to_file.md", tmp_path, found.is_private)
    assert inside(tmp_path / "seen.md", tmp_path, found.is_private) == tmp_path / "seen.md"


def test_kg_home_below_a_folder_is_passed_over_and_what_came_from_it_has_gone(tmp_path: Path) -> None:
    put(tmp_path, note="1", kg__neo4j__hash="2", kg__secret="3")
    (tmp_path / "way").symlink_to("kg/secret.md")
    (tmp_path / "way.md").symlink_to("kg/secret.md")
    access = FolderAccess([tmp_path], [tmp_path / "kg"], no_key)
    found = list_folder(str(tmp_path), "", access, granted=False)
    assert [file.document for file in found.files] == ["note.md", "way.md"]
    assert found.left_out["folder of kg itself"] == 1, "it is told"
    with pytest.raises(UnreadableDocument, match="kg's own"):
        inside(tmp_path / "way.md", tmp_path, found.is_private)
    assert found.has_gone("kg/secret.md")
    assert not found.has_gone("note.md")

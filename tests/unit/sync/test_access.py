"""Which folders may be followed, and by whose leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.ingest.folder_listing import FolderAccess
from kg_api.schemas.folders import folder_grant
from tests.support.sync import no_key

KEY = "k" * 64


def access(*roots: Path, private: tuple[Path, ...] = (), key: str | None = None) -> FolderAccess:
    return FolderAccess(roots, private, (lambda: key) if key else no_key)


def test_without_roots_nothing_may_be_followed_but_by_a_grant(tmp_path: Path) -> None:
    told = access().objection(str(tmp_path), granted=False)
    assert told is not None
    assert all(word in told for word in ("KG_SYNC__ROOTS", "kg folders add", "kg folders remove"))
    assert access().objection(str(tmp_path), granted=True) is None


def test_below_a_root_anybody_may(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in-more").mkdir()
    (tmp_path / "in" / "out").symlink_to(tmp_path / "in-more")
    (tmp_path / "name").symlink_to(tmp_path / "in")
    allowed = access(tmp_path / "in")
    for path in ("in", "in/deep", "in/not-there", "name/deep"):
        assert allowed.objection(str(tmp_path / path), granted=False) is None, path
    for path in ("", "in-more", "in/out", "not-there"):
        assert "KG_SYNC__ROOTS" in (allowed.objection(str(tmp_path / path), granted=False) or ""), path
    assert access(tmp_path / "name").objection(str(tmp_path / "in" / "deep"), granted=False) is None


@pytest.mark.parametrize("granted", [False, True])
def test_hidden_folders_never_may(tmp_path: Path, *, granted: bool) -> None:
    (tmp_path / ".ssh" / "keys").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / ".ssh")
    for path in (".ssh", ".ssh/keys", "link", "link/keys", ".not-there"):
        told = access(Path("/"), tmp_path).objection(str(tmp_path / path), granted=granted)
        assert "hidden" in (told or ""), path


@pytest.mark.parametrize("granted", [False, True])
def test_kg_home_never_may_under_any_name(tmp_path: Path, *, granted: bool) -> None:
    home = tmp_path / "kg"
    (home / "neo4j" / "data").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    for given in (home, tmp_path / "link"):
        for path in (home, home / "neo4j" / "data", tmp_path / "link", tmp_path / "link" / "neo4j"):
            told = access(Path("/"), private=(given,)).objection(str(path), granted=granted)
            assert "KG_HOME" in (told or ""), path


def test_a_grant_is_for_one_folder_one_ontology_and_one_home() -> None:
    grant = folder_grant(KEY, "/home/me/notes", "notes")
    ours = access(key=KEY)
    assert ours.is_granted("/home/me/notes", "notes", grant)
    assert KEY not in grant
    for path, ontology, given in (
        ("/home/me/other", "notes", grant),
        ("/home/me/notes", "other", grant),
        ("/home/me/notes", "notes", None),
        ("/home/me/notes", "notes", ""),
        ("/home/me/notes", "notes", "é" * 64),
        ("/home/me/notes", "notes", folder_grant("another", "/home/me/notes", "notes")),
    ):
        assert not ours.is_granted(path, ontology, given)
    assert not access().is_granted("/home/me/notes", "notes", folder_grant("", "/home/me/notes", "notes"))


def test_a_granted_folder_that_became_a_link_is_another_one(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    notes = tmp_path / "notes"
    notes.symlink_to("private")
    told = access().objection(str(notes), granted=True, root=tmp_path / "private")
    assert f"it leads to {tmp_path / 'private'}" in (told or ""), "of a worker"
    asked = access().objection(str(notes), granted=True) or ""
    assert ("KG_SYNC__ROOTS" in asked, "private" in asked) == (True, False), "links are not told to callers"

"""A file is read when nobody writes it, and never out of its folder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kg_api.errors import TooLarge, UnreadableDocument
from kg_api.ingest import folder_listing
from kg_api.ingest.folder_listing import UnsettledFile, inside, read_settled, stamp_of


def nowhere(folder: Path) -> bool:  # noqa: ARG001
    """No folder is kg's own."""
    return False


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "a.md"
    file.write_bytes(b"what it says")
    return file


def meddle(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something to a file that has been opened and not yet been read."""
    real = folder_listing._check

    def check(seen: os.stat_result, max_bytes: int) -> None:
        real(seen, max_bytes)
        act()

    monkeypatch.setattr(folder_listing, "_check", check)


def test_a_file_is_read_with_what_it_looks_like(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: file.stat().st_mtime + 60)
    content = read_settled(file, 100)
    assert content.data == b"what it says"
    assert content.stamp == stamp_of(file.stat())


def test_read_file_has_its_modification_time(file: Path) -> None:
    os.utime(file, (0, 1740821400))
    assert read_settled(file, 100).modified == "2025-03-01T09:30:00Z"


def test_what_a_young_file_looks_like_proves_nothing(file: Path) -> None:
    assert read_settled(file, 100).stamp is None


def test_the_hash_is_of_what_it_says(file: Path, tmp_path: Path) -> None:
    (tmp_path / "b.md").write_bytes(b"what it says")
    (tmp_path / "c.md").write_bytes(b"what it said")
    hashes = [read_settled(tmp_path / name, 100).file_hash for name in ("a.md", "b.md", "c.md")]
    assert hashes[0] == hashes[1] != hashes[2]
    assert file.exists()


@pytest.mark.parametrize("change", [b"more", b"", b"what it SAYS"], ids=["longer", "empty", "same size"])
def test_a_file_that_is_written_meanwhile_is_left(
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


def test_a_file_that_has_gone_is_left(file: Path) -> None:
    file.unlink()
    with pytest.raises(UnsettledFile):
        read_settled(file, 100)
    with pytest.raises(UnsettledFile):
        inside(file, file.parent, nowhere)


def test_a_file_that_is_too_large_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, target: str) -> None:
    root = tmp_path / "notes"
    for path in (root / "a.md", tmp_path / "secret.md", tmp_path / "notes-2" / "b.md"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (root / "link.md").symlink_to(target)
    (root / "own.md").symlink_to("a.md")
    with pytest.raises(UnreadableDocument, match="out of the folder"):
        inside(root / "link.md", root, nowhere)
    assert inside(root / "own.md", root, nowhere) == root / "a.md"


def test_a_touch_a_rename_and_a_change_are_all_seen(file: Path) -> None:
    stamps = [stamp_of(file.stat())]
    changes: list[Callable[[], object]] = [
        lambda: os.utime(file, (1, 1)),
        lambda: file.write_bytes(b"what it SAYS"),
        lambda: file.chmod(0o600),
    ]
    for change in changes:
        time.sleep(0.02)
        change()
        stamps.append(stamp_of(file.stat()))
    assert len(set(stamps)) == 4

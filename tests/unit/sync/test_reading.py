from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.errors import TooLarge, UnreadableDocument
from kg_api.ingest import folder_listing
from kg_api.ingest.folder_listing import (
    Phase,
    Result,
    ScanPosition,
    UnsettledFile,
    add_results,
    compute_file_stamp,
    inside,
    read_settled,
)
from kg_api.schemas.folders import MAX_REFUSALS_KEPT, NewFolder, RefusedFile, ScanTally, overlap


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
        inside(file, file.parent, nowhere)


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
        inside(root / "link.md", root, nowhere)
    assert inside(root / "own.md", root, nowhere) == root / "a.md"


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


RESULTS = get_args(Result)


@given(st.lists(st.lists(st.sampled_from(RESULTS))))
def test_every_result_is_counted_once(batches: list[list[Result]]) -> None:
    tally = ScanTally()
    for batch in batches:
        tally = add_results(tally, batch)
    flat = [each for batch in batches for each in batch]
    assert {name: getattr(tally, name) for name in RESULTS} == {name: flat.count(name) for name in RESULTS}


def test_rejections_are_counted_and_some_are_kept() -> None:
    many = [RefusedFile(document=str(number), reason="why") for number in range(MAX_REFUSALS_KEPT + 5)]
    results: list[Result] = ["refused" for _ in many]
    tally = add_results(ScanTally(), results, many)
    assert (tally.refused, len(tally.refusals)) == (len(many), MAX_REFUSALS_KEPT)
    assert tally.refusals[0].document == "0"


@given(st.sampled_from(get_args(Phase)), st.text())
def test_scan_position_round_trips_through_its_cursor(phase: Phase, name: str) -> None:
    assert ScanPosition.of(ScanPosition(phase, name).cursor()) == ScanPosition(phase, name)


@given(st.lists(st.text(), unique=True), st.data())
def test_scan_resumes_after_its_position(names: list[str], data: st.DataObject) -> None:
    names.sort()
    done = data.draw(st.integers(0, len(names)))
    place = ScanPosition("file", names[done - 1]) if done else ScanPosition.of("")
    assert [name for name in names if not place.is_done(name)] == [name for name in names[done:] if name]
    assert all(ScanPosition("gone", "").is_done(name) for name in names)


@given(
    st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4),
    st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4),
)
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

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg_api.transfer.backup import Mirror


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

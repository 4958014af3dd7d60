from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.local import processes


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "role.log"


def test_the_tail_is_the_end(log: Path) -> None:
    log.write_bytes(b"one\ntwo\nthree \xff\n")
    assert processes.tail(log, 2) == ["two", "three �"]
    assert processes.tail(log.with_name("none"), 2) == []


def test_relevant_lines_are_the_marked_ones(log: Path) -> None:
    log.write_text(
        "ERROR first\nnoise\nCaused by: port in use\n  at x\nCaused by: port in use\n", encoding="utf-8"
    )
    assert (
        processes.select_crash_lines([log], ("ERROR", "Caused by")) == "ERROR first\nCaused by: port in use"
    )


def test_last_lines_are_used_without_marked_ones(log: Path) -> None:
    log.write_text("\n".join(map(str, range(20))), encoding="utf-8")
    assert processes.select_crash_lines([log], ("ERROR",), lines=2) == "18\n19"
    assert processes.select_crash_lines([log], lines=1) == "19"


def test_oversized_log_is_rotated_while_written(log: Path) -> None:
    with log.open("ab", buffering=0) as writer:
        writer.write(b"x" * 101)
        assert processes.limit(log, max_bytes=100)
        writer.write(b"new\n")
    assert log.read_bytes() == b"new\n"
    assert log.with_name("role.log.1").read_bytes() == b"x" * 101

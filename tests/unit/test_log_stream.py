"""Logging on a full disk: /dev/full is one."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, TextIO

import pytest

from kg_api.logs import LOST, MAX_KEPT, ForgivingStream


class Disk(io.StringIO):
    """Refuses what is written while it is full."""

    full = False

    def write(self, text: str, /) -> int:
        if self.full:
            raise OSError(28, "No space left on device")
        return super().write(text)


def test_what_a_full_disk_refuses_is_written_when_there_is_room() -> None:
    disk = Disk()
    stream = ForgivingStream(disk)
    stream.write("first\n")
    disk.full = True
    stream.write("second\n")
    disk.full = False
    stream.write("third\n")
    assert disk.getvalue() == "first\nsecond\nthird\n"


def test_the_oldest_lines_are_lost_and_counted() -> None:
    disk = Disk()
    stream = ForgivingStream(disk)
    disk.full = True
    for number in range(MAX_KEPT + 5):
        stream.write(f"{number}\n")
    assert stream.lost == 5
    disk.full = False
    stream.write("last\n")
    first, *others = disk.getvalue().splitlines()
    assert json.loads(first) == {"event": LOST, "lost": 6, "level": "warning"}
    assert others == [*map(str, range(6, MAX_KEPT + 5)), "last"]


class RawDisk(io.RawIOBase):
    """A disk below a buffer, as below standard error; it takes no more than it has room for."""

    def __init__(self) -> None:
        super().__init__()
        self.held = b""
        self.room = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        taken = bytes(data)[: self.room]
        if not taken:
            raise OSError(28, "No space left on device")
        self.held += taken
        self.room -= len(taken)
        return len(taken)


def buffered(disk: RawDisk) -> TextIO:
    """A stream as standard error is one."""
    return io.TextIOWrapper(io.BufferedWriter(disk), encoding="utf-8", line_buffering=True)


def test_what_a_buffer_could_not_flush_is_written_once() -> None:
    disk = RawDisk()
    stream = ForgivingStream(buffered(disk))
    for number in range(20):
        stream.write(f"line {number}\n")
    disk.room = 10_000
    stream.write("last\n")
    assert disk.held.decode().splitlines() == [*(f"line {number}" for number in range(20)), "last"]


def test_a_line_that_the_disk_took_a_part_of_is_finished_before_all_others() -> None:
    disk = RawDisk()
    stream = ForgivingStream(buffered(disk))
    disk.room = 4
    for number in range(MAX_KEPT + 2):
        stream.write(f"line ä{number}\n")
    assert disk.held == b"line"
    disk.room = 100_000
    stream.write("last\n")
    begun, lost, *others = disk.held.decode().splitlines()
    assert (begun, json.loads(lost)["lost"]) == ("line ä0", 2)
    assert others == [*(f"line ä{number}" for number in range(3, MAX_KEPT + 2)), "last"]


def test_a_stream_that_is_closed_is_no_trouble() -> None:
    disk = Disk()
    stream = ForgivingStream(disk)
    disk.close()
    assert stream.write("late\n") == 5


LOGS_A_LOT = """
import logging, structlog
from kg_api.logs import configure_logs
from kg_api.settings import LogSettings
configure_logs(LogSettings())
for number in range(500):
    structlog.get_logger().info("a line", number=number)
    logging.getLogger("a library").warning("a line %s", number)
print("alive")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /dev/full")
def test_logging_to_a_full_disk_fails_no_request() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run(
            [sys.executable, "-c", LOGS_A_LOT], stdout=subprocess.PIPE, stderr=full, check=False
        )
    assert ended.stdout == b"alive\n"

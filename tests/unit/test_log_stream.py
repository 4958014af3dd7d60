from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from kg_api.logs import ForgivingStream


class Disk(io.StringIO):
    full = False

    def write(self, text: str, /) -> int:
        if self.full:
            raise OSError(28, "No space left on device")
        return super().write(text)


def test_lines_are_written_again_when_there_is_room() -> None:
    disk = Disk()
    stream = ForgivingStream(disk)
    stream.write("first\n")
    disk.full = True
    assert stream.write("second\n") == 7
    disk.full = False
    stream.write("third\n")
    assert disk.getvalue() == "first\nthird\n"


def test_closed_stream_is_ignored() -> None:
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

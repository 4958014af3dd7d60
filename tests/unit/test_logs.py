import inspect
import io
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
import structlog

from kg_api import errors
from kg_api.errors import KgError
from kg_api.logs import ForgivingStream, configure_logs
from kg_api.settings import LogSettings

FORGED = "a\x1b[2Kb\r\n2026 [error] forged\x9b\u202e\u2028"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    configure_logs(LogSettings(format="text"))
    return stream


@pytest.fixture(autouse=True)
def _as_before() -> object:
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.basicConfig(handlers=handlers, level=level, force=True)


def test_text_log_escapes_control_characters(written: io.StringIO) -> None:
    log = structlog.get_logger()
    log.warning("request", path=FORGED, **{FORGED: 1})
    log.warning(FORGED, list=[FORGED])
    logging.getLogger("other").warning("%s", FORGED)
    lines = written.getvalue().splitlines()
    assert len(lines) == 3
    assert all("forged" in line for line in lines)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e\u2028]", "".join(lines))


def test_a_traceback_keeps_its_lines_and_nothing_else(written: io.StringIO) -> None:
    try:
        int(FORGED)
    except ValueError:
        structlog.get_logger().exception("unexpected error")
    told = written.getvalue()
    assert "Traceback" in told
    assert "\n    int(FORGED)\n" in told
    assert not re.search("[\x1b\r\x9b\u202e\u2028]", told)


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
        said = subprocess.check_output([sys.executable, "-c", LOGS_A_LOT], stderr=full)
    assert said == b"alive\n"


KINDS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, KgError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_error_has_message_status_and_exit_code(kind: type[KgError]) -> None:
    assert str(kind()) == inspect.getdoc(kind), "the docstring is the default message"
    assert str(kind("just this")) == "just this"
    assert 400 <= kind.status < 600
    assert 0 < kind.exit_code < 126, "codes from 126 on are the shell's"
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.slug())

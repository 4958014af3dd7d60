from __future__ import annotations

import io
import logging
import re

import pytest
import structlog

from kg_api.logs import configure_logs
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

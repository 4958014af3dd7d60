"""Batches that are there at once: one transaction writes them, and moves the cursor behind all of them."""

from __future__ import annotations

import time

import pytest

from kg_api.jobs import runner
from tests.unit.jobs.pictures import PictureTarget
from tests.unit.jobs.test_flight import SIZE, Flying, Gates, until


def test_what_is_there_at_once_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PictureTarget, "is_written_together", True)
    gates = Gates()
    gates.hold("a")
    flying = Flying("abcdefghijklmnopqr", gates)
    until(lambda: "q" in gates.begun)
    time.sleep(0.1)  # until it is embedded, too
    gates.go("a")
    flying.end()
    assert flying.error is None
    assert flying.cursors == ["pictures:p17"], "one transaction moves the cursor behind all that it wrote"
    assert flying.job.told("done") == [18]
    assert flying.written == "abcdefghijklmnopqr"


def test_what_is_written_at_once_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PictureTarget, "is_written_together", True)
    monkeypatch.setattr(runner, "MAX_TOGETHER", 2 * SIZE)
    gates = Gates()
    gates.hold("a")
    flying = Flying("abcdefghijklmnop", gates)
    until(lambda: "m" in gates.begun)
    time.sleep(0.1)
    gates.go("a")
    flying.end()
    assert flying.cursors == ["pictures:p07", "pictures:p15"]

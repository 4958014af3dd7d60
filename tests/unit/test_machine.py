"""How much of a machine kg takes by default."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from kg_api import machine
from kg_api.machine import memory_bytes, service_processes

GIB = 1024**3


@pytest.mark.parametrize(
    ("cores", "gib", "processes"),
    [
        (1, 2, 1),
        (2, 24, 2),
        (4, 2, 4),
        (8, 16, 4),  # a laptop: what beyond four would take is left to others
        (8, 64, 6),
        (16, 32, 5),
        (16, 128, 12),
        (64, 512, 12),
    ],
)
def test_processes_of_the_service_by_cores_and_memory(cores: int, gib: int, processes: int) -> None:
    assert service_processes(cores, gib * GIB) == processes


@pytest.mark.parametrize(("said", "bytes_"), [("1073741824\n", GIB), ("max\n", None), ("", None)])
def test_memory_is_what_the_container_may_have(
    said: str, bytes_: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "memory.max"
    limit.write_text(said)
    monkeypatch.setattr(machine, "_LIMITS", (str(tmp_path / "none"), str(limit)))
    assert memory_bytes() == (bytes_ or psutil.virtual_memory().total)

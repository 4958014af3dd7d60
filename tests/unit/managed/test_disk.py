from __future__ import annotations

from pathlib import Path

import pytest

from kg_api.errors import StorageFull
from kg_api.local import processes
from kg_api.local.neo4j import LACK_OF_HEAP, NAME, DiskRoom, _memory_for_start, choose_machine_memory
from kg_api.local.processes import Home
from kg_api.settings import Neo4jSettings

EVERYTHING = 1 << 60


def test_writes_are_rejected_below_the_disk_reserve(tmp_path: Path) -> None:
    full = DiskRoom(tmp_path / "not" / "there" / "yet", EVERYTHING)
    with pytest.raises(StorageFull, match="the disk is full"):
        full.require()
    assert full.is_little()


def test_writes_are_accepted_without_a_reserve(tmp_path: Path) -> None:
    DiskRoom(tmp_path, 0).require()


def test_next_start_after_low_heap_uses_more(tmp_path: Path) -> None:
    home, settings = Home(tmp_path).create(), Neo4jSettings(heap_mb=512)
    assert _memory_for_start(home, settings) == choose_machine_memory(settings)
    home.log_file(NAME).write_text(f"INFO started\nTerminating due to {LACK_OF_HEAP}: Java heap space\n")
    assert _memory_for_start(home, settings).heap_mb > 512
    home.log_file(NAME).write_text(f"Terminating due to {LACK_OF_HEAP}: Java heap space\n" + "INFO ok\n" * 9)
    assert _memory_for_start(home, settings).heap_mb == 512
    assert processes.tail(home.log_file(NAME), 1) == ["INFO ok"]

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from kg_api.local import processes
from kg_api.local.processes import ProcessId

ME = os.getpid()
CREATED = psutil.Process().create_time()


@pytest.fixture
def pid_file(tmp_path: Path) -> Path:
    return tmp_path / "role.pid"


def free_pid() -> int:
    return next(pid for pid in range(4_000_000, 300, -1) if not psutil.pid_exists(pid))


def test_a_live_process_is_found_by_its_file(pid_file: Path) -> None:
    processes.save(pid_file, ProcessId(ME, CREATED))
    assert processes.load(pid_file) == ProcessId(ME, CREATED) == processes.identify(ME)


def test_reused_pid_is_not_recognized(pid_file: Path) -> None:
    processes.save(pid_file, ProcessId(ME, CREATED - 3600))
    assert processes.load(pid_file) is None
    ProcessId(ME, CREATED - 3600).kill()  # were it taken for ours, this test run would end here


def test_a_stale_pid_is_not_alive(pid_file: Path) -> None:
    processes.save(pid_file, ProcessId(free_pid(), CREATED))
    assert processes.load(pid_file) is None
    assert processes.identify(free_pid()) is None


@pytest.mark.parametrize("text", ["", "{", "17", "{}", '{"pid": null, "created": 1}', '{"pid": 1}'])
def test_damaged_pid_file_is_ignored(pid_file: Path, text: str) -> None:
    processes.write_text(pid_file, text)
    assert processes.load(pid_file) is None


def test_children_inherit_only_allowed_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KG_CANARY", "secret")
    monkeypatch.setenv("LANG", "C.UTF-8")
    assert processes.inherit({"LANG"}) == {"LANG": "C.UTF-8"}
    assert processes.inherit()["KG_CANARY"] == "secret"

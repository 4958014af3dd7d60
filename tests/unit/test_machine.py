import os
from pathlib import Path

import psutil
import pytest

from kg_api import machine
from kg_api.machine import choose_process_count, count_cores, get_memory_bytes

GIB = 1024**3
CFS = "cpu,cpuacct__cpu_of_cfs"
TOTAL = psutil.virtual_memory().total


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
    assert choose_process_count(cores, gib * GIB) == processes


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(machine, "_OWN_GROUPS", tmp_path / "own")
    return tmp_path


def limit(groups: Path, own: str, **files: str) -> None:
    (groups / "own").write_text(own)
    for name, said in files.items():
        file = groups / name.replace("__", "/").replace("_of_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(said)


@pytest.mark.parametrize(
    ("own", "file", "said", "expected"),
    [
        ("0::/\n", "memory_of_max", f"{GIB}\n", GIB),
        ("0::/\n", "memory_of_max", "max\n", TOTAL),
        ("0::/kg.slice/kg.service\n", "kg.slice__memory_of_max", f"{GIB}\n", GIB),  # of what is around it
        ("4:memory:/docker/12ab\n", "memory__memory_of_limit_in_bytes", f"{GIB}\n", GIB),
        ("4:memory:/\n", "memory__memory_of_limit_in_bytes", "9223372036854771712\n", TOTAL),
        ("5:pids:/\n", "memory_of_max", f"{GIB}\n", TOTAL),
        ("", "memory_of_max", "", TOTAL),
    ],
)
def test_memory_respects_the_container_limit(
    own: str, file: str, said: str, expected: int, groups: Path
) -> None:
    limit(groups, own, **{file: said})
    assert get_memory_bytes() == expected


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"cpu_of_max": "max 100000\n"}, 64),
        ("0::/\n", {"cpu_of_max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu_of_max": "50000 100000\n"}, 1),
        ("0::/a/b\n", {"a__cpu_of_max": "250000 100000\n"}, 3),
        ("3:cpu,cpuacct:/\n", {f"{CFS}_quota_us": "150000\n", f"{CFS}_period_us": "100000\n"}, 2),
        ("3:cpu,cpuacct:/\n", {f"{CFS}_quota_us": "-1\n", f"{CFS}_period_us": "100000\n"}, 64),
    ],
)
def test_cores_respect_the_container_limit(
    own: str, files: dict[str, str], expected: int, groups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    limit(groups, own, **files)
    assert count_cores() == expected

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kg_api.metrics import RESERVED_BYTES, QueueGauges, exposition
from kg_api.schemas.operations import QueueStatus


def test_a_queue_that_is_not_known_has_no_gauges() -> None:
    assert b"kg_jobs" not in exposition(QueueGauges(None))


def test_a_queue_is_told_beside_what_the_process_counts() -> None:
    status = QueueStatus(
        queued=3, waiting=1, running=2, stalled=1, dead=4, oldest_waiting_seconds=5.5, backlog_age_seconds=60
    )
    told = exposition(QueueGauges(status)).decode().splitlines()
    assert 'kg_jobs{state="dead"} 4.0' in told
    assert "kg_jobs_oldest_waiting_seconds 5.5" in told
    assert "kg_workers 0.0" in told
    assert "# TYPE kg_jobs gauge" in told
    assert any(line.startswith("python_info") for line in told)


COUNTED = """
from prometheus_client import REGISTRY
from kg_api.providers.embedding import metrics_of_process
metrics = metrics_of_process()
for number in range(100):
    metrics.tokens.labels(f"model {number}").inc()
"""


def test_metrics_that_processes_share_have_all_their_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new page of a sparse file that is mapped into memory ends the process when the disk is full."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    subprocess.run([sys.executable, "-c", COUNTED], check=True)
    files = list(tmp_path.glob("*.db"))
    assert {file.name.partition("_")[0] for file in files} == {"counter", "histogram", "gauge"}
    for file in files:
        reserved = RESERVED_BYTES[file.name.rpartition("_")[0]]
        assert (file.stat().st_size, file.stat().st_blocks * 512 >= reserved) == (reserved, True)
    assert b'model="model 99"' in exposition()


NO_ROOM = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))"
"""A write of more fails as one to a full disk does; so does growing a file without writing."""


def test_without_room_a_process_keeps_its_metrics_to_itself_and_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    own = "print(metrics.tokens.labels('model 99')._value.get())"
    done = subprocess.run(
        [sys.executable, "-c", f"{NO_ROOM}\n{COUNTED}\n{own}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1.0"), done.stderr
    assert "metrics of this process are not shared" in done.stdout + done.stderr
    assert list(tmp_path.glob("*.db")) == []

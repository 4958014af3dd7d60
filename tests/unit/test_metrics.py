from __future__ import annotations

from kg_api.metrics import QueueGauges, exposition
from kg_api.models.queue import QueueStatus


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

import datetime as dt
import io
import re
from collections import Counter
from typing import Any

import pytest
from rich.console import Console

from kg_api.client import KgClient
from kg_api.schemas.operations import Job
from kg_cli.jobs import report
from kg_cli.jobs.report import ActiveJobBars, JobBars
from kg_cli.terminal import console

NOW = dt.datetime.now(tz=dt.UTC)
USUAL: dict[str, Any] = {
    "job_id": "j1",
    "kind": "source_embedding",
    "state": "running",
    "ontology": "notes",
    **dict.fromkeys(("started_at", "finished_at", "rate", "eta_seconds", "error", "worker")),
    "created_at": NOW,
    "run_after": NOW,
    "attempts": 1,
    "done": 0,
    "total": 0,
}


@pytest.mark.parametrize(
    ("kind", "count", "told"),
    [
        ("folder_sync", 1, "folder sync notes: 1 file failed; see: kg folders list"),
        ("source_embedding", 2, "2 items failed; see: kg admin source-embeddings rejected -"),
        ("concept_extraction", 1, "1 item failed; see: kg admin concepts rejected --ontology 'notes'"),
        ("concept_embedding", 1, "1 item failed; see: kg jobs show j1"),
    ],
)
def test_skipped_count_is_described_by_job_kind(kind: str, count: int, told: str) -> None:
    job = Job.model_validate({**USUAL, "kind": kind, "set_aside": count})
    assert told in report.describe_failed_items(job)


def job(**fields: Any) -> Job:
    return Job.model_validate({**USUAL, **fields})


@pytest.mark.parametrize(
    ("state", "hours", "told"),
    [
        ("queued", 2, "queued, retried in 2 h"),
        ("queued", -2, "queued"),
        ("running", 2, "running"),
        ("succeeded_with_errors", -2, "succeeded with errors"),
    ],
)
def test_state_names_the_next_try_of_a_queued_job(state: str, hours: int, told: str) -> None:
    at = dt.datetime.now(tz=dt.UTC) + dt.timedelta(hours=hours, seconds=1)
    assert report.describe_state(job(state=state, run_after=at)) == told


REASON = "waiting: the embedding model does not answer (ConnectError [Errno 111] connection refused); " * 3


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    seen = io.StringIO()
    terminal = Console(file=seen, width=80, force_terminal=True, color_system=None, highlight=False)
    monkeypatch.setattr(console, "stderr", lambda: terminal)
    return seen


def lines(screen: io.StringIO) -> list[str]:
    text = screen.getvalue().replace("\x1b[2K", "").replace("\x1b[1A", "").replace("\x1b[?25l", "")
    return [line.strip() for line in text.replace("\x1b[?25h", "").replace("\r", "\n").splitlines()]


def test_bar_fits_and_shows_progress(screen: io.StringIO) -> None:
    with JobBars() as bars:
        bars.show(job(ontology="o" * 100, done=12_345, total=67_890, rate=123.0, eta_seconds=4000))
    shown = [line for line in lines(screen) if "12345/67890" in line]
    assert shown
    assert all(len(line) <= 80 for line in shown)
    assert "123/s, 67 min left" in shown[-1]
    assert shown[-1].startswith("source embedding ooo")
    assert report.format_progress(job(done=12, total=10)) == "12/12"


def test_ended_jobs_have_no_bar(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(_: KgClient, job_id: str) -> Job:
        polls[job_id] += 1
        state, done = ("succeeded", 2) if job_id != "late" or polls[job_id] > 1 else ("running", 1)
        return job(job_id=job_id, state=state, ontology=job_id, done=done, total=2)

    monkeypatch.setattr(KgClient, "job", answer)
    monkeypatch.setattr(report, "POLL_SECONDS", 0)
    for bars, expected in ((ActiveJobBars, {"late"}), (JobBars, {"a", "late", "b"})):
        polls, begin = Counter[str](), screen.tell()
        with KgClient("http://kg") as client:
            report.wait_for_jobs(client, ["a", "late", "b"], bars())
        shown = screen.getvalue()[begin:]
        assert set(re.findall(r"source embedding (\w+)", shown)) == expected
        assert "2/2" in shown


def test_reason_is_printed_in_full_once(screen: io.StringIO) -> None:
    with JobBars() as bars:
        for _ in range(3):
            bars.show(job(state="queued", error=REASON, total=5))
    shown = lines(screen)
    assert " ".join(shown).count(f"source embedding notes: {REASON}".strip()) == 1
    bar = [line for line in shown if "0/5" in line]
    assert "waits for a retry" in bar[-1]
    assert all(len(line) <= 80 for line in bar)

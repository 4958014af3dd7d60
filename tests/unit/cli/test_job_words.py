from __future__ import annotations

import datetime as dt
import io
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kg_api.schemas.operations import Job
from kg_cli.jobs import report
from kg_cli.jobs.commands import read_state
from kg_cli.jobs.report import JobBars
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
    ("fields", "told"),
    [
        ({"rate": 123.4, "eta_seconds": 250}, "123/s, 4 min left"),
        ({"rate": 0.42, "eta_seconds": 3}, "0.42/s, 3 s left"),
        ({}, "running"),
        ({"stalled": True, "rate": 4}, "stalled"),
        ({"state": "queued"}, "queued"),
        ({"state": "queued", "error": "waiting: " + "word " * 100}, "waits for a retry"),
        ({"state": "succeeded_with_errors", "set_aside": 3}, "3 failed"),
        ({"state": "failed", "error": "NaN"}, "failed"),
    ],
)
def test_a_speed_is_a_few_words(fields: dict[str, Any], told: str) -> None:
    assert report.describe_speed(job(**fields)) == told


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_done_is_never_above_total(done: int, total: int) -> None:
    assert report.progress_of(job(done=done, total=total)) == f"{done}/{max(done, total)}"


def test_time_is_shown_relative_to_now() -> None:
    now = dt.datetime.now(dt.UTC)  # not when this module was loaded
    told = report.moment(now - dt.timedelta(hours=3))
    assert told.endswith("UTC (3 h ago)")
    assert report.moment(now + dt.timedelta(minutes=6)).endswith("(in 6 min)")


def test_a_job_that_waits_says_until_when() -> None:
    later = job(state="queued", run_after=dt.datetime.now(dt.UTC) + dt.timedelta(seconds=200))
    assert report.describe_state(later) == "queued, retried in 3 min"
    assert report.describe_state(job(state="queued")) == "queued"
    assert report.describe_state(job(stalled=True)).startswith("stalled")
    assert report.describe_state(job(state="succeeded_with_errors")) == "succeeded with errors"


def test_unknown_state_lists_the_states() -> None:
    with pytest.raises(typer.BadParameter, match="'magic' is not one of queued, running"):
        read_state("magic")


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


def test_reason_is_printed_in_full_once(screen: io.StringIO) -> None:
    with JobBars() as bars:
        for _ in range(3):
            bars.show(job(state="queued", error=REASON, total=5))
    shown = lines(screen)
    assert " ".join(shown).count(f"source embedding notes: {REASON}".strip()) == 1
    bar = [line for line in shown if "0/5" in line]
    assert "waits for a retry" in bar[-1]
    assert all(len(line) <= 80 for line in bar)

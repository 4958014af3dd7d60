"""`kg doctor` says whether the collector of traces answers, where one is set."""

from __future__ import annotations

import time

import pytest

from kg_api.local.processes import Home, find_free_port
from kg_api.settings import load_settings
from kg_cli.stack.doctor import DoctorFinding, examine_tracing
from tests.support.collector import Collector


def found(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> list[DoctorFinding]:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    settings = load_settings()
    return list(examine_tracing(Home(settings.home), settings))


def test_without_a_collector_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("", monkeypatch) == []


def test_a_collector_that_answers_is_sent_no_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    with Collector() as collector:
        (finding,) = found(collector.url, monkeypatch)
    assert (finding.name, finding.state) == ("tracing", "ok")
    assert (collector.paths, collector.spans) == (["/v1/traces"], [])


def test_what_takes_no_traces_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with Collector(status=404) as other:
        (finding,) = found(other.url, monkeypatch)
    assert (finding.state, "OTEL_EXPORTER_OTLP_ENDPOINT" in finding.fix) == ("warn", True)


def test_a_collector_that_is_away_or_silent_is_soon_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg_cli.stack.doctor.COLLECTOR_SECONDS", 0.3)
    (away,) = found(f"http://127.0.0.1:{find_free_port()}", monkeypatch)
    begun = time.monotonic()
    with Collector(delay=20) as collector:
        (silent,) = found(collector.url, monkeypatch)
    assert time.monotonic() - begun < 5
    for finding in (away, silent):
        assert (finding.state, "does not answer" in finding.detail) == ("warn", True)


def test_missing_packages_are_named_with_their_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg_cli.stack.doctor.is_installed", lambda: False)
    (finding,) = found("http://127.0.0.1:4318", monkeypatch)
    assert (finding.state, "'.[tracing]'" in finding.fix) == ("warn", True)

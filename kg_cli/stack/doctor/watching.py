"""Whether kg can be watched: its metrics can be read, and what collects traces answers."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from http import HTTPStatus

from kg_api.managed.home import Home
from kg_api.managed.probes import exchange
from kg_api.settings import Settings
from kg_api.tracing.export import PATH, is_installed
from kg_cli.stack.doctor.findings import DoctorFinding
from kg_cli.stack.doctor.jobs import SEND_A_KEY, SEND_A_KEY_OF_ALL
from kg_cli.terminal.connect import headers_for, shown_address

METRICS_SECONDS = 10.0
COLLECTOR_SECONDS = 3.0
_NO_ANSWER = (OSError, http.client.HTTPException)
_VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


def examine_metrics(url: str, settings: Settings) -> Iterator[DoctorFinding]:
    """Read the metrics of a service that answers, as Prometheus would with the same key."""
    shown, headers = f"{shown_address(url)}/metrics", headers_for(url, settings, "GET", "/metrics")
    try:
        status, body = exchange(url, "/metrics", headers, timeout=METRICS_SECONDS)
    except _NO_ANSWER as error:
        fix = "look into the service's log"
        yield DoctorFinding("metrics", "warn", f"{shown} does not answer: {error}", fix)
        return
    if status == HTTPStatus.FORBIDDEN:
        told = "not looked at with this key: they concern all of kg, and it is for some ontologies alone"
        yield DoctorFinding("metrics", "warn", told, SEND_A_KEY_OF_ALL)
    elif status == HTTPStatus.UNAUTHORIZED:
        yield DoctorFinding("metrics", "warn", f"{shown} wants a key that may read", SEND_A_KEY)
    elif status != HTTPStatus.OK:
        yield DoctorFinding("metrics", "warn", f"{shown} answers {status}", "look into the service's log")
    else:
        found = len(re.findall(rb"^# TYPE ", body, re.MULTILINE))
        yield DoctorFinding("metrics", "ok", f"{shown} tells {found} metrics")


def examine_tracing(_: Home, settings: Settings) -> Iterator[DoctorFinding]:
    """Send no spans to the collector that the settings name; it says nothing where they name none."""
    if (endpoint := settings.otel.exporter_otlp_endpoint) is None:
        return
    if not is_installed():
        fix = f".venv/bin/python -m pip install '.[tracing]' in kg's checkout, or unset {_VARIABLE}"
        yield DoctorFinding("tracing", "warn", "its packages are not installed: nothing is traced", fix)
        return
    try:
        status, _body = exchange(
            endpoint,
            PATH,
            {"Content-Type": "application/x-protobuf"},
            timeout=COLLECTOR_SECONDS,
            body=b"",
        )
    except _NO_ANSWER as error:
        fix = f"start the collector, or correct {_VARIABLE}: it takes OTLP over HTTP, mostly at port 4318"
        yield DoctorFinding("tracing", "warn", f"{endpoint} does not answer: {error}", fix)
        return
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}:
        fix = f"correct {_VARIABLE}: the base of a collector that takes OTLP over HTTP, mostly at port 4318"
        yield DoctorFinding("tracing", "warn", f"{endpoint}{PATH} answers {status}", fix)
    else:
        yield DoctorFinding("tracing", "ok", f"traces go to {endpoint}, which answers {status}")

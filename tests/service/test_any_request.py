"""Tests that the service does not return a 5xx error for any request. Requests are generated from the
OpenAPI document using schemathesis, without its pytest plugin because this does not work with pytest
9."""

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.asking import SEARCH
from tests.support.running import Service

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
schemathesis.serializer.alias("application/x-ndjson", "application/octet-stream")
WITHOUT_INPUT = {"/ontologies", "/embedding-status", "/embedding/spaces"} | {
    *("/", "/health", "/ready", "/metrics", "/queue", "/folders", "/keys")
}
ENDLESS = "/jobs/events"
EXAMPLES = {SEARCH: 40, "/documents": 20}


@pytest.mark.parametrize("mode", [*GenerationMode], ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    "times",
    [1 / 9, pytest.param(60, marks=[pytest.mark.full, pytest.mark.timeout(4 * 3600)])],
    ids=["few", "many"],
)
def test_no_request_makes_a_server_error(
    service: Service, http: httpx.Client, mode: GenerationMode, times: float
) -> None:
    """Number of examples: 1 for each operation and 4 for the search by default, or 500 and 2,400 with
    `full`."""
    description: Any = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    asked = 0
    operations = (result.ok() for result in description.get_all_operations())
    for operation in (each for each in operations if each.path != ENDLESS):
        if mode is GenerationMode.POSITIVE or _has_input(operation):
            ask(operation, mode, times)
            asked += 1
    assert asked >= 16
    checks = http.get("/ready").json()["checks"]
    amiss = {check["name"] for check in checks if not check["ok"]}
    assert amiss <= {"worker"}, "jobs that were asked for wait, and there is no worker here"


def _has_input(operation: Any) -> bool:
    asked = (operation.method.upper(), operation.path)
    return asked != ("POST", "/embedding/health") and (asked[0] != "GET" or asked[1] not in WITHOUT_INPUT)


def ask(operation: Any, mode: GenerationMode, times: float) -> None:
    """Send requests to an operation, and check the responses with the OpenAPI document."""

    @settings(
        max_examples=round(EXAMPLES.get(operation.path, 9) * times),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(operation.as_strategy(generation_mode=mode))
    def one(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    one()

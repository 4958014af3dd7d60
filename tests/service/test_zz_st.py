from __future__ import annotations
from collections.abc import Iterator
from typing import Any
import pytest, schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from kg_api.graph.database import Graph
from tests.support.running import Service

@pytest.fixture(scope="module")
def description(service: Service) -> Any:
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")

schema = schemathesis.pytest.from_fixture("description")

@schema.parametrize()
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_5xx(case: Case) -> None:
    case.call_and_validate()

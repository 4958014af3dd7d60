"""docker-compose.yml says what kg understands; no engine is needed to know that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kg_api.local.neo4j import VERSION
from kg_api.settings import load_settings

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]


def test_it_has_neo4j_service_and_worker() -> None:
    assert set(SERVICES) == {"neo4j", "api", "worker"}


def test_neo4j_is_the_version_that_is_tested() -> None:
    assert SERVICES["neo4j"]["image"] == f"neo4j:{VERSION}-community"


@pytest.mark.parametrize("name", ["api", "worker"])
def test_kg_takes_its_variables(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in SERVICES[name]["environment"].items():
        monkeypatch.setenv(
            variable, value.replace("${KG_NEO4J__PASSWORD:?set the password of Neo4j}", "secret")
        )
    settings = load_settings()
    assert settings.neo4j.uri == "bolt://neo4j:7687"
    assert settings.neo4j.password is not None


def test_what_answers_requests_has_a_health_check() -> None:
    assert all("healthcheck" in SERVICES[name] for name in ("neo4j", "api"))


def test_the_data_is_on_a_volume_that_is_declared() -> None:
    mounted = {volume.partition(":")[0] for each in SERVICES.values() for volume in each["volumes"]}
    assert mounted == set(COMPOSE["volumes"])


def test_service_and_workers_share_the_pictures() -> None:
    assert SERVICES["api"]["volumes"] == SERVICES["worker"]["volumes"] == ["pictures:/home/kg/blobs"]


def test_nothing_is_published_beyond_this_machine() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_kg_waits_for_a_healthy_neo4j() -> None:
    for name in ("api", "worker"):
        assert SERVICES[name]["depends_on"]["neo4j"]["condition"] == "service_healthy"

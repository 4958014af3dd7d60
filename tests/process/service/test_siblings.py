import re
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import neo4j
import psutil
import pytest

from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer
from tests.support.running import Service, serve, wait_until

COUNT = 2
PATIENCE = 30.0


@pytest.fixture
def service(server: Neo4jServer, driver: neo4j.Driver, tmp_path: Path) -> Iterator[Service]:
    wipe(driver)
    running = serve(server, tmp_path, KG_API__PROCESSES=str(COUNT))
    yield running
    if running.process.poll() is None:
        running.kill()


def siblings(service: Service) -> list[psutil.Process]:
    found = psutil.Process(service.process.pid).children()
    return [each for each in found if "spawn_main" in " ".join(each.cmdline())]


def opened(service: Service) -> int:
    return service.output().count('"event": "service open"')


def test_dead_process_restarts_and_signal_ends_all(service: Service) -> None:
    body = {"text": "Foxes sleep in dens.", "ontology": "notes", "document": "a.md"}
    assert httpx.post(f"{service.url}/documents", json=body).status_code == 202
    answered = 0
    while opened(service) < COUNT:  # from the first /ready on nobody is told to wait
        assert_answers(service)
        answered += 1
    until_counted(service, answered)  # so that the kill loses none
    first = siblings(service)
    assert len(first) == COUNT - 1
    first[0].kill()
    wait_until(lambda: opened(service) == COUNT + 1, PATIENCE, service.output)
    again = siblings(service)
    assert len(again) == COUNT - 1
    assert "a process of the service died" in service.output()
    for _ in range(20):
        assert_answers(service)
    assert "kg_workers" in httpx.get(f"{service.url}/metrics").text
    until_counted(service, answered + 20)
    assert service.stop() == 0, service.output()
    assert not any(each.is_running() for each in again)
    assert service.output().count("a process of the service died") == 1, "a stopped process has not died"


def until_counted(service: Service, answered: int) -> None:
    wait_until(lambda: counted(service) == answered, PATIENCE, lambda: f"{counted(service)}, not {answered}")


def counted(service: Service) -> int:
    """Return how many listings of documents all processes answered, also those that have ended."""
    told = httpx.get(f"{service.url}/metrics").text
    found = re.search(
        r'^kg_http_requests_total\{method="GET",route="/documents",status="2xx"\} (\S+)', told, re.MULTILINE
    )
    return int(float(found[1])) if found else 0


def test_processes_end_with_the_first_and_free_port(service: Service) -> None:
    wait_until(lambda: opened(service) == COUNT, PATIENCE, service.output)
    others = siblings(service)
    service.process.send_signal(signal.SIGKILL)
    psutil.wait_procs(others, timeout=PATIENCE)
    assert not any(each.is_running() for each in others)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{service.url}/health")


def assert_answers(service: Service) -> None:
    answer = httpx.get(f"{service.url}/documents", params={"ontology": "notes"})
    assert (answer.status_code, answer.json()["total"]) == (200, 1), answer.text

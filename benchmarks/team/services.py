"""Two services of one kg, and the keys that people ask them with."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx

from benchmarks.storm.stage import START_SECONDS, Attended, Stage, attending
from kg_api.local import processes
from kg_api.local.neo4j import choose_bolt_port
from kg_api.settings import load_settings

READY = '"service open"'
SHOWN_CHARACTERS = 3000
"""Of an error in a log."""
KEYS_NEEDED = {"KG_API__REQUIRE_KEYS": "true"}
MOST_ERRORS = 20
ENDING_SECONDS = 20.0
"""For so long a second process of a service that was killed may still answer."""


@dataclass
class Service:
    """One of the services, started again whenever it dies."""

    attended: Attended
    port: int
    killed_at: float | None = None
    answered_at: float = 0.0

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ready(self) -> bool:
        """Whether it answers all there is."""
        try:
            return httpx.get(f"{self.url}/ready", timeout=5).status_code == HTTPStatus.OK
        except httpx.HTTPError:
            return False

    @property
    def answers(self) -> bool:
        """Whether it says anything at all."""
        try:
            httpx.get(f"{self.url}/health", timeout=5)
        except httpx.HTTPError:
            return False
        return True

    def note_answer(self) -> None:
        """It has just answered."""
        self.answered_at = time.monotonic()

    @property
    def may_be_away(self) -> bool:
        """Whether it was killed, and has not come back since."""
        return self.killed_at is not None and self.answered_at < self.killed_at + ENDING_SECONDS

    def kill(self) -> bool:
        """End its first process with SIGKILL; whether there was one."""
        self.killed_at = time.monotonic()
        return self.attended.kill() is not None


def story(stage: Stage, services: Sequence[Service]) -> dict[str, Any]:
    """How the processes of the services ended, and the last errors that they logged."""
    logs = [path for each in services for path in sorted(stage.home.logs.glob(f"{each.attended.name}-*.log"))]
    errors = [
        f"{path.name}: {line[:SHOWN_CHARACTERS]}"
        for path in logs
        for line in path.read_text(errors="replace").splitlines()
        if '"level": "error"' in line or '"level": "critical"' in line or not line.startswith("{")
    ]
    ends = {each.attended.name: dict(Counter(each.attended.ends)) for each in services}
    return {"service_ends": ends, "service_errors": errors[-MOST_ERRORS:]}


@contextmanager
def two_services(stage: Stage) -> Generator[list[Service]]:
    """Keep two services running that ask for keys; the first one is that of the home."""
    settings = load_settings()
    choose_bolt_port(stage.home, settings)
    taken = [settings.api.port or processes.find_free_port(), processes.find_free_port()]
    stage.home.remember(api=taken[0], api_host="127.0.0.1")
    services = [
        Service(Attended(name, stage.home, "serve", {**KEYS_NEEDED, "KG_API__PORT": str(port)}, READY), port)
        for name, port in zip(("service-a", "service-b"), taken, strict=True)
    ]
    with attending([each.attended for each in services]):
        _until_ready(services)
        yield services


def make_key(stage: Stage, name: str, scope: str, *ontologies: str) -> str:
    """Make a key by the command line, as an administrator at the machine does."""
    narrowed = [word for ontology in ontologies for word in ("--ontology", ontology)]
    done = stage.kg("admin", "keys", "create", name, "--scope", scope, *narrowed, "--json")
    if done.returncode:
        raise SystemExit(f"no key could be made: {done.stderr[-2000:]}")
    return str(json.loads(done.stdout)["key"])


def _until_ready(services: list[Service]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not all(each.ready for each in services):
        if time.monotonic() > deadline:
            logs = [each.attended.log.read_text(errors="replace")[-1500:] for each in services]
            raise SystemExit(f"the services of {os.environ['KG_HOME']} do not start: {logs}")
        time.sleep(0.5)

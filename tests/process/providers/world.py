import re
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import neo4j

from kg_api.local.processes import find_free_port
from tests.neo4j_server import Neo4jServer
from tests.process.providers.provider import Model, Provider
from tests.support import forked
from tests.support.cypher import rows
from tests.support.providers import CANARY
from tests.support.running import WORKER_STARTS, Running, Service, environment, ready, started, wait_until

Json = dict[str, Any]
PATIENCE = 60.0
QUERY_SECONDS = 1.0
PROPERTIES = """
MATCH (n) RETURN labels(n) AS kind, properties(n) AS known
UNION ALL
MATCH ()-[r]->() RETURN [type(r)] AS kind, properties(r) AS known
"""


def quick(provider: Provider, folder: Path) -> dict[str, str]:
    """Variables for a process that uses the provider and does not have to wait."""
    return {
        "KG_HOME": str(folder / "home"),
        "KG_WORKER__POLL_SECONDS": "0.1",
        "OPENAI_BASE_URL": provider.openai_url,
        "OPENAI_API_KEY": CANARY,
        "OPENAI_TIMEOUT": "5",
    }


@dataclass
class World:
    server: Neo4jServer
    driver: neo4j.Driver
    provider: Provider
    folder: Path
    env: dict[str, str]
    service: Service
    worker: Running
    said: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        hooks = {"response": [self._heard]}
        self.http = httpx.Client(base_url=self.service.url, timeout=60, event_hooks=hooks)

    def ask(self, method: str, path: str, status: int = 200, **options: Any) -> Json:
        response = self.http.request(method, path, **options)
        assert response.status_code == status, response.text
        return response.json()

    def kg(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run `kg ARGUMENTS` with the service and without a terminal."""
        usual = environment(self.server, **{**self.env, "KG_API_URL": self.service.url, "COLUMNS": "100"})
        done = forked.run(arguments, {**usual, **env}, timeout=60)
        self.said += [done.stdout, done.stderr]
        return done

    def space(self, name: str, dimensions: int = 64) -> Model:
        """Create a space for the model with this name."""
        model = self.provider.model(name, dimensions)
        new = {"slug": name, "provider": "openai", "model": name, "dimensions": dimensions}
        self.ask("POST", "/embedding/spaces", 201, json=new)
        return model

    def configure(self, ontology: str, **config: Any) -> Json:
        return self.ask("PUT", f"/ontologies/{ontology}/embedding-config", json=config)

    def ingest(self, ontology: str, text: str, document: str = "a.md") -> Json:
        body = {"ontology": ontology, "document": document, "text": text}
        response = self.http.post("/documents", json=body)
        assert response.is_success, response.text
        return response.json()

    def embedded(self, ontology: str, text: str, document: str = "a.md") -> Json:
        """Store a document and wait until it is embedded."""
        stored = self.ingest(ontology, text, document)
        if stored["job_id"]:
            self.until_job(stored["job_id"], lambda job: job["state"] == "succeeded")
        return stored

    def job(self, job_id: str) -> Json:
        return self.ask("GET", f"/jobs/{job_id}")

    def until_job(
        self, job_id: str, fits: Callable[[Json], bool] = lambda job: job["state"] == "succeeded"
    ) -> Json:
        seen: list[Json] = []

        def reached() -> bool:
            seen.append(self.job(job_id))
            return fits(seen[-1])

        wait_until(reached, PATIENCE, lambda: f"{seen[-1]}\n{self.worker.output()[-3000:]}")
        return seen[-1]

    def search(self, query: str, **options: Any) -> Json:
        begun = time.monotonic()
        answer = self.ask("POST", "/queries/sources/search", json={"query_text": query, **options})
        return {**answer, "seconds": time.monotonic() - begun}

    def status(self, ontology: str) -> dict[str, int]:
        told = self.ask("GET", f"/ontologies/{ontology}/embedding-status")
        return {name: told[name] for name in ("total", "embedded", "missing", "stale")}

    def metrics(self, url: str | None = None) -> dict[str, float]:
        text = self.http.get(url or "/metrics").text
        lines = [line.rpartition(" ") for line in text.splitlines() if line and line[0] != "#"]
        return {name: float(value) for name, _, value in lines}

    def stop(self) -> None:
        """Stop the process, and check that its output does not contain the key."""
        self.said.append(self.http.get("/metrics").text)
        self.said.append(self.http.get("/jobs", params={"limit": 100}).text)
        self.http.close()
        self.worker.process.terminate()  # once: a second signal means at once
        ended = (self.service.stop(), self.worker.process.wait(PATIENCE))
        assert ended == (0, 0), self.service.output()[-2000:] + self.worker.output()[-2000:]
        self.assert_no_key()

    def assert_no_key(self) -> None:
        outputs = [self.service.output(), self.worker.output()]
        assert all(outputs)
        leaks = [text for text in (*self.said, *outputs) if CANARY in text]
        leaks += [str(row["kind"]) for row in rows(self.driver, PROPERTIES) if CANARY in str(row["known"])]
        assert leaks == []
        assert {each.headers["authorization"] for each in self.provider.requests} == {f"Bearer {CANARY}"}

    def _heard(self, response: httpx.Response) -> None:
        response.read()
        self.said += [response.text, str(response.headers)]


@contextmanager
def opened(
    server: Neo4jServer, driver: neo4j.Driver, provider: Provider, folder: Path, **env: str
) -> Generator[World]:
    """Start a service and a worker at once, and stop them at the end."""
    port = find_free_port()
    settings = {**quick(provider, folder), **env}
    variables = environment(server, KG_API__PORT=str(port), **settings)
    with (
        started(["worker"], variables, folder / "worker.log") as worker,
        started(["serve"], variables, folder / "serve.log") as running,
    ):
        service = Service(running.process, running.log, f"http://127.0.0.1:{port}")
        wait_until(lambda: ready(service.url) or running.process.poll() is not None, PATIENCE, running.output)
        wait_until(lambda: WORKER_STARTS in worker.output(), PATIENCE, worker.output)
        world = World(server, driver, provider, folder, settings, service, worker)
        yield world
        world.stop()


def parts(answer: Json) -> list[str]:
    return [each["part"] for each in answer["degraded"]]


def effects(answer: Json) -> str:
    return " / ".join(each["effect"] for each in answer["degraded"])


def texts(answer: Json) -> list[str]:
    return [re.sub(r"\W+", " ", hit["full_text"]).strip() for hit in answer["sources"]]

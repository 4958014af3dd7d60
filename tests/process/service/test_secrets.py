"""Tests that you cannot see secrets in any output (HARDENING 90)."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.statements import FIRST_CONCEPT_INDEX, FIRST_INDEX, FIRST_RELATION_INDEX
from kg_api.local.processes import Home
from tests.neo4j_server import Neo4jServer
from tests.support import forked
from tests.support.behaviours import Status
from tests.support.collector import Collector
from tests.support.cypher import rows
from tests.support.embedding_server import EmbeddingServer
from tests.support.running import environment, serve, started_worker, wait_until

SETTINGS = ("OPENAI_API_KEY", "COHERE_API_KEY", "NOMIC_API_KEY", "KG_LLM__API_KEY", "KG_RERANK__API_KEY")
OF_OTHERS = ("AWS_SECRET_ACCESS_KEY", "OTEL_EXPORTER_OTLP_HEADERS", "KG_API_KEY")
"""Variables that are read by libraries or by a client."""
PATHS = (
    *("/metrics", "/health", "/ready", "/openapi.json", "/jobs", "/queue", "/audit", "/keys", "/folders"),
    *("/embedding/spaces", "/embedding-status", "/export", "/ui/jobs"),
    "/export/ontologies/notes",
)
COMMANDS = (
    *(("doctor",), ("status",), ("status", "--json"), ("jobs", "list"), ("jobs", "list", "--json")),
    *(("admin", "keys", "list", "--json"), ("admin", "audit", "--json")),
    ("search", "burrows"),
)
BY_STRANGERS = (("doctor",), ("status", "--json"), ("search", "burrows"))


def secret() -> str:
    return f"sk-{secrets.token_hex(16)}"


@dataclass
class Secrets:
    of: dict[str, str] = field(default_factory=dict[str, str])

    def in_text(self, text: str) -> list[str]:
        return [name for name, value in self.of.items() if value[-24:] in text]


@pytest.fixture
def provider() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


def test_90_secrets_appear_in_no_output(
    server: Neo4jServer, graph: Graph, driver: neo4j.Driver, provider: EmbeddingServer, tmp_path: Path
) -> None:
    del graph
    for index in (FIRST_INDEX, FIRST_CONCEPT_INDEX, FIRST_RELATION_INDEX):
        rows(driver, f"DROP INDEX {index} IF EXISTS")  # other tests leave them for another model
    hidden = Secrets({name: secret() for name in (*SETTINGS, *OF_OTHERS)})
    given = {name: hidden.of[name] for name in (*SETTINGS, "AWS_SECRET_ACCESS_KEY")}
    with Collector() as collector:
        env = {
            **given,
            "KG_EMBEDDING__PROVIDER": "openai",
            "OPENAI_BASE_URL": provider.openai_url,
            "OPENAI_MAX_RETRIES": "0",
            "KG_API__REQUIRE_KEYS": "true",
            "KG_LOG__LEVEL": "debug",
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_HEADERS": f"authorization={hidden.of['OTEL_EXPORTER_OTLP_HEADERS']}",
            "OTEL_BSP_SCHEDULE_DELAY": "200",
        }
        service = serve(server, tmp_path, **env)
        home = Home(tmp_path / "home")
        at_home = environment(server, **env, KG_HOME=str(home.path), KG_API_URL=service.url)
        try:
            made = kg(at_home, "admin", "keys", "create", "chief", "--scope", "admin").strip()
            hidden.of |= {"a key of kg": made, "the home's": home.read_folder_key() or ""}
            assert len(hidden.of["the home's"]) > 24
            with started_worker(environment(server, **env), tmp_path / "worker.log") as worker:
                told = of_service(service.url, made, hidden, provider)
                wait_until(lambda: "failed" in worker.output() or "failed" in worker.output(), 60)
                told |= of_paths(service.url, made)
                told |= {" ".join(each): kg(at_home, *each) for each in COMMANDS}
                told |= of_stranger(as_stranger(at_home, hidden))
                told["the worker's log"] = worker.output()
            assert hidden.of["OPENAI_API_KEY"] in str(provider.requests[-1].headers), "it was used"
        finally:
            service.stop()
        told["the service's log"] = service.output()
        told["traces"] = b"".join(collector.bodies).decode("latin-1")
    assert told["traces"]
    told |= {str(each): each.read_text("latin-1") for each in files_of(home)}
    assert {name: found for name, text in told.items() if (found := hidden.in_text(text))} == {}


def kg(env: dict[str, str], *arguments: str) -> str:
    done = forked.run(arguments, env)
    return done.stdout if arguments[:3] == ("admin", "keys", "create") else done.stdout + done.stderr


def as_stranger(env: dict[str, str], hidden: Secrets) -> dict[str, str]:
    """Send a wrong key to a URL that contains a password."""
    url = env["KG_API_URL"].replace("//", f"//me:{hidden.of['KG_API_KEY']}@")
    return {
        **env,
        "KG_HOME": f"{env['KG_HOME']}-elsewhere",
        "KG_API_KEY": hidden.of["KG_API_KEY"],
        "KG_API_URL": url,
    }


def of_stranger(env: dict[str, str]) -> dict[str, str]:
    return {f"stranger: {' '.join(each)}": kg(env, *each) for each in BY_STRANGERS}


def of_service(url: str, key: str, hidden: Secrets, provider: EmbeddingServer) -> dict[str, str]:
    """Store a text. The provider will reject its own key and return it in the error."""
    body = {"ontology": "notes", "document": "a.txt", "text": "Puffins dig burrows."}
    quoting = f"Incorrect API key provided: {hidden.of['OPENAI_API_KEY']}"
    with httpx.Client(base_url=url, timeout=60, headers={"Authorization": f"Bearer {key}"}) as http:
        provider.always = Status(401, message=quoting)
        stored = http.post("/documents", json=body)
        assert stored.status_code == 202, stored.text
        search = http.post("/queries/sources/search", json={"query_text": "burrows"})
        asked = http.post("/embedding/health")
        leaky = http.get(f"/jobs?key={key}", headers={"Referer": f"{url}/?key={key}"})
        wrong = http.get("/jobs", headers={"Authorization": f"Bearer {hidden.of['KG_API_KEY']}"})
    told = {"search": search, "health asked": asked, "key in address": leaky, "wrong key": wrong}
    return {name: json.dumps([each.text, *each.headers.multi_items()]) for name, each in told.items()}


def of_paths(url: str, key: str) -> dict[str, str]:
    with httpx.Client(base_url=url, timeout=60, headers={"Authorization": f"Bearer {key}"}) as http:
        answers = {path: http.get(path) for path in PATHS}
    assert [path for path, each in answers.items() if each.status_code >= 500 and path != "/ready"] == []
    return {path: each.text for path, each in answers.items()}


def files_of(home: Home) -> Iterator[Path]:
    key = home.read_folder_key() or ""
    return (
        each for each in home.path.rglob("*") if each.is_file() and each.read_text("latin-1").strip() != key
    )

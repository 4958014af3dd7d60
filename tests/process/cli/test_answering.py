from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer
from tests.process.cli.conftest import Kg
from tests.support.embedding import run_jobs
from tests.support.embedding_server import EmbeddingServer
from tests.support.llm import quoting
from tests.support.running import serve

LEASES = "# Leases\n\nA worker renews its lease [bold]every[/bold] ten seconds.\n"
QUESTION = "How often does a worker renew its lease?"
Env = dict[str, str]


@pytest.fixture(scope="module")
def env(
    server: Neo4jServer, driver: neo4j.Driver, migrated_graph: Graph, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Env]:
    wipe(driver)
    with EmbeddingServer() as writer:
        writer.chat = quoting
        model = {"KG_LLM__MODEL": "small-writer", "KG_LLM__BASE_URL": writer.openai_url}
        running = serve(server, tmp_path_factory.mktemp("writing"), **model)
        with KgClient(running.url) as client:
            client.ingest_text(LEASES, ontology="handbook", document="leases.md")
        run_jobs(migrated_graph)
        yield {"KG_API_URL": running.url}
        assert running.stop() == 0, running.output()


def test_statements_are_numbered_and_their_places_follow(kg: Kg, env: Env) -> None:
    ran = kg("answer", QUESTION, "-o", "handbook", "--min-similarity", "0", env=env)
    assert ran.returncode == 0, ran.stderr
    said = " ".join(ran.stdout.split())
    assert said.startswith("It says: A worker renews its lease [bold]every[/bold] ten seconds. [1]")
    assert "[1] handbook / leases.md Leases > ¶0 “A worker renews" in said
    assert "1 statement from 1 passage by small-writer" in ran.stderr
    citation = ran.stdout.split()[-1]
    shown = kg("show", citation, env=env)
    assert shown.returncode == 0, shown.stderr


def test_withheld_answer_shows_its_reason(kg: Kg, env: Env) -> None:
    ran = kg("answer", QUESTION, "--min-similarity", "0.99", env=env)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "No answer: no passage is similar enough" in ran.stderr


def test_without_a_language_model_the_setting_is_named(kg: Kg) -> None:
    ran = kg("answer", QUESTION)
    assert ran.returncode == 2
    assert "KG_LLM__MODEL" in ran.stderr

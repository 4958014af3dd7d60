"""Similar passages, their graph, and reading within a budget, on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.embedding import run_jobs
from tests.support.running import Service

LEASES = "A worker renews its lease every ten seconds, and whoever does not is taken for dead by all others."


@pytest.fixture(scope="module")
def source(service: Service, driver: neo4j.Driver, migrated_graph: Graph) -> Iterator[str]:
    """Two documents that say almost the same, in two ontologies; the id of the first source."""
    wipe(driver)
    with KgClient(service.url) as client:
        client.ingest_text(f"# Leases\n\n{LEASES}\n", ontology="handbook", document="leases.md")
        client.ingest_text(f"# Leases\n\n{LEASES.upper()}\n", ontology="kitchen", document="copy [b].md")
        run_jobs(migrated_graph)
        yield client.search_sources("lease", ontology="handbook").sources[0].source_id


def test_similar_passages_are_a_table_for_people_and_the_rest_answer_for_programs(
    kg: Kg, source: str
) -> None:
    shown = kg("similar", source, "--limit", "3")
    assert shown.returncode == 0, shown.stderr
    for told in ("kitchen / copy [b].md", "near-duplicate", "1 similar to handbook / leases.md ¶0"):
        assert told in shown.stdout + shown.stderr
    given = json.loads(kg("similar", source, "-o", "kitchen", "--json").stdout)
    assert [each["document"] for each in given["sources"]] == ["copy [b].md"]
    assert kg("similar", "none").returncode != 0


def test_documents_that_are_like_a_document(kg: Kg, source: str, service: Service) -> None:
    with KgClient(service.url) as client:
        document = client.source(source).document_id
    shown = kg("similar-documents", document)
    for told in ("kitchen / copy [b].md", "¶0 - ¶0", "almost the same", "1 of 1 passages compared"):
        assert told in shown.stdout + shown.stderr
    given = json.loads(kg("similar-documents", document, "-o", "kitchen", "--pairs", "1", "--json").stdout)
    assert [each["document"] for each in given["documents"]] == ["copy [b].md"]
    assert kg("similar-documents", "none").returncode == 4


def test_the_graph_is_its_pairs(kg: Kg, source: str) -> None:
    shown = kg("source-graph", "--neighbours", "2", "--min-similarity", "0.5")
    assert shown.returncode == 0, shown.stderr
    for told in (
        "almost the same",
        source,
        "2 passages, 1 pair, 1 group of near-duplicates; 0 without a pair.",
    ):
        assert told in shown.stdout + shown.stderr
    given = json.loads(kg("source-graph", "--source", source, "--json").stdout)
    assert (len(given["nodes"]), len(given["edges"])) == (2, 1)
    assert kg("source-graph", "-s", source, "-d", "leases.md").returncode != 0


def test_reading_within_a_budget_says_what_does_not_fit(kg: Kg, source: str) -> None:
    shown = kg("show", source, "--tokens", "3")
    assert "nothing fits into 3" in shown.stderr
    assert json.loads(kg("show", source, "--tokens", "500", "--json").stdout)["left_out"] == 0

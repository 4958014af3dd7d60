"""Run the commands and the query of docs/guides/concepts.md on subgraphs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from kg_api.schemas.constructive import ConstructiveQuery
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.process.cli.test_documented_relationships import STATED, TEXTS
from tests.support.documented import commands_in, section_of
from tests.support.embedders import small_embedder
from tests.support.embedding import run_jobs
from tests.support.running import Service

SECTION = section_of("docs/guides/concepts.md", "Build a subgraph")
RECENT = {
    "ontology": "leases",
    "where": ["format=markdown"],
    "steps": [
        {"step": "seed", "by": "concept", "value": "lease"},
        {"step": "expand", "along": ["appears_in", "part_of"], "direction": "out", "hops": 2},
        {"step": "filter", "kinds": ["passage", "document"]},
    ],
}
QUERIES = dict(re.findall(r"`(\w+\.json)`:\n\n```json\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL))
QUERIES["recent.json"] = json.dumps(RECENT)
COMMANDS = [*commands_in(SECTION), "subgraph recent.json --ontology leases"]
TOLD = {
    "subgraph requires.json": (
        "worker requires lease",
        "The worker requires a lease",
        "nodes after each step",
    ),
    "subgraph recent.json --ontology leases": (
        "a.md ¶0 part of a.md",
        "step 3 (filter): 1 node left out",
        "2 hops",
    ),
}


@pytest.fixture(scope="module")
def leases(
    service: Service, driver: neo4j.Driver, migrated_graph: Graph, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A folder with the queries of the page, and what they ask for in the service."""
    wipe(driver)
    ensure_space(migrated_graph, small_embedder().identity)
    with KgClient(service.url) as kg:
        for name, text in TEXTS.items():
            kg.ingest_text(text, ontology="leases", document=name)
        run_jobs(migrated_graph)
        kg.import_concepts(
            [{"document": name, "relations": stated} for name, stated in STATED.items()], ontology="leases"
        )
        run_jobs(migrated_graph)
    folder = tmp_path_factory.mktemp("subgraphs")
    for name, query in QUERIES.items():
        (folder / name).write_text(query, encoding="utf-8")
    yield folder
    wipe(driver)


def test_they_say_what_the_page_says(kg: Kg, leases: Path) -> None:
    assert (len(COMMANDS), len(QUERIES)) == (4, 2)
    seen = set[str]()
    for command in COMMANDS:
        arguments = [str(leases / each) if each in QUERIES else each for each in shlex.split(command)]
        shown = kg(*arguments)
        assert shown.returncode == 0, (command, shown.stderr)
        said = " ".join((shown.stdout + shown.stderr).split())
        if command in TOLD:
            seen.add(command)
            assert [each for each in TOLD[command] if each not in said] == [], (command, said)
        else:
            json.loads(shown.stdout)
    assert seen == TOLD.keys()
    assert json.loads(kg("subgraph", "--schema").stdout) == ConstructiveQuery.model_json_schema()


def test_a_query_is_read_from_standard_input(kg: Kg, leases: Path) -> None:
    assert leases
    shown = kg("subgraph", "--json", stdin=QUERIES["recent.json"])
    assert shown.returncode == 0, shown.stderr
    assert {node["kind"] for node in json.loads(shown.stdout)["nodes"]} == {"passage", "document"}


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", "is not valid JSON"),
        ("[]", "contains no JSON object"),
        ("{}", "steps"),
        ('{"steps": [{"step": "limit", "nodes": 1}]}', "begin with 'seed'"),
        ('{"steps": [{"step": "seed", "by": "concept", "value": "zzyzx"}]}', "no concept fits"),
        ('{"steps": [{"step": "seed", "value": "a"}], "ontology": "gone"}', "gone"),
    ],
)
def test_bad_queries_are_refused(kg: Kg, leases: Path, query: str, told: str) -> None:
    assert leases
    shown = kg("subgraph", stdin=query)
    assert shown.returncode not in {0, 1}, shown.stdout
    assert told in " ".join(shown.stderr.split())

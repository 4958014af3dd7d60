from __future__ import annotations

import json
from collections.abc import Iterator

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.concept_graph import embed_concepts, store_concepts
from tests.support.embedders import small_embedder
from tests.support.records import record
from tests.support.running import Service

TEXTS = ["A worker holds a lease.", "Nothing.", "A lost lease ends in a retry."]


@pytest.fixture(scope="module")
def ids(service: Service, driver: neo4j.Driver, migrated_graph: Graph) -> Iterator[dict[str, str]]:
    assert service.url
    wipe(driver)
    ensure_space(migrated_graph, small_embedder().identity)
    found = store_concepts(
        migrated_graph,
        record("jobs [1].md", TEXTS),
        {0: ["worker", "lease"], 2: ["lease", "retry"]},
        {0: [("worker", "holds", "lease")], 2: [("lease", "ends in", "retry")]},
    )
    embed_concepts(driver)
    yield found
    wipe(driver)


def test_unknown_concept_exits_with_an_error(kg: Kg, ids: dict[str, str]) -> None:
    assert kg("concepts", "show", "0" * 32).returncode == 4
    nowhere = kg("concepts", "show", "lease", "-o", "nowhere")
    assert (nowhere.returncode, "'nowhere'" in nowhere.stderr) == (4, True)
    assert kg("concepts", "path", "lease", "retry", "--hops", "9").returncode == 2
    assert ids


@pytest.mark.parametrize("command", ["show", "context", "related", "path"])
def test_unrelated_phrase_matches_no_concept(kg: Kg, ids: dict[str, str], command: str) -> None:
    other = ["lease"] if command == "path" else []
    shown = kg("concepts", command, "qwertyzxcv", *other)
    assert (shown.returncode, shown.stdout) == (4, "")
    said = " ".join(shown.stderr.split())
    assert "no concept matches 'qwertyzxcv' (nearest: '" in said
    assert "lease" in said
    assert len(ids) == len(json.loads(kg("concepts", "search", "qwertyzxcv", "--json").stdout)["concepts"])

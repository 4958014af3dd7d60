"""Concepts on the command line."""

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
    """A document with concepts; ids by label."""
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


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["search", "the lease", "-n", "2"], ["lease", "notes, 2 sources"]),
        (["show", "lease"], ["“lease”", "jobs [1].md ¶0", "worker holds lease", "lease ends in retry"]),
        (["show", "a lost lease"], ["No concept is called", "taken: lease"]),
        (["related", "worker", "--hops", "2"], ["worker holds lease", "lease ends in retry", "2 hops"]),
        (["path", "worker", "retry"], ["worker holds lease", "lease ends in retry", "1 path from worker"]),
        (["path", "worker", "retry", "--hops", "1"], ["There is no path from worker to retry within 1 hop"]),
        (["context", "lease", "--window", "0"], [TEXTS[0], TEXTS[2], "lease in 2 sources"]),
        (["neighbourhood", "lease"], ["worker holds lease", "2 concepts around lease, 2 connections"]),
        (["path", "worker", "worker"], ["both ends are the same concept, 'worker'"]),
        (["list", "notes"], ["3 of 3 concepts", "worker"]),
    ],
)
def test_what_a_person_sees(kg: Kg, ids: dict[str, str], arguments: list[str], told: list[str]) -> None:
    shown = kg("concepts", *arguments)
    assert shown.returncode == 0, shown.stderr
    said = " ".join((shown.stdout + shown.stderr).split())
    for each in told:
        assert each in said
    assert ids


def test_programs_get_the_rest_answer(kg: Kg, ids: dict[str, str]) -> None:
    shown = json.loads(kg("concepts", "show", ids["lease"], "--json").stdout)
    assert (shown["concept_id"], len(shown["evidence"])) == (ids["lease"], 2)
    paths = json.loads(kg("concepts", "path", "worker", ids["retry"], "--json").stdout)
    assert [step["type"] for step in paths["paths"][0]["steps"]] == ["holds", "ends in"]


def test_what_is_not_there_ends_with_an_error(kg: Kg, ids: dict[str, str]) -> None:
    assert kg("concepts", "show", "0" * 32).returncode == 4
    nowhere = kg("concepts", "show", "lease", "-o", "nowhere")
    assert (nowhere.returncode, "'nowhere'" in nowhere.stderr) == (4, True)
    assert kg("concepts", "path", "lease", "retry", "--hops", "9").returncode == 2
    assert ids


@pytest.mark.parametrize("command", ["show", "context", "related", "neighbourhood", "path"])
def test_what_no_concept_is_called_like_is_not_taken_for_any(
    kg: Kg, ids: dict[str, str], command: str
) -> None:
    other = ["lease"] if command == "path" else []
    shown = kg("concepts", command, "qwertyzxcv", *other)
    assert (shown.returncode, shown.stdout) == (4, "")
    said = " ".join(shown.stderr.split())
    assert "no concept fits 'qwertyzxcv' (nearest: '" in said
    assert "lease" in said
    assert len(ids) == len(json.loads(kg("concepts", "search", "qwertyzxcv", "--json").stdout)["concepts"])

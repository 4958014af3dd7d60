"""Run the commands of docs/guides/concepts.md on relationships, one after the other."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.documented import commands_in, section_of
from tests.support.embedders import small_embedder
from tests.support.embedding import run_jobs
from tests.support.running import Service

COMMANDS = commands_in(section_of("docs/guides/concepts.md", "Search relationships"))
TEXTS = {
    "a.md": "The worker requires a lease, and so it supports safety.",
    "b.md": "A worker needs a lease. A frozen worker casts doubt on safety.",
}
STATED = {
    "a.md": [["worker", "requires", "lease"], ["lease", "supports", "safety"]],
    "b.md": [["worker", "needs", "lease"], ["frozen worker", "casts doubt on", "safety"]],
}
TOLD = {
    "concept relations": ("worker requires lease", "The worker requires a lease"),
    "search": ("a.md", "b.md", "A worker needs a lease."),
    "relationship-types list": ("requires", "casts doubt on", "neutral", "supports"),
    "relationship-types preview": ("nothing was merged",),
    "relationship-types merge": ("read as 'requires'", "1 relationship"),
    "relationship-types merges": ("needs → requires", "Ada"),
    "relationship-types undo": ("is separate from 'requires' again",),
    "relationship-types stance": ("casts doubt on: contradicts",),
    "concept show": ("grounding 0.67", "for: lease supports safety"),
}


@pytest.fixture(scope="module")
def leases(service: Service, driver: neo4j.Driver, migrated_graph: Graph) -> Iterator[KgClient]:
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
        yield kg
    wipe(driver)


def test_they_say_what_the_page_says(kg: Kg, leases: KgClient) -> None:
    assert len(COMMANDS) == 12
    seen = set[str]()
    for command in COMMANDS:
        merges = leases.relationship_type_merges("leases").merges
        merge_id = str(merges[0].merge_id) if merges else ""
        shown = kg(*shlex.split(command.replace("MERGE_ID", merge_id)))
        assert shown.returncode == 0, (command, shown.stderr)
        said = " ".join((shown.stdout + shown.stderr).split())
        for what, told in TOLD.items():
            if what in command and not command.endswith("--json") and re.search(rf"{what}(?!s)", command):
                seen.add(what)
                assert [each for each in told if each not in said] == [], (command, said)
        if command.endswith("--json"):
            json.loads(shown.stdout)
    assert seen == TOLD.keys()
    shown = kg(*shlex.split(COMMANDS[-1]))
    grounding = json.loads(shown.stdout)["grounding"]
    assert (grounding["supporting"], grounding["contradicting"], grounding["strength"]) == (1, 1, 0.5)

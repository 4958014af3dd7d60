"""The commands of docs/concepts.md on communities, run as they stand there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.database import Graph
from kg_api.graph.spaces.registry import ensure_space
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.communities import BAKERY, Detecting
from tests.support.embedders import small_embedder
from tests.support.running import Service

PAGE = Path(__file__).parents[3] / "docs" / "concepts.md"
HEADING = "\n## Communities: what an ontology is about\n"
SECTION = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
COMMANDS = [
    line.partition("#")[0].strip().removeprefix("kg ")
    for block in re.findall(r"^```bash\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
TOLD = {
    "communities list --ontology notes --parent": ("No communities are here", "2 on level 0"),
    "communities list --ontology notes": ("2 of 2 communities", "9 are in one", "of a single source"),
    "communities show": ("level 0 5 concepts", "bakery.md#", "yeast", "1.00"),
    "communities detect": ("a worker detects communities", "kg communities list"),
}


@pytest.fixture(scope="module")
def notes(service: Service, driver: neo4j.Driver, migrated_graph: Graph) -> Iterator[str]:
    """The id of the largest of two communities."""
    wipe(driver)
    ensure_space(migrated_graph, small_embedder().identity)
    detecting = Detecting(migrated_graph)
    detecting.add_topics()
    detecting.work()
    with KgClient(service.url) as kg:
        largest, _ = kg.communities("notes").communities
        assert set(largest.labels) == set(BAKERY)
        yield largest.community_id


def test_all_documented_commands_run(kg: Kg, notes: str) -> None:
    seen = set[str]()
    for command in COMMANDS:
        done = kg(*command.replace("COMMUNITY_ID", notes).split())
        assert done.returncode == 0, (command, done.stderr)
        if "--json" in command:
            assert json.loads(done.stdout)["levels"] == [2]
            continue
        name = next(each for each in TOLD if command.startswith(each))
        seen.add(name)
        for words in TOLD[name]:
            assert words in " ".join((done.stdout + done.stderr).split()), (command, done.stdout)
    assert seen == TOLD.keys()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["communities", "show", "nothing", "--ontology", "notes"], "kg communities list"),
        (["communities", "list", "--ontology", "gone"], "gone"),
        (["communities", "list", "--ontology", "notes", "--level", "9"], "level"),
        (["communities", "detect", "--ontology", "gone"], "gone"),
    ],
)
def test_bad_inputs_are_refused_by_name(kg: Kg, notes: str, arguments: list[str], told: str) -> None:
    assert notes
    shown = kg(*arguments)
    assert shown.returncode not in {0, 1}, shown.stdout
    assert told in " ".join(shown.stderr.split())

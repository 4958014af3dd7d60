"""Run the commands of docs/guides/concepts.md on topics."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.communities import BAKERY, Detecting
from tests.support.documented import check_commands, commands_in, section_of
from tests.support.embedders import small_embedder
from tests.support.running import Service

COMMANDS = commands_in(section_of("docs/guides/concepts.md", "List topics"))
TOLD = {
    "communities list --ontology notes --parent": ("There are no communities here", "2 on level 0"),
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
    given = check_commands(kg, [each.replace("COMMUNITY_ID", notes) for each in COMMANDS], TOLD)
    assert [each["levels"] for each in given] == [[2]]

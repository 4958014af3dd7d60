"""Run the commands of docs/guides/concepts.md on proposed links."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest

from kg_api.client import KgClient
from kg_api.discovery.proposals import LinkProposal
from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from kg_api.settings import ProposalSettings
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.documented import check_commands, commands_in, section_of
from tests.support.embedders import small_embedder
from tests.support.embedding import run_jobs
from tests.support.proposals import EARS, OWLS, TAXES
from tests.support.running import Service

COMMANDS = commands_in(section_of("docs/guides/concepts.md", "Review proposed links"))
TOLD = {
    "proposals list --ontology notes": ("owls.md#0", "ears.md#0", "voles", "1 of 1 proposal"),
    "proposals show": ("source open", "Barn owls hunt at dusk", "Each is to the other"),
    "proposals accept": ("are linked", "kg proposals undo"),
    "proposals reject": ("are never proposed again",),
    "proposals undo": ("is open again",),
    "proposals config": ("min_similarity", "0.85", "this ontology", "1 open"),
    "proposals search": ("everything is looked at again", "a worker looks for links"),
}


@pytest.fixture(scope="module")
def notes(service: Service, driver: neo4j.Driver, migrated_graph: Graph) -> Iterator[str]:
    """The id of the one proposal there is."""
    wipe(driver)
    ensure_space(migrated_graph, small_embedder().identity)
    with KgClient(service.url) as kg:
        for name, text in (("owls.md", OWLS), ("ears.md", EARS), ("taxes.md", TAXES)):
            kg.ingest_text(text, ontology="notes", document=name)
        run_jobs(migrated_graph)
        kg.set_proposals_config("notes", min_similarity=0.5, min_contrast=0)
        kg.search_proposals("notes")
        run_jobs(migrated_graph, further=[LinkProposal(migrated_graph, ProposalSettings())])
        (found,) = kg.proposals("notes", kind="source").proposals
        yield found.proposal_id


def test_all_documented_commands_run(kg: Kg, notes: str) -> None:
    given = check_commands(kg, [each.replace("PROPOSAL_ID", notes) for each in COMMANDS], TOLD)
    assert [each["total"] for each in given] == [0], "it was opened again"

"""Commands of docs/operations, run as they are written there."""

from __future__ import annotations

from pathlib import Path

import neo4j
import pytest

from kg_api.graph.client import Graph
from kg_api.graph.spaces import ensure_space
from tests.conftest import wipe
from tests.process.cli.conftest import Kg
from tests.support.documented import commands_in, section_of
from tests.support.embedders import small_embedder

SECTIONS = [
    ("security", "Create API keys", 4),
    ("security", "Rotate and revoke keys", 2),
    ("security", "See who changed what", 2),
    ("models", "Re-embed documents", 3),
    ("models", "Detect a changed model", 1),
    ("monitoring", "Watch jobs", 2),
    ("backup-and-transfer", "Export and import ontologies", 2),
]
"""Page, section, and the number of its commands that need nothing but a service."""
SKIPPED = ("jobs watch", "jobs retry", "jobs cancel", "admin regenerate-embeddings --ontology notes --force")
"""Commands that wait for jobs or need the id of one."""


@pytest.fixture(scope="module")
def notes(
    kg: Kg, driver: neo4j.Driver, migrated_graph: Graph, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return an empty folder; the ontology `notes` has one document."""
    wipe(driver)
    ensure_space(migrated_graph, small_embedder().identity)
    folder = tmp_path_factory.mktemp("notes")
    (folder / "leases.md").write_text("# Leases\n\nA worker renews its lease.\n")
    assert kg("ingest", str(folder), "--ontology", "notes").returncode == 0
    return folder


@pytest.mark.parametrize(("page", "heading", "number"), SECTIONS, ids=[heading for _, heading, _ in SECTIONS])
def test_operations_commands_succeed(kg: Kg, notes: Path, page: str, heading: str, number: int) -> None:
    lines = commands_in(section_of(f"docs/operations/{page}.md", heading))
    plain = [each for each in lines if each.split()[0] in {"admin", "jobs", "export", "import"}]
    chosen = [each for each in plain if not each.startswith(SKIPPED)]
    assert len(chosen) == number
    for line in chosen:
        done = kg(*line.replace("'", "").replace("moving", str(notes / "bundle")).split())
        assert done.returncode == 0, (line, done.stderr)

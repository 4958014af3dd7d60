"""What each block of a source is, is stored with it, and extraction reads it (ADR 39)."""

from __future__ import annotations

import neo4j
import pytest

from kg_api.graph.database import Graph
from kg_api.graph.documents.writes import store_document
from kg_api.graph.spaces.due import sources_of_document
from kg_api.ingest.records import Incoming, to_record
from kg_api.models.identity import document_id
from kg_api.settings import load_settings
from tests.support.cypher import rows
from tests.support.extraction import configure_extraction, labels, run_extraction

FORGET = "MATCH (s:Source) REMOVE s.block_kinds, s.block_starts"
"""As an older version stored sources."""


def kinds(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The kinds of blocks of each source, by text."""
    found = sources_of_document(graph, document_id("notes", "a.md"))
    return {source.full_text.strip(): tuple(block.kind for block in source.blocks) for source in found}


def nodes(driver: neo4j.Driver) -> set[str]:
    """The database's own ids of the sources that begin with "Two"."""
    found = rows(driver, "MATCH (s:Source) WHERE s.full_text STARTS WITH 'Two' RETURN elementId(s) AS id")
    return {row["id"] for row in found}


def ingest(graph: Graph, text: str) -> None:
    store_document(graph, to_record(Incoming("notes", "a.md", text))[0])


def test_block_kinds_are_stored_with_the_sources_and_follow_the_text(
    graph: Graph, driver: neo4j.Driver
) -> None:
    parts = [f"{number}: {'some words of a paragraph. ' * 36}".strip() for number in ("One", "Two", "Six")]
    text = "\n\n".join(parts)
    ingest(graph, f"# Title\n\n{text}\n")
    assert list(kinds(graph).values()) == [("heading", "paragraph"), ("paragraph",), ("paragraph",)]
    before = nodes(driver)
    rows(driver, FORGET)
    assert set(kinds(graph).values()) == {()}
    ingest(graph, f"# Title\n\n{text}\n\n- item\n")
    assert kinds(graph)[parts[1]] == ("paragraph",)
    ingest(graph, f"# Title\n\n~~~\n\n{text}\n")
    assert kinds(graph)[parts[1]] == ("code",)
    assert before & nodes(driver), "a source that is code now is the same source"


@pytest.mark.parametrize("statement", ["RETURN 1 AS one", FORGET])
def test_a_code_block_has_no_concepts_whichever_version_stored_it(
    graph: Graph, driver: neo4j.Driver, statement: str
) -> None:
    configure_extraction(graph, extractor="keyphrase")
    prose = "They came with Carla Jones to the Silver Harbour. "
    code = "\n\n".join("then with Dora Miles and Emma Ross. " * 30 for _ in range(4))
    ingest(graph, f"{prose * 9}\n\n```\n{code}\n```\n\nThey left with Frida Kahn.\n")
    rows(driver, statement)
    run_extraction(graph, load_settings())
    found = set(labels(driver))
    assert found >= {"Carla Jones", "Silver Harbour", "Frida Kahn"}
    assert not found & {"Dora Miles", "Emma Ross"}

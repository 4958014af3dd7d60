"""Tests that blocks and their kinds are stored with the source, to be used for extraction (ADR 7)."""

from __future__ import annotations

from typing import Any, LiteralString

import neo4j
import pytest

from kg_api.extraction.keyphrases import KeyphraseExtractor
from kg_api.extraction.llm import ExtractionRequests, Extractors
from kg_api.graph import jobs
from kg_api.graph.client import Graph, Row, Transaction
from kg_api.graph.concept_writes import write_extractions
from kg_api.graph.document_writes import store_document
from kg_api.graph.jobs import EXTRACTION
from kg_api.graph.vectors import DocumentAbout, list_document_sources
from kg_api.ingest.records import Incoming, to_record
from kg_api.schemas.base import document_id
from kg_api.schemas.vocabulary import JobState
from kg_api.settings import load_settings
from tests.support.cypher import rows
from tests.support.extraction import configure_extraction, labels, run_extraction

FORGET = "MATCH (s:Source) REMOVE s.block_kinds, s.block_starts"
"""Change the sources to be as if they had been stored by an older version."""


def kinds(graph: Graph) -> dict[str, tuple[str, ...]]:
    found = list_document_sources(graph, document_id("notes", "a.md"))
    return {source.full_text.strip(): tuple(block.kind for block in source.blocks) for source in found}


def nodes(driver: neo4j.Driver) -> set[str]:
    """Return the ids that Neo4j uses for the sources that begin with "Two"."""
    found = rows(driver, "MATCH (s:Source) WHERE s.full_text STARTS WITH 'Two' RETURN elementId(s) AS id")
    return {row["id"] for row in found}


def ingest(graph: Graph, text: str) -> None:
    store_document(graph, to_record(Incoming("notes", "a.md", text))[0])


def test_block_kinds_follow_changed_text(graph: Graph, driver: neo4j.Driver) -> None:
    parts = paragraphs()
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


def paragraphs(words: str = "some words of a paragraph. ") -> list[str]:
    return [f"{number}: {words * 36}".strip() for number in ("One", "Two", "Six")]


def asked(graph: Graph) -> list[int]:
    """Return how many sources each queued extraction has to read."""
    found, _ = jobs.page_of_jobs(graph, state=None, kind=EXTRACTION, ontology=None, offset=0, limit=9)
    return [job.total for job in found if job.state is JobState.QUEUED]


def test_text_changed_to_prose_is_extracted_again(graph: Graph, driver: neo4j.Driver) -> None:
    configure_extraction(graph, extractor="keyphrase")
    ask = ExtractionRequests(graph, Extractors(graph, load_settings())).request
    body = "\n\n".join(paragraphs("they met Carla Jones there. "))
    ingest(graph, f"# Title\n\n~~~\nx = 1\n\n{body}\n")
    run_extraction(graph, load_settings())
    assert "Carla Jones" not in labels(driver)
    before = {**kinds(graph)}
    record = to_record(Incoming("notes", "a.md", f"# Title\n\n~~~\nx = 1\n~~~\n\n{body}\n"))[0]
    result = store_document(graph, record, ask)
    changed = [text for text, known in kinds(graph).items() if before.get(text, known) != known]
    assert len(changed) >= 2
    assert asked(graph) == [result.change.added + len(changed)]
    run_extraction(graph, load_settings(), wake=False)
    assert "Carla Jones" in labels(driver)


def test_extraction_from_outdated_block_kinds_is_discarded(graph: Graph, driver: neo4j.Driver) -> None:
    configure_extraction(graph, extractor="keyphrase")
    ingest(graph, "They came with Carla Jones to the Silver Harbour.\n")
    source = list_document_sources(graph, document_id("notes", "a.md"))
    found = KeyphraseExtractor(6).extract(source, source, DocumentAbout("", {}))
    rows(driver, "MATCH (s:Source) SET s.block_kinds = ['code']")
    assert graph.transaction(lambda tx: write_extractions(tx, "notes", found, "mark")) == 0
    rows(driver, FORGET)
    assert graph.transaction(lambda tx: write_extractions(tx, "notes", found, "mark")) == 1


def test_sources_without_block_kinds_receive_only_kinds(
    graph: Graph, driver: neo4j.Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "\n\n".join(paragraphs())
    ingest(graph, f"# Title\n\n{body}\n")
    rows(driver, FORGET)
    rows(driver, "MATCH (s:Source) SET s.extracted_with = 'mark'")
    ran: dict[str, list[str]] = {}
    run = Transaction.run

    def note(tx: Transaction, statement: LiteralString, *space: str, **parameters: Any) -> list[Row]:
        sources = [row["source_id"] for row in parameters.get("rows", ()) if "source_id" in row]
        ran[statement] = ran.get(statement, []) + sources
        return run(tx, statement, *space, **parameters)

    monkeypatch.setattr(Transaction, "run", note)
    result = store_document(graph, to_record(Incoming("notes", "a.md", f"# Title\n\n{body}\n\n- item\n"))[0])
    assert result.unread == result.change.added
    assert (len(ran["sources/set_blocks"]), ran.get("sources/move_many")) == (result.change.kept, None)
    found = rows(driver, "MATCH (s:Source) WHERE s.extracted_with = 'mark' RETURN s.block_kinds AS kinds")
    assert len(found) == result.change.kept
    assert all(row["kinds"] for row in found)


def test_a_code_block_has_no_concepts(graph: Graph, driver: neo4j.Driver) -> None:
    configure_extraction(graph, extractor="keyphrase")
    prose = "They came with Carla Jones to the Silver Harbour. "
    code = "\n\n".join("then with Dora Miles and Emma Ross. " * 30 for _ in range(4))
    ingest(graph, f"{prose * 9}\n\n```\n{code}\n```\n\nThey left with Frida Kahn.\n")
    run_extraction(graph, load_settings())
    found = set(labels(driver))
    assert found >= {"Carla Jones", "Silver Harbour", "Frida Kahn"}
    assert not found & {"Dora Miles", "Emma Ross"}

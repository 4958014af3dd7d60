"""Extraction by a language model that the service has no more: told, counted, refused."""

from __future__ import annotations

import pytest

from kg_api.errors import InvalidInput
from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.concepts import ExtractionConfig
from kg_api.sections import LlmSettings
from kg_api.settings import Settings
from tests.support.behaviours import Status
from tests.support.embedding_server import EmbeddingServer
from tests.support.extraction import PARAGRAPHS, configure_extraction, run_extraction, service_of, the_job
from tests.support.records import record


def test_what_was_read_stays_read_and_nothing_is_asked_for(graph: Graph, settings: Settings) -> None:
    store_document(graph, record("a.md", PARAGRAPHS[:4]))
    configure_extraction(graph, extractor="llm")
    run_extraction(graph, settings)
    before = service_of(graph, settings).show("notes")
    assert (before.extracted, before.due, before.problem, before.last_error) == (4, 0, None, None)
    bare = service_of(graph, settings.model_copy(update={"llm": LlmSettings()}))
    told = bare.show("notes")
    assert (told.extracted, told.due) == (4, 0)
    assert "KG_LLM__MODEL is not set" in (told.problem or "")
    with pytest.raises(InvalidInput, match="KG_LLM__MODEL is not set"):
        bare.extract("notes")
    store_document(graph, record("b.md", PARAGRAPHS[4:6]))
    assert bare.show("notes").due == 2


def test_what_was_set_aside_is_still_listed(
    graph: Graph, writer: EmbeddingServer, settings: Settings
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS[:2]))
    configure_extraction(graph, extractor="llm")
    writer.chat = lambda _: "no answer of use"
    run_extraction(graph, settings)
    bare = service_of(graph, settings.model_copy(update={"llm": LlmSettings()}))
    assert (bare.show("notes").refused, bare.refused("notes").total) == (2, 2)
    assert len(bare.refused("notes").sources) == 2


def test_why_the_last_job_died_is_told_until_another_has_worked(
    graph: Graph, writer: EmbeddingServer, settings: Settings
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS[:2]))
    writer.always = Status(401)
    run_extraction(graph, settings)
    service = service_of(graph, settings)
    told = service.show("notes").last_error or ""
    assert the_job(graph).job_id in told
    assert "OPENAI_API_KEY" in told
    writer.always = None
    service.extract("notes")
    assert service.show("notes").last_error is None
    assert service.set("notes", ExtractionConfig(extractor="none"), dry_run=False).problem is None

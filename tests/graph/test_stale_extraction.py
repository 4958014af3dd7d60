"""What another language model has read is left alone until somebody asks; and what asking costs is told."""

from __future__ import annotations

import pytest

from kg_api.graph.client import Graph
from kg_api.graph.document_writes import store_document
from kg_api.schemas.concepts import ExtractionConfig
from kg_api.schemas.vocabulary import JobState
from kg_api.settings import Settings
from tests.support.embedding_server import EmbeddingServer
from tests.support.extraction import PARAGRAPHS, run_extraction, service_of, settings_of, the_job
from tests.support.records import record


def test_what_another_model_has_read_is_stale_until_somebody_asks(
    graph: Graph, writer: EmbeddingServer, settings: Settings
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    run_extraction(graph, settings)
    asked, before = len(writer.requests), service_of(graph, settings).show("notes")
    assert (before.extracted, before.due, before.stale) == (20, 0, 0)
    other = settings_of(writer, model="another-model")
    store_document(graph, record("b.md", PARAGRAPHS[:1]))
    run_extraction(graph, other)
    assert len(writer.requests) == asked + 1, "new text is read, and nothing else"
    service = service_of(graph, other)
    status = service.show("notes", with_cost=True)
    assert (status.extracted, status.due, status.stale) == (1, 0, 20)
    assert status.fingerprint not in {None, before.fingerprint}
    assert (before.model, status.model) == (settings.llm.model, "another-model")
    assert status.cost is not None
    assert status.stale_cost is not None
    assert (status.cost.price, (status.stale_cost.price or 0) > 0) == (0, True)
    assert any("20 sources are stale" in note and "extract --stale" in note for note in status.notes)
    assert service.extract("notes").due == 0
    run_extraction(graph, other)
    assert len(writer.requests) == asked + 1
    assert service.extract("notes", stale=True).due == 20
    run_extraction(graph, other)
    assert service.show("notes").stale == 0
    assert len(writer.requests) > asked + 1


@pytest.mark.parametrize("nothing_is_stale", [True, False], ids=["nothing was stale", "all was read again"])
def test_a_wish_that_is_fulfilled_reads_nothing_later(
    graph: Graph, writer: EmbeddingServer, settings: Settings, nothing_is_stale: bool
) -> None:
    """The model is changed, and changed back: what the other one read meanwhile is left alone."""
    store_document(graph, record("a.md", PARAGRAPHS))
    run_extraction(graph, settings if nothing_is_stale else settings_of(writer, model="first-model"))
    service = service_of(graph, settings)
    assert service.extract("notes", stale=True).due == (0 if nothing_is_stale else 20)
    run_extraction(graph, settings)
    assert service.show("notes").stale == 0
    store_document(graph, record("b.md", ["Another engineer named Ada made kettles."]))
    run_extraction(graph, settings_of(writer, model="another-model"))
    asked, status = len(writer.requests), service.show("notes")
    assert (status.due, status.stale) == (0, 1)
    run_extraction(graph, settings)
    assert len(writer.requests) == asked


def test_more_money_alone_reads_nothing_again(
    graph: Graph, writer: EmbeddingServer, settings: Settings
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    run_extraction(graph, settings)
    service = service_of(graph, settings_of(writer, model="another-model"))
    richer = service.set("notes", ExtractionConfig(budget=9), dry_run=False)
    assert (richer.due, richer.stale) == (0, 20)
    fewer = service.set("notes", ExtractionConfig(per_source=1), dry_run=True)
    assert (fewer.due, fewer.stale) == (20, 0), "who changes what is read asks for all"
    assert service.set("notes", ExtractionConfig(per_source=1), dry_run=False).due == 20


def test_what_a_job_costs_is_compared_with_what_was_expected(
    graph: Graph, writer: EmbeddingServer, settings: Settings
) -> None:
    del writer
    store_document(graph, record("a.md", PARAGRAPHS))
    told = service_of(graph, settings).show("notes", with_cost=True).cost
    assert told is not None
    run_extraction(graph, settings)
    job, status = the_job(graph), service_of(graph, settings).show("notes")
    assert job.expected_cost == told.price == status.expected
    assert job.spent == pytest.approx(status.spent)
    assert (job.spent or 0) > 0


def test_what_jobs_that_died_left_is_expected_once(
    graph: Graph, writer: EmbeddingServer, settings: Settings
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    service = service_of(graph, settings)
    told = service.show("notes", with_cost=True).cost
    assert told is not None
    assert told.price is not None
    service.set("notes", ExtractionConfig(budget=told.price / 50), dry_run=False)
    for _ in range(3):
        run_extraction(graph, settings)
        assert (the_job(graph).state, writer.requests) == (JobState.DEAD, [])
        assert service.show("notes").expected == pytest.approx(told.price)
        service.extract("notes")
    service.set("notes", ExtractionConfig(budget=told.price * 9), dry_run=False)
    run_extraction(graph, settings)
    assert the_job(graph).state is JobState.COMPLETED
    assert service.show("notes").expected == pytest.approx(told.price)

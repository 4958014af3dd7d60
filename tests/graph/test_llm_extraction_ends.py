"""What ends the extraction of concepts by a language model, and what lets it go on: money, faults, people."""

from __future__ import annotations

import threading
from typing import Any

import neo4j
import pytest

from kg_api.errors import BudgetSpent, InvalidInput
from kg_api.extraction.llm import ExtractionRequests, Extractors
from kg_api.extraction.replies import LlmBudget
from kg_api.graph import jobs
from kg_api.graph.client import Graph
from kg_api.graph.concept_writes import add_spent, read_extraction
from kg_api.graph.document_writes import store_document
from kg_api.providers.chat import Prompt, Reply
from kg_api.schemas.concepts import ExtractionConfig
from kg_api.schemas.vocabulary import JobState
from kg_api.settings import Settings
from tests.support.behaviours import Status
from tests.support.cypher import rows
from tests.support.embedding import open_spaces
from tests.support.embedding_server import EmbeddingServer
from tests.support.extraction import (
    NAMES,
    PARAGRAPHS,
    configure_extraction,
    evidence,
    extract_concepts,
    labels,
    run_extraction,
    service_of,
    settings_of,
    spent,
    texts_asked,
    the_job,
)
from tests.support.llm import asked
from tests.support.records import record


def test_the_money_ends_the_job_and_more_of_it_lets_it_go_on(
    graph: Graph, driver: neo4j.Driver, writer: EmbeddingServer
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    service = service_of(graph, settings_of(writer))
    price = service.show("notes", with_cost=True).cost
    assert price is not None
    assert writer.requests == []
    assert price.price is not None
    poor = settings_of(writer, budget=price.price / 2)
    run_extraction(graph, poor)
    job = the_job(graph)
    assert job.state is JobState.DEAD
    assert "budget for extracting concepts from 'notes' is used up" in (job.error or "")
    assert "--budget" in (job.error or "")
    paid, requests = spent(driver), len(writer.requests)
    assert 0 < paid <= price.price / 2
    assert 0 < requests < 3
    run_extraction(graph, poor)
    assert len(writer.requests) == requests, "nothing is asked without money"
    told = service_of(graph, poor).set("notes", ExtractionConfig(budget=100), dry_run=False)
    assert told.spent == pytest.approx(paid, abs=1e-6)
    run_extraction(graph, poor)
    assert the_job(graph).state is JobState.COMPLETED
    assert set(labels(driver)) == {*NAMES, "Ada"}
    asked_for = [text for texts in texts_asked(writer) for text in texts]
    assert len(asked_for) == len(set(asked_for)) == 20
    assert spent(driver) > paid


def test_what_is_paid_is_what_the_server_counted(
    graph: Graph, driver: neo4j.Driver, writer: EmbeddingServer, settings: Settings
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    replies: list[str] = []
    writer.chat = lambda body: replies.append(extract_concepts(body)) or replies[-1]
    run_extraction(graph, settings)
    read = sum(len(m["content"].split()) for r in writer.requests for m in r.body["messages"])
    wrote = sum(len(reply.split()) for reply in replies)
    assert spent(driver) == pytest.approx((read * 2 + wrote * 8) / 1e6)


def test_without_the_model_the_job_waits(
    graph: Graph, driver: neo4j.Driver, writer: EmbeddingServer, settings: Settings
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    writer.always = Status(503, retry_after="100")
    run_extraction(graph, settings_of(writer, timeout_seconds=0.2))
    job = the_job(graph)
    assert job.state is JobState.QUEUED
    assert (job.error or "").startswith("waiting: the language model fails")
    assert (labels(driver), spent(driver)) == ([], 0)
    writer.always = None
    rows(driver, "MATCH (j:Job) SET j.run_after = datetime(), j.queued_at = datetime()")
    run_extraction(graph, settings)
    assert the_job(graph).state is JobState.COMPLETED
    assert len(labels(driver)) == 21


def test_a_model_that_is_of_no_use_ends_the_job_before_it_costs_more(
    graph: Graph, driver: neo4j.Driver, writer: EmbeddingServer, settings: Settings
) -> None:
    store_document(graph, record("a.md", [f"Passage {at} is about Ada." for at in range(80)]))
    writer.chat = lambda _: "As a language model I would rather talk about the weather."
    run_extraction(graph, settings)
    job = the_job(graph)
    assert job.state is JobState.DEAD
    assert "nothing could be extracted from any of 32 sources" in (job.error or "")
    requests = len(writer.requests)
    assert requests == 36, "four batches and each passage alone; the other 48 sources were not asked about"
    again = ExtractionRequests(graph, Extractors(graph, settings))
    rows(driver, "MATCH (j:Job) SET j.finished_at = datetime() - duration('PT9H')")
    again._begun -= 10 * 3600
    again.look(read_extraction(graph, "notes"))
    assert the_job(graph).state is JobState.DEAD, "a day later too: it would cost as much again"
    ExtractionRequests(graph, Extractors(graph, settings)).look(read_extraction(graph, "notes"))
    assert the_job(graph).state is JobState.DEAD, "a restart, of whatever reason, does not mend it"
    rows(driver, "MATCH (j:Job) SET j.finished_at = datetime() - duration('P90D')")
    jobs.prune(graph, days=7)
    ExtractionRequests(graph, Extractors(graph, settings)).look(read_extraction(graph, "notes"))
    assert the_job(graph).state is JobState.DEAD, "nor does time"
    assert rows(driver, "MATCH (s:Source) WHERE s.extracted_with IS NOT NULL RETURN s.paragraph") == []
    assert service_of(graph, settings).extract("notes").due == 80
    assert the_job(graph).state is JobState.QUEUED, "a person has asked for it"
    jobs.prune(graph, days=7)
    assert [
        each.state
        for each in jobs.page_of_jobs(
            graph, state=None, kind="concept_extraction", ontology=None, offset=0, limit=9
        )[0]
    ] == [JobState.QUEUED], "the death is of the past now"


def test_a_wrong_key_ends_the_job_and_names_its_variable(
    graph: Graph, writer: EmbeddingServer, settings: Settings
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    writer.always = Status(401)
    run_extraction(graph, settings)
    assert the_job(graph).state is JobState.DEAD
    assert "OPENAI_API_KEY" in (the_job(graph).error or "")


def test_the_cost_is_told_before_and_nothing_is_asked(
    graph: Graph, writer: EmbeddingServer, settings: Settings
) -> None:
    for name in ("a.md", "b.md"):
        store_document(graph, record(name, PARAGRAPHS))
    service = service_of(graph, settings)
    told = service.set("notes", ExtractionConfig(extractor="llm"), dry_run=True)
    assert writer.requests == []
    assert not told.applied
    assert told.cost is not None
    assert (told.cost.sources, told.cost.requests) == (40, 6)
    run_extraction(graph, settings)
    assert len(writer.requests) == 6
    read = sum(len(m["content"].encode()) for r in writer.requests for m in r.body["messages"]) / 4
    assert told.cost.tokens_read == pytest.approx(read, rel=0.01)
    again = service.show("notes", with_cost=True).cost
    assert again is not None
    assert (again.sources, again.price) == (0, 0)


def test_no_model_and_a_budget_without_prices_are_refused(graph: Graph, writer: EmbeddingServer) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    bare = service_of(graph, Settings(llm={"model": None}))  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match="KG_LLM__MODEL"):
        bare.set("notes", ExtractionConfig(extractor="llm"), dry_run=False)
    unpriced = service_of(graph, settings_of(writer, price_input=None, price_output=None))
    with pytest.raises(InvalidInput, match="KG_LLM__PRICE_INPUT"):
        unpriced.set("notes", ExtractionConfig(budget=1), dry_run=False)
    assert unpriced.show("notes").config == ExtractionConfig()


def test_another_configuration_reads_anew_and_none_reads_nothing(
    graph: Graph, driver: neo4j.Driver, writer: EmbeddingServer, settings: Settings
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    configure_extraction(graph, extractor="none")
    run_extraction(graph, settings)
    assert (writer.requests, labels(driver)) == ([], [])
    service = service_of(graph, settings)
    with pytest.raises(InvalidInput, match="--extractor keyphrase"):
        service.extract("notes")
    told = service.set("notes", ExtractionConfig(extractor="llm", per_source=1), dry_run=False)
    assert told.due == 20
    assert "a worker reads 20 sources" in told.notes[0]
    run_extraction(graph, settings)
    assert len(evidence(driver)) == 20, "one of each source"
    service.set("notes", ExtractionConfig(extractor="llm", per_source=None), dry_run=False)
    run_extraction(graph, settings)
    assert len(evidence(driver)) == 40


def test_a_cancelled_job_is_not_begun_again_until_somebody_asks(
    graph: Graph, driver: neo4j.Driver, settings: Settings
) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    service = service_of(graph, settings)
    job_id = service.extract("notes").job_id or ""
    jobs.cancel_job(graph, job_id)
    run_extraction(graph, settings)
    jobs.enqueue_slot(graph, "backfill", slot="now")
    run_extraction(graph, settings)
    assert labels(driver) == []
    assert "was cancelled" in " ".join(service.show("notes").notes)
    assert rows(driver, "MATCH (o:Ontology) RETURN o.paused AS paused") == [{"paused": None}]
    service.extract("notes")
    run_extraction(graph, settings)
    assert len(labels(driver)) == 21


def test_what_the_server_does_not_take_is_set_aside_alone(
    graph: Graph, driver: neo4j.Driver, writer: EmbeddingServer, settings: Settings
) -> None:
    def refuses(body: dict[str, Any]) -> Status | None:
        return Status(422) if any("Person3 " in each["text"] for each in asked(body)["passages"]) else None

    writer.next_behaviour = refuses  # pyright: ignore[reportAttributeAccessIssue] - a method for one test
    store_document(graph, record("a.md", PARAGRAPHS[:6]))
    run_extraction(graph, settings)
    assert set(labels(driver)) == {*NAMES[:6], "Ada"} - {"Person3"}
    (refused,) = service_of(graph, settings).refused("notes").sources
    assert refused.paragraph == 3
    assert "422" in refused.reason


def test_an_answer_is_booked_once_for_each_receipt(graph: Graph, driver: neo4j.Driver) -> None:
    configure_extraction(graph)
    for receipt in ("one", "one", "two", "one"):
        graph.transaction(lambda tx, receipt=receipt: add_spent(tx, "notes", 0.25, receipt))
    assert spent(driver) == 0.5
    for number in range(70):
        graph.transaction(lambda tx, number=number: add_spent(tx, "notes", 0.25, f"later {number}"))
    (kept,) = rows(driver, "MATCH (o:Ontology {name: 'notes'}) RETURN o.extraction_receipts AS all")
    assert kept["all"] == [f"later {number}" for number in reversed(range(6, 70))]


def test_a_question_waits_for_money_that_others_may_not_need(graph: Graph, writer: EmbeddingServer) -> None:
    configure_extraction(graph)
    asked_for = Prompt("read", "x" * 400, "concepts", {})
    budget = LlmBudget(graph, "notes", settings_of(writer).llm, budget=0.0003)
    first = budget.reserve(asked_for, 10)
    waiting = threading.Thread(target=lambda: budget.release(budget.reserve(asked_for, 10)))
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive(), "it may be enough when the first is settled"
    budget.keep({}, asked_for, Reply("", 1, 1))
    budget.release(first)
    waiting.join(10)
    assert not waiting.is_alive()
    budget.keep({}, asked_for, Reply("", 100, 10))
    with pytest.raises(BudgetSpent, match=r"of \$0.0003, \$0.00029 are spent"):
        budget.reserve(asked_for, 10)


def test_backfill_finds_what_is_due(graph: Graph, driver: neo4j.Driver, settings: Settings) -> None:
    store_document(graph, record("a.md", PARAGRAPHS))
    store_document(graph, record("b.md", PARAGRAPHS, "other"))
    open_spaces(graph)
    jobs.enqueue_slot(graph, "backfill", slot="now")
    run_extraction(graph, settings, wake=False)
    assert len(labels(driver)) == 42

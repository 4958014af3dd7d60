import json
from pathlib import Path
from typing import Any

import neo4j
from opentelemetry.trace import SpanKind

from kg_api.client import KgClient
from kg_api.graph.client import Graph
from kg_api.graph.statements import FIRST_CONCEPT_INDEX, FIRST_INDEX, FIRST_RELATION_INDEX
from kg_api.tracing import root_span, tracing
from tests.neo4j_server import Neo4jServer
from tests.support.collector import Collector
from tests.support.cypher import rows
from tests.support.embedding_server import EmbeddingServer
from tests.support.providers import CANARY
from tests.support.running import Service, environment, serve, started, wait_until

TRACE = "0af7651916cd43dd8448eb211c80319c"
GIVEN = f"00-{TRACE}-b7ad6b7169203331-01"
TEXT = "Puffins dig burrows."


def lines(output: str) -> list[dict[str, Any]]:
    every = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [line for line in every if line.get("trace_id") == TRACE]


def test_a_trace_from_client_to_provider(
    server: Neo4jServer, graph: Graph, driver: neo4j.Driver, tmp_path: Path
) -> None:
    del graph
    for index in (FIRST_INDEX, FIRST_CONCEPT_INDEX, FIRST_RELATION_INDEX):
        rows(driver, f"DROP INDEX {index} IF EXISTS")  # other tests leave them for another model
    with Collector() as collector, EmbeddingServer() as provider:
        traced = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "200"}
        openai = {"KG_EMBEDDING__PROVIDER": "openai", "OPENAI_BASE_URL": provider.openai_url}
        env = {**traced, **openai, "OPENAI_API_KEY": CANARY, "KG_CONCEPTS__EXTRACTOR": "none"}
        service = serve(server, tmp_path, **env)
        try:
            with started(["worker"], environment(server, **env), tmp_path / "worker.log") as worker:
                ingest_within_a_trace(service, collector)
                wait_until(lambda: "job succeeded" in worker.output() and TRACE in worker.output(), 60)
                job = collector.find(
                    lambda span: span.name == "job source_embedding" and span.trace_id == TRACE
                )
                embedded = collector.find(lambda span: span.parent_id == job.span_id)
                told = worker.output()
            search_within_a_trace(service)
            stage = collector.find(lambda span: span.name == "search: embed")
        finally:
            service.stop()
    request = next(span for span in collector.spans if span.name == "POST /documents")
    client = next(span for span in collector.spans if span.service == "kg-test")
    assert (client.trace_id, request.parent_id, job.parent_id) == (TRACE, client.span_id, request.span_id)
    assert (request.service, job.service, embedded.service) == ("kg-api", "kg-worker", "kg-worker")
    assert (embedded.name, embedded.trace_id) == ("embed 127.0.0.1", TRACE)
    assert (job.attributes["kg.job_outcome"], request.attributes["http.response.status_code"]) == (
        "succeeded",
        "202",
    )
    assert f"00-{TRACE}-{embedded.span_id}-01" in {
        each.headers.get("traceparent") for each in provider.requests
    }
    assert {"job taken", "embedded", "job succeeded"} <= {line["event"] for line in lines(told)}
    assert all(line["job_id"] and line["request_id"] for line in lines(told))
    assert "request" in {line["event"] for line in lines(service.output())}
    assert stage.trace_id == TRACE
    sent = b"".join(collector.bodies)
    assert not [each for each in (TEXT, CANARY, "burrows") if each.encode() in sent]


def ingest_within_a_trace(service: Service, collector: Collector) -> None:
    """Use the client to store a document within a span of this process."""
    with (
        tracing(collector.url, "kg-test"),
        root_span("the test", SpanKind.CLIENT, GIVEN),
        KgClient(service.url) as kg,
    ):
        kg.ingest_text(TEXT, ontology="notes", document="puffins")


def search_within_a_trace(service: Service) -> None:
    with root_span("the test", SpanKind.CLIENT, GIVEN), KgClient(service.url) as kg:
        kg.search_sources("burrows of puffins")

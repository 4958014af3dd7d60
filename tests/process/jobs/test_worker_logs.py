from __future__ import annotations

import json
import socket
from pathlib import Path

import httpx

from kg_api.graph.client import Graph
from tests.neo4j_server import Neo4jServer
from tests.support.running import environment, serve, started, wait_until

REQUEST = "the-request-of-the-test"


def test_job_log_lines_name_job_and_request(server: Neo4jServer, graph: Graph, tmp_path: Path) -> None:
    del graph
    service = serve(server, tmp_path)
    try:
        body = {"ontology": "notes", "document": "a", "text": "Green apples."}
        headers = {"X-Request-ID": REQUEST}
        httpx.post(f"{service.url}/documents", json=body, headers=headers, timeout=60).raise_for_status()
        with started(["worker"], environment(server), tmp_path / "worker.log") as worker:
            wait_until(lambda: "job succeeded" in worker.output() and REQUEST in worker.output(), 60)
            lines = [json.loads(line) for line in worker.output().splitlines() if line.startswith("{")]
    finally:
        service.stop()
    caused = [line for line in lines if line.get("request_id") == REQUEST]
    assert {"job taken", "job succeeded"} <= {line["event"] for line in caused}
    assert all(line["job_id"] and line["kind"] for line in caused)


def test_a_taken_port_of_the_metrics_is_named(server: Neo4jServer, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        env = environment(server, KG_WORKER__METRICS_PORT=port)
        with started(["worker"], env, tmp_path / "worker.log") as worker:
            assert worker.process.wait(60) == 78
    assert "KG_WORKER__METRICS_PORT" in worker.output()
    assert "bug in kg" not in worker.output()

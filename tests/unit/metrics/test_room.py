"""The room that is reserved for the metrics that processes share is enough for all that there can be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kg_api.metrics import RESERVED_BYTES, exposition, forget_dead

EVERYTHING = """
from kg_api.metrics import meters, spend_tokens
from kg_api.providers.embedding import metrics_of_process
from kg_api.settings import load_settings
from kg_api.web.app import create_app
from kg_api.jobs.runner import Handler
from tests.support.meters import stages
of, embedding = meters(), metrics_of_process()
paths = create_app(load_settings(), lambda _: None).openapi()["paths"]
operations = [(method.upper(), path) for path, methods in paths.items() for method in methods]
operations += [("POST", "/mcp"), *((method, "none") for method in ("GET", "POST", "PUT", "DELETE", "other"))]
assert len(operations) > 100
for method, path in operations:
    for status in (200, 400, 500, 0):
        of.count("http_requests_open")
        of.count("http_requests", method, path, f"{status // 100}xx" if status else "none")
        of.observe("http_request_seconds", method, path, seconds=0.001)
assert len(stages()) > 40
for each, stage in stages():
    of.observe("search_stage_seconds", each, stage, seconds=0.001)
for kind in range(12):
    of.count("job_runs_begun", f"concept_extraction_{kind}")
    of.observe("job_run_seconds", f"concept_extraction_{kind}", seconds=0.001)
    for outcome in range(12):
        of.count("job_runs", f"concept_extraction_{kind}", f"interrupted {outcome}")
for access in ("read", "write"):
    with of.under_way("neo4j_sessions_open"), of.timing("neo4j_seconds", access):
        of.count("neo4j_retries", access)
    for error in range(20):
        of.count("neo4j_failures", access, f"TransientErrorOfNeo4j {error}")
for kind in ("embed", "image", "llm", "rerank"):
    for host in range(3):
        name = f"a-long-name-of-a-host-{host}.example.com"
        with of.timing("provider_request_seconds", kind, name):
            of.count("provider_retries", kind)
        for reason in range(12):
            of.count("provider_failures", kind, name, f"not_found {reason}")
        spend_tokens(kind, name, read=1, written=1, dollars=1.0)
for model in range(30):
    embedding.embeddings.labels(f"sentence-transformers/a-long-name-{model}", "1536").inc()
    embedding.latency.labels(f"sentence-transformers/a-long-name-{model}").observe(0.001)
    embedding.tokens.labels(f"sentence-transformers/a-long-name-{model}").inc()
    embedding.probes.labels(f"sentence-transformers/a-long-name-{model}").inc()
"""
OPEN = """
from kg_api.metrics import meters
meters().count("http_requests_open")
print("open", flush=True)
input()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    return tmp_path


def test_every_value_of_every_metric_has_room(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", EVERYTHING], check=True, cwd=Path(__file__).parents[3])
    used = {path.name.rpartition("_")[0]: _used(path) for path in folder.iterdir()}
    assert used.keys() == RESERVED_BYTES.keys()
    assert {kind: size for kind, size in used.items() if size > RESERVED_BYTES[kind]} == {}
    assert used["histogram"] > 100_000


def _used(path: Path) -> int:
    """The first number of such a file: how many of its bytes are in use."""
    return int.from_bytes(path.read_bytes()[:4], sys.byteorder)


def test_what_a_process_had_under_way_goes_with_it(folder: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OPEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert b"kg_http_requests_open 1.0" in exposition()
        process.kill()
    assert b"kg_http_requests_open 1.0" not in exposition()
    assert list(folder.glob("counter_*.db")), "what it counted stays"


def test_without_shared_files_nothing_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    other = tmp_path / f"gauge_livesum_{2**22 + os.getpid()}.db"
    other.touch()
    forget_dead()
    assert other.exists()

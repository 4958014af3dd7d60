import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import neo4j
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kg_api.graph.client import Graph
from kg_api.graph.jobs import request_job, sign_of_life
from kg_api.graph.spaces import ensure_space
from tests.neo4j_server import Neo4jServer
from tests.service.asking import embedded, ingest, search
from tests.support.embedders import small_embedder
from tests.support.embedding import run_jobs
from tests.support.meters import metrics
from tests.support.running import Service, serve, wait_until

SECRET = "xylophone"


def samples(http: httpx.Client) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = http.get("/metrics").raise_for_status().text
    families = text_string_to_metric_families(text)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def counted(http: httpx.Client, name: str, **labels: str) -> float:
    return samples(http).get((name, frozenset(labels.items())), 0.0)


def test_requests_are_counted_by_route_template(http: httpx.Client, graph: Graph) -> None:
    stored = embedded(graph, http, f"A {SECRET} has bars of wood.", ontology=SECRET)
    of = {"method": "GET", "route": "/documents/{document_id}"}
    before = {
        status: counted(http, "kg_http_requests_total", **of, status=status) for status in ("2xx", "4xx")
    }
    http.get(f"/documents/{stored['document_id']}").raise_for_status()
    assert http.get(f"/documents/{SECRET}").status_code == 404
    assert counted(http, "kg_http_requests_total", **of, status="2xx") == before["2xx"] + 1
    assert counted(http, "kg_http_requests_total", **of, status="4xx") == before["4xx"] + 1
    assert counted(http, "kg_http_request_seconds_count", **of) >= 2
    assert counted(http, "kg_http_requests_open") == 1  # the one that asks


def test_unknown_routes_share_one_label(http: httpx.Client) -> None:
    of = {"method": "other", "route": "none", "status": "4xx"}
    before = counted(http, "kg_http_requests_total", **of)
    assert http.request("PROPFIND", f"/{SECRET}").status_code in {404, 405}
    assert counted(http, "kg_http_requests_total", **of) == before + 1


def test_a_search_leaves_its_stages_and_statements(http: httpx.Client, graph: Graph) -> None:
    embedded(graph, http, f"A {SECRET} has bars of wood.", ontology=SECRET)
    stages = ("embed", "retrieve", "fuse", "tell")
    before = [counted(http, "kg_search_stage_seconds_count", of="search", stage=each) for each in stages]
    reads = counted(http, "kg_neo4j_seconds_count", access="read")
    assert search(http, SECRET, ontology=SECRET)["sources"]
    after = [counted(http, "kg_search_stage_seconds_count", of="search", stage=each) for each in stages]
    assert all(now > then for now, then in zip(after, before, strict=True))
    assert counted(http, "kg_neo4j_seconds_count", access="read") > reads
    assert SECRET not in http.get("/metrics").text.casefold()


def test_every_metric_is_documented_with_its_labels(http: httpx.Client) -> None:
    known = metrics()
    there = {name: set(dict(labels)) for name, labels in samples(http) if not name.endswith("_created")}
    ours = {name: labels for name, labels in there.items() if not name.startswith(("python_", "process_"))}
    assert ours.keys() <= known.keys()
    assert {name: labels for name, labels in ours.items() if labels != known[name]} == {}


def queue(http: httpx.Client) -> dict[str, Any]:
    return http.get("/queue").raise_for_status().json()


def gauges(http: httpx.Client) -> dict[str, float]:
    """Return the kg_* gauges with the values of their labels."""
    families = text_string_to_metric_families(http.get("/metrics").raise_for_status().text)
    samples = [sample for family in families for sample in family.samples]
    found = {" ".join([sample.name, *sample.labels.values()]): sample.value for sample in samples}
    return {name: value for name, value in found.items() if name.startswith("kg_")}


def change(driver: neo4j.Driver, job_id: str, **properties: Any) -> None:
    """Change a job in the database. If a field ends with `_seconds`, it is a time relative to now."""
    times = {name.removesuffix("_seconds"): n for name, n in properties.items() if name.endswith("_seconds")}
    plain = {name: value for name, value in properties.items() if not name.endswith("_seconds")}
    with driver.session() as session:
        session.run(
            "MATCH (j:Job {job_id: $id}) SET j += $plain FOREACH (name IN keys($times) | "
            "SET j[name] = datetime.realtime() + duration({seconds: $times[name]}))",
            id=job_id,
            plain=plain,
            times=times,
        ).consume()


def a_job(graph: Graph, ontology: str) -> str:
    return graph.transaction(lambda tx: request_job(tx, "test", ontology, added=2))


@pytest.fixture
def busy(graph: Graph, driver: neo4j.Driver, http: httpx.Client) -> dict[str, str]:
    del http
    names = ("ready", "later", "running", "stalled", "failed", "old_dead", "mended", "done", "cancelled")
    change(driver, a_job(graph, "failed"), state="succeeded", finished_at_seconds=-1, unique_key=None)
    ids = {name: a_job(graph, name) for name in names}
    change(driver, ids["ready"], queued_at_seconds=-100, created_at_seconds=-5000)
    change(driver, ids["later"], queued_at_seconds=300, run_after_seconds=300)
    change(driver, ids["running"], state="running", worker="w1", lease_until_seconds=30)
    change(driver, ids["stalled"], state="running", worker="w2", lease_until_seconds=-70)
    for name in ("failed", "old_dead", "mended"):
        change(driver, ids[name], state="failed", finished_at_seconds=-60, unique_key=None)
    change(driver, ids["old_dead"], finished_at_seconds=-90_000)
    later = a_job(graph, "mended")
    for job_id, state in ((ids["done"], "succeeded"), (ids["cancelled"], "cancelled"), (later, "succeeded")):
        change(driver, job_id, state=state, finished_at_seconds=-1, unique_key=None)
    sign_of_life(graph, "w1", host="here", pid=7, notes=["a limit"])
    sign_of_life(graph, "w2", host="there", pid=8)
    with driver.session() as session:
        session.run(
            "MATCH (w:Worker {name: 'w2'}) SET w.seen_at = datetime.realtime() - duration({seconds: 70})"
        ).consume()
    return ids


def test_every_job_is_counted_once(http: httpx.Client, busy: dict[str, str]) -> None:
    found = queue(http)
    counted = {name: found[name] for name in ("queued", "waiting", "running", "stalled", "failed")}
    assert counted == {"queued": 2, "waiting": 1, "running": 2, "stalled": 1, "failed": 1}
    assert 100 <= found["oldest_waiting_seconds"] < 160
    assert 5000 <= found["backlog_age_seconds"] < 5060
    workers = [(each["name"], each["alive"], each["job"]) for each in found["workers"]]
    assert workers == [("w1", True, busy["running"]), ("w2", False, busy["stalled"])]
    assert [each["seen_seconds_ago"] >= 70 for each in found["workers"]] == [False, True]
    assert [each["notes"] for each in found["workers"]] == [["a limit"], []]


def test_the_queue_the_lists_and_the_gauges_agree(http: httpx.Client, busy: dict[str, str]) -> None:
    time.sleep(1.1)  # what probes and metrics see may be a second old
    found, seen = queue(http), gauges(http)
    listed = {state: http.get("/jobs", params={"state": state}).json() for state in ("queued", "running")}
    for state in ("queued", "running"):
        assert found[state] == listed[state]["total"] == seen[f"kg_jobs {state}"]
    assert [job["job_id"] for job in listed["running"]["jobs"] if job["stalled"]] == [busy["stalled"]]
    assert seen["kg_jobs failed"] == found["failed"]
    assert (seen["kg_jobs_waiting"], seen["kg_jobs_stalled"], seen["kg_workers"]) == (1, 1, 1)
    for name in ("oldest_waiting_seconds", "backlog_age_seconds"):
        gauge = seen[f"kg_{'jobs_' if name.startswith('oldest') else ''}{name}"]
        assert found[name] == pytest.approx(gauge, abs=5)


@pytest.fixture
def impatient(server: Neo4jServer, graph: Graph, driver: neo4j.Driver, tmp_path: Path) -> Iterator[Service]:
    """Start a service that has an old backlog. It considers two seconds to be a long time."""
    ensure_space(graph, small_embedder().identity)
    change(driver, a_job(graph, "old"), queued_at_seconds=-80_000)
    running = serve(server, tmp_path, KG_API__BACKLOG_SECONDS="2")
    yield running
    assert running.stop() == 0, running.output()


def test_readiness_follows_the_backlog(impatient: Service, graph: Graph, driver: neo4j.Driver) -> None:
    """The service is ready, so you can start it even if there is an old backlog."""
    with httpx.Client(base_url=impatient.url, timeout=60) as http:
        wait_until(lambda: http.get("/ready").status_code == 503, 20)
        red = http.get("/ready").json()
        assert "without a free worker" in red["waiting_for"]
        assert "kg up" in red["waiting_for"]
        assert [check["name"] for check in red["checks"] if not check["ok"]] == ["worker"]
        sign_of_life(graph, "w1", host="here", pid=7)
        wait_until(lambda: "although 1 are running" in http.get("/ready").json()["waiting_for"], 20)
        ingest(http, "what a worker of this version takes", ontology="new")
        run_jobs(graph)
        wait_until(lambda: http.get("/ready").status_code == 200, 20)
        with driver.session() as session:
            session.run("MATCH (j:Job) DETACH DELETE j").consume()

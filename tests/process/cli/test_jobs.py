import json
from pathlib import Path

import httpx
import neo4j
import pytest

from kg_api.graph import jobs
from kg_api.graph.client import Graph
from kg_api.graph.jobs import sign_of_life
from kg_api.settings import load_settings
from kg_api.spaces.plans import read_embedding_state
from kg_cli.stack.doctor import DoctorFinding, examine_jobs
from tests.neo4j_server import Neo4jServer
from tests.process.cli.conftest import Kg
from tests.support.running import Service, environment, started, wait_until

REASON = "waiting: openai does not answer (ConnectError): is OPENAI_BASE_URL right? " + "words " * 40


@pytest.fixture
def job(graph: Graph, driver: neo4j.Driver) -> str:
    with driver.session() as session:
        session.run("CREATE (:Ontology {name: 'notes'})").consume()
    return graph.transaction(lambda tx: jobs.request_job(tx, "source_embedding", "notes", added=5))


def change(driver: neo4j.Driver, job_id: str, cypher_map: dict[str, object], *, ended: bool = False) -> None:
    with driver.session() as session:
        session.run(
            "MATCH (j:Job {job_id: $id}) SET j += $changes, "
            "j.finished_at = CASE WHEN $ended THEN datetime.realtime() ELSE j.finished_at END, "
            "j.unique_key = CASE WHEN $ended THEN null ELSE j.unique_key END",
            id=job_id,
            changes=cypher_map,
            ended=ended,
        ).consume()


def later(driver: neo4j.Driver, job_id: str, seconds: int) -> None:
    with driver.session() as session:
        session.run(
            "MATCH (j:Job {job_id: $id}) WITH j, datetime.realtime() + duration({seconds: $s}) AS at "
            "SET j.run_after = at, j.queued_at = at",
            id=job_id,
            s=seconds,
        ).consume()


def test_rejected_texts_are_shown_with_reasons(
    kg: Kg, service: Service, driver: neo4j.Driver, graph: Graph
) -> None:
    with httpx.Client(base_url=service.url) as http:
        body = {"ontology": "notes", "document": "odd.txt", "text": "an odd text"}
        job_id = http.post("/documents", json=body).json()["job_id"]
    with driver.session() as session:
        mark = read_embedding_state(graph, "notes").target.mark
        session.run(
            "MATCH (s:Source) SET s[$mark] = $refused, s[$reason] = 'too long for the model', "
            "s[$time] = datetime.realtime()",
            mark=mark.key,
            refused=mark.refused,
            reason=mark.refusal_property,
            time=mark.time_property,
        ).consume()
    change(driver, job_id, {"state": "succeeded_with_errors", "set_aside": 1, "done": 1}, ended=True)
    ran = kg("jobs", "show", job_id)
    assert ran.returncode == 0, ran.stderr
    assert "succeeded with errors" in ran.stdout
    assert "1 failed" in ran.stdout
    assert "odd.txt ¶0 too long for the model" in " ".join(ran.stdout.split())
    assert "kg jobs retry" in ran.stderr


def test_cancel_and_retry(kg: Kg, job: str) -> None:
    cancelled = kg("jobs", "cancel", job)
    assert (cancelled.returncode, f"kg jobs retry {job}" in cancelled.stderr) == (0, True)
    assert json.loads(kg("jobs", "cancel", job, "--json").stdout)["state"] == "cancelled"
    again = kg("jobs", "retry", job)
    assert (again.returncode, f"kg jobs watch {job}" in again.stderr) == (0, True), again.stderr
    assert json.loads(kg("jobs", "show", job, "--json").stdout)["state"] == "queued"


def findings(service: Service) -> list[DoctorFinding]:
    settings = load_settings().model_copy(
        update={"api_url": service.url}
    )  # an address of this home's is compared
    return list(examine_jobs(service.url, settings, start="kg up"))


def test_doctor_accepts_running_workers(service: Service, graph: Graph) -> None:
    sign_of_life(graph, "w1", host="here", pid=1)
    assert [(each.name, each.state) for each in findings(service)] == [("workers", "ok"), ("jobs", "ok")]


def test_doctor_explains_stuck_work(service: Service, graph: Graph, driver: neo4j.Driver, job: str) -> None:
    dead = graph.transaction(lambda tx: jobs.request_job(tx, "test", "odd", added=1))
    change(driver, dead, {"state": "failed", "error": "InvalidInput: no such model"}, ended=True)
    lost = graph.transaction(lambda tx: jobs.request_job(tx, "test", "lost", added=1))
    change(driver, lost, {"state": "running", "worker": "w9"})
    with driver.session() as session:
        session.run(
            "MATCH (j:Job {job_id: $id}) SET j.lease_until = datetime.realtime() - duration({minutes: 9})",
            id=lost,
        ).consume()
        session.run("CREATE (:Ontology {name: 'resting', paused: true})").consume()
    change(driver, job, {"error": REASON})
    later(driver, job, 100)
    found = findings(service)
    told = {(each.name, each.state): f"{each.detail} -> {each.fix}" for each in found}
    assert "no heartbeat from any worker, and jobs have been waiting for 9 min" in told["workers", "fail"]
    assert "kg up" in told["workers", "fail"]
    assert (
        f"test odd failed: InvalidInput: no such model -> fix the cause, then: kg jobs retry {dead}"
        in (told["job", "fail"])
    )
    warned = " ".join(f"{each.detail} -> {each.fix}" for each in found if each.state == "warn")
    assert "source embedding notes waits: openai does not answer" in warned
    assert "kg admin spaces health" in warned
    assert "test lost is stalled: its worker w9" in warned
    assert "kg admin source-embeddings generate --ontology 'resting'" in warned


def test_failed_job_is_an_error_with_reason(kg: Kg, driver: neo4j.Driver, job: str) -> None:
    change(driver, job, {"state": "failed", "error": "EmbeddingFailed: the model gave NaN"}, ended=True)
    ran = kg("jobs", "watch", job)
    assert ran.returncode == 1
    assert f"job {job} failed: EmbeddingFailed: the model gave NaN" in ran.stderr
    assert "Traceback" not in ran.stderr


def until_watched(service: Service, job_id: str) -> None:
    wait_until(lambda: f"/jobs/{job_id}" in service.output(), 60, service.output)


def test_a_watch_ends_with_its_jobs_by_events(
    server: Neo4jServer, service: Service, graph: Graph, job: str, tmp_path: Path
) -> None:
    other = graph.transaction(lambda tx: jobs.request_job(tx, "test", "other", added=1))
    env = environment(server, KG_API_URL=service.url)
    with started(["jobs", "watch"], env, tmp_path / "watch.log") as watching:
        for job_id in (job, other):
            until_watched(service, job_id)
        for job_id in (job, other):
            jobs.cancel_job(graph, job_id)
        assert watching.process.wait(30) == 1
    said = watching.output()
    assert [f"job {job_id} is cancelled" in said for job_id in (job, other)] == [True, True]

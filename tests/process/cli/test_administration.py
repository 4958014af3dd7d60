import json
from pathlib import Path

import pytest

from kg_api.client import KgClient
from kg_api.errors import Conflict
from kg_api.graph.client import Graph
from tests.process.cli.conftest import Kg
from tests.support.embedding import run_jobs
from tests.support.running import Service


@pytest.mark.usefixtures("graph")
def test_a_space_is_created_built_activated_and_dropped(kg: Kg, service: Service) -> None:
    with KgClient(service.url) as client:
        client.ingest_text("Ada met Bob.", ontology="notes", document="a")
    spaces = ("admin", "spaces")
    made = kg(*spaces, "create", "other", "--provider", "deterministic", "--dimensions", "64")
    assert (made.returncode, "kg admin spaces build other" in made.stderr) == (0, True), made.stderr
    assert "other" in kg(*spaces, "list").stdout
    planned = kg(*spaces, "build", "other", "--dry-run")
    assert (planned.returncode, "to embed" in planned.stdout) == (0, True), planned.stderr
    built = kg(*spaces, "build", "other", "--ontology", "notes")
    assert "is active now, without a build" in built.stderr
    assert "kg admin spaces check other && kg admin spaces activate other --ontology notes" in built.stderr
    checked = kg(*spaces, "check", "other")
    assert (checked.returncode, "returns the stored vector of its probe text" in checked.stdout) == (
        0,
        True,
    ), checked.stderr
    assert json.loads(kg(*spaces, "check", "other", "--json").stdout)["ok"]
    assert "New ontologies use other" in kg(*spaces, "activate", "other").stderr
    for early in (("rollback", "other"), ("drop", "other", "--yes")):
        assert kg(*spaces, *early).returncode == Conflict.exit_code
    assert kg(*spaces, "build", "default", "--activate", "--json").returncode == 0
    assert "New ontologies use default" in kg(*spaces, "activate", "default").stderr
    gone = kg(*spaces, "drop", "other", "--yes")
    assert (gone.returncode, "the space other is being removed" in gone.stderr) == (0, True), gone.stderr


@pytest.mark.usefixtures("graph")
def test_one_command_switches_the_model_of_new_ontologies(kg: Kg) -> None:
    create = ("admin", "spaces", "create", "other", "--provider", "deterministic", "--dimensions", "64")
    made = kg(*create, "--switch")
    assert (made.returncode, "New ontologies use other" in made.stderr) == (0, True), made.stderr


TEXT = "Marie Curie discovered polonium. Marie Curie received the Nobel Prize in Physics."


@pytest.mark.usefixtures("graph")
def test_extraction_is_configured_previewed_and_started(kg: Kg, service: Service) -> None:
    with KgClient(service.url) as client:
        client.ingest_text(TEXT, ontology="notes", document="a")
    admin = ("admin", "concepts")
    shown = kg(*admin, "config", "--ontology", "notes")
    assert (shown.returncode, "none (the service's setting)" in shown.stdout) == (0, True), shown.stderr
    refused = kg(*admin, "extract", "--ontology", "notes")
    assert refused.returncode == 2
    assert "--extractor keyphrase" in refused.stderr.replace("\n", " ")
    done = kg(*admin, "config", "--ontology", "notes", "--extractor", "keyphrase", "--per-source", "4")
    assert "a worker reads 1 source now" in done.stdout + done.stderr
    started = kg(*admin, "extract", "--ontology", "notes", "--json")
    assert json.loads(started.stdout)["due"] == 1
    status = kg(*admin, "status", "--ontology", "notes")
    assert "1: 0 read, 1 pending" in status.stdout
    assert "Concepts of 1 passage are still being extracted. Search works now." in status.stderr
    model = kg(*admin, "config", "--ontology", "notes", "--extractor", "llm")
    assert model.returncode == 2
    assert "KG_LLM__MODEL" in model.stderr


def test_ingest_wait_reports_pending_concepts(kg: Kg, service: Service, graph: Graph, tmp_path: Path) -> None:
    with KgClient(service.url) as client:
        client.set_extraction_config("notes", extractor="keyphrase")
    (tmp_path / "a.md").write_text(TEXT)
    ingest = ("ingest", str(tmp_path), "--ontology", "notes")
    assert "still being extracted" not in kg(*ingest).stderr
    run_jobs(graph)
    waited = kg(*ingest, "--wait")
    assert waited.returncode == 0, waited.stderr
    assert "Concepts of 1 passage are still being extracted. Search works now." in waited.stderr


def test_synonyms_are_set_listed_and_taken_away(kg: Kg, folder: Path) -> None:
    (folder / "a.txt").write_text("the cluster")
    assert kg("ingest", str(folder), "--ontology", "ops").returncode == 0
    told = kg("admin", "synonyms", "set", "k8s = kubernetes", "ML = machine learning", "-o", "ops").stdout
    assert told.splitlines() == ["k8s = kubernetes", "ML = machine learning"]
    for wrong in ("alone", "a = b = "):
        refused = kg("admin", "synonyms", "set", "A = B", wrong, "-o", "ops")
        assert (refused.returncode, f"{wrong!r} is not a group of synonyms" in refused.stderr) == (2, True)
    added = kg("admin", "synonyms", "add", "db = database", "k8s = kubernetes", "-o", "ops")
    assert added.stdout.splitlines() == [*told.splitlines(), "db = database"]
    removed = kg("admin", "synonyms", "remove", "ml", "-o", "ops")
    assert removed.stdout.splitlines() == ["k8s = kubernetes", "db = database"]
    replaced = kg("admin", "synonyms", "set", "k8s = kubernetes", "-o", "ops")
    assert "1 group removed" in replaced.stderr

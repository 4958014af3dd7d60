from __future__ import annotations

import json

import pytest

from kg_api.client import KgClient
from kg_api.errors import Conflict
from tests.process.cli.conftest import Kg
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

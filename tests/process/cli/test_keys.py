import json
import re
from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest

from kg_api.errors import Conflict, Forbidden, NotFound, Unauthorized
from tests.conftest import wipe
from tests.neo4j_server import Neo4jServer
from tests.process.cli.conftest import Kg
from tests.support.running import Service, serve


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("guarded")


@pytest.fixture(scope="module")
def guarded(server: Neo4jServer, driver: neo4j.Driver, folder: Path) -> Iterator[Service]:
    wipe(driver)
    running = serve(server, folder, KG_API__REQUIRE_KEYS="true")
    yield running
    assert running.stop() == 0, running.output()
    wipe(driver)


def test_machine_administrator_creates_keys_for_others(kg: Kg, guarded: Service, folder: Path) -> None:
    at_home = {"KG_API_URL": "", "KG_HOME": str(folder / "home")}
    elsewhere = {"KG_API_URL": guarded.url}
    assert "No API keys exist" in kg("admin", "keys", "list", env=at_home).stderr
    made = kg("admin", "keys", "create", "ada", "--days", "30", env=at_home)
    assert (made.returncode, "save this key now" in made.stderr) == (0, True), made.stderr
    key = made.stdout.strip()
    assert re.fullmatch(r"kg_[0-9a-f]{8}_[\w-]{43}", key)
    assert key not in kg("admin", "keys", "list", env=at_home).stdout

    stranger = kg("ontologies", env=elsewhere)
    assert (stranger.returncode, "KG_API_KEY" in stranger.stderr) == (Unauthorized.exit_code, True)
    reader = elsewhere | {"KG_API_KEY": key}
    assert kg("ontologies", env=reader).returncode == 0
    notes = folder / "notes"
    notes.mkdir()
    for name in ("a.txt", "b.txt"):
        (notes / name).write_text("A note.")
    sent = kg("ingest", str(notes), "--ontology", "notes", env=reader)
    assert (sent.returncode, sent.stderr.count("'write'")) == (Forbidden.exit_code, 1), "it is told once"
    assert ("no files" in sent.stderr, sent.stdout) == (False, ""), "nothing else is told"
    asked = kg("delete", "ontology", "notes", env=reader, stdin="y\n")
    assert "nothing was deleted" in asked.stderr, "there is none"
    cut = kg("ontologies", env=elsewhere | {"KG_API_KEY": key[3:]})
    assert (cut.returncode, "check KG_API_KEY" in cut.stderr) == (Unauthorized.exit_code, True)
    refused = kg("admin", "keys", "create", "eve", env=reader)
    assert (refused.returncode, "'admin'" in refused.stderr) == (Forbidden.exit_code, True)
    assert key not in refused.stderr

    again = kg("admin", "keys", "create", "ada", env=at_home)
    assert (again.returncode, "rotate" in again.stderr) == (Conflict.exit_code, True)
    said = kg("admin", "keys", "rotate", "ada", "--overlap", "2", env=at_home)
    assert f"the replaced key {key.split('_')[1]} is valid for at most 2 more hours" in said.stderr
    heir = json.loads(kg("admin", "keys", "list", "--json", env=at_home).stdout)["keys"][0]["key_id"]
    turned = kg("admin", "keys", "rotate", heir, "--overlap", "0", "--json", env=at_home)
    assert json.loads(turned.stdout)["replaces"] == heir
    gone = kg("admin", "keys", "revoke", key.split("_")[1], env=at_home)
    assert (gone.returncode, "revoked" in gone.stderr) == (0, True), gone.stderr
    listed = json.loads(kg("admin", "keys", "list", "--json", env=at_home).stdout)
    assert [each["state"] for each in listed["keys"]] == ["active", "expired", "revoked"]
    assert kg("admin", "keys", "revoke", "nobody", env=at_home).returncode == NotFound.exit_code


def test_service_without_authentication_warns_about_keys(kg: Kg, service: Service) -> None:
    del service
    made = kg("admin", "keys", "create", "idle", "--json")
    assert made.returncode == 0, made.stderr
    assert "KG_API__REQUIRE_KEYS=true" in kg("admin", "keys", "list").stderr
    wrong = kg("ontologies", env={"KG_API_KEY": "kg_wrong"})
    assert wrong.returncode == Unauthorized.exit_code, "a key that is sent is checked all the same"


def test_key_of_one_ontology_works_only_there(kg: Kg, guarded: Service, folder: Path) -> None:
    at_home = {"KG_API_URL": "", "KG_HOME": str(folder / "home")}
    given = ("--scope", "write", "--ontology", "herons", "--ontology", "storks")
    made = kg("admin", "keys", "create", "bob", *given, env=at_home)
    assert "ontologies: herons, storks" in made.stderr
    bird = folder / "bird.txt"
    bird.write_text("It stands in the water.")
    bob = {"KG_API_URL": guarded.url, "KG_API_KEY": made.stdout.strip()}
    assert kg("ingest", str(bird), "--ontology", "storks", env=bob).returncode == 0
    refused = kg("ingest", str(bird), "--ontology", "secrets", env=bob)
    assert (refused.returncode, "limited to 'herons', 'storks'" in refused.stderr) == (
        Forbidden.exit_code,
        True,
    )
    doctor = kg("doctor", "--json", env=bob | {"KG_HOME": str(folder / "elsewhere")})
    found = {each["name"]: each for each in json.loads(doctor.stdout)}
    told = found["queue"]
    assert (told["state"], "not visible with this key" in told["detail"]) == ("warn", True)
    assert "a key of all ontologies" in told["fix"]
    assert found["jobs"]["state"] == "ok"
    asked = kg("delete", "ontology", "storks", env=bob, stdin="y\n")
    assert (asked.returncode, "'admin'" in asked.stderr) == (Forbidden.exit_code, True), asked.stderr
    assert "Delete the ontology" not in asked.stderr, "it is refused before it asks"

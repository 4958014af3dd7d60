import time
from pathlib import Path

import httpx
import pytest

from kg_api.access import keys
from kg_api.access.proofs import make_proof
from kg_api.client import KgClient
from kg_api.errors import Conflict
from kg_api.graph.client import Graph
from kg_api.graph.keys import read_keys
from kg_api.graph.spaces import ensure_space
from kg_api.local.processes import Home
from kg_api.schemas.operations import NewKey
from kg_api.schemas.vocabulary import KeyScope
from tests.neo4j_server import Neo4jServer
from tests.service.asking import knock
from tests.support.embedders import small_embedder
from tests.support.running import Service, serve


def make(graph: Graph, scope: KeyScope, name: str | None = None) -> str:
    return keys.create_key(graph, NewKey(name=name or scope, scope=scope), "local").key


@pytest.mark.usefixtures("graph")
def test_a_command_of_this_home_needs_no_key(
    door: httpx.Client, guarded: Service, guarded_home: Home
) -> None:
    key = guarded_home.read_folder_key()
    assert key is not None
    now, asked = time.time(), ("GET", "/keys")
    assert knock(door, "GET /keys", make_proof(key, now, *asked)).status_code == 200
    for proof in (
        make_proof(key, now - 120, *asked),
        make_proof(key, now + 120, *asked),
        make_proof(key[::-1], now, *asked),
        make_proof(key, now, "POST", "/keys"),
        make_proof(key, now, "GET", "/queue"),
        "kg_local_1_" + "0" * 64,
    ):
        assert knock(door, "GET /keys", proof).status_code == 401
    assert key not in guarded.output(), "a log tells no secret"


def test_readiness_names_parts_only_for_keys_of_all(
    door: httpx.Client, graph: Graph, guarded_home: Home
) -> None:
    ensure_space(graph, small_embedder().identity)
    limited = keys.create_key(graph, NewKey(name="l", scope="admin", ontologies=["lx"]), "local").key
    proof = make_proof(guarded_home.read_folder_key() or "", time.time(), "GET", "/ready")
    for key in (make(graph, "read"), proof):
        told = knock(door, "GET /ready", key)
        assert {"source_words", "worker"} <= {each["name"] for each in told.json()["checks"]}
    for key in (limited, None, "kg_" + "0" * 72):
        told = knock(door, "GET /ready", key)
        assert told.json() == {
            "ready": told.is_success,
            "waiting_for": told.json()["waiting_for"],
            "checks": [],
        }
        assert "passage_embedding" not in told.text
        assert told.headers["cache-control"] == "private, no-cache"


def test_a_key_can_be_replaced_without_a_gap(door: httpx.Client, guarded: Service, graph: Graph) -> None:
    with KgClient(guarded.url, api_key=make(graph, "admin", "chief")) as kg:
        old = kg.create_key("import", scope="write", valid_days=30)
        new = kg.rotate_key("import", overlap_hours=1)
        assert (new.name, new.scope, new.replaces) == ("import", "write", old.key_id)
        assert new.expires_at is not None
        assert (new.expires_at - new.created_at).days == 30
        for each in (old, new):
            assert knock(door, "POST /waiting/approve", each.key).status_code == 422
        with pytest.raises(Conflict, match=rf"replaced by {new.key_id}"):
            kg.rotate_key(old.key_id)
        told = {each.key_id: each for each in kg.keys().keys}
        assert (told[old.key_id].expires_at or new.created_at) < new.expires_at
        with pytest.raises(Conflict, match=rf"Use an id: {new.key_id} \(replaces {old.key_id}, until "):
            kg.revoke_key("import")
        assert kg.revoke_key(old.key_id).state == "revoked"


def test_key_sent_as_id_is_revoked_unlogged(door: httpx.Client, guarded: Service, graph: Graph) -> None:
    with KgClient(guarded.url, api_key=make(graph, "admin", "chief")) as kg:
        leaked = kg.create_key("leaked").key
        assert kg.revoke_key(leaked).state == "revoked"
        other = kg.create_key("other").key
    chief = make(graph, "admin", "second")
    answer = knock(door, f"POST /keys/{other}/revoke", chief)
    assert answer.json()["state"] == "revoked"
    nowhere = knock(door, f"GET /nowhere/{other}", chief)
    assert nowhere.status_code == 404
    for key in (leaked, other):
        assert key[12:] not in guarded.output() + answer.text + nowhere.text


def test_idempotent_response_is_not_shared_between_keys(
    door: httpx.Client, guarded: Service, graph: Graph
) -> None:
    stored: list[str | None] = []
    for name in ("ada", "eve"):
        with KgClient(guarded.url, api_key=make(graph, "write", name)) as kg:
            document = {"ontology": "notes", "document": name, "text": name}
            (outcome,) = kg.ingest_batch([document], idempotency_key="one").outcomes
            stored.append(outcome.ingested and outcome.ingested.document)
    assert stored == ["ada", "eve"], "with one key the second would be a conflict"
    assert door.get("/documents").status_code == 401


@pytest.mark.usefixtures("graph")
def test_oauth_discovery_is_not_found(door: httpx.Client) -> None:
    """MCP clients look for an authorization server. If they get a 401, they would continue."""
    for path in ("oauth-protected-resource", "oauth-authorization-server"):
        assert door.get(f"/.well-known/{path}").status_code == 404


def test_key_over_its_rate_limit_must_wait(server: Neo4jServer, graph: Graph, tmp_path: Path) -> None:
    key = make(graph, "read", "ada")
    few = serve(server, tmp_path, KG_API__REQUIRE_KEYS="true", KG_API__REQUESTS_PER_MINUTE="3")
    try:
        with httpx.Client(base_url=few.url, timeout=60) as client:
            answers = [knock(client, "GET /ontologies", key) for _ in range(4)]
            assert [each.status_code for each in answers] == [200, 200, 200, 429]
            assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
            assert "rate-exceeded" in answers[-1].text
            assert knock(client, "GET /ontologies").status_code == 401, "who has no key is refused as before"
    finally:
        assert few.stop() == 0


def test_the_last_administrator_does_not_revoke_itself_unasked(guarded: Service, graph: Graph) -> None:
    chief = make(graph, "admin", "chief")
    for name, of in (("reader", None), ("of-notes", ["notes"])):
        keys.create_key(graph, NewKey(name=name, scope="admin" if of else "read", ontologies=of), "local")
    with KgClient(guarded.url, api_key=chief) as kg:
        with pytest.raises(Conflict, match=r"the last key with the `admin` scope.*--force"):
            kg.revoke_key("chief")
        assert kg.revoke_key("reader").state == "revoked"
        kg.create_key("second", scope="admin")
        assert kg.revoke_key("second").state == "revoked"
        with pytest.raises(Conflict):
            kg.revoke_key(chief)
        assert kg.revoke_key("chief", force=True).state == "revoked"
    assert [each.name for each in read_keys(graph) if each.state == "active"] == ["of-notes"]
    make(graph, "admin", "chief")
    assert keys.revoke_key(graph, "chief").state == "revoked", "the machine of the service can make another"

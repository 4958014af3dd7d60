"""Keys of a restored database are worth no more than in the one that is replaced."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import neo4j

from kg_api.access import keys
from kg_api.access.keys import open_session, parse_token
from kg_api.graph.client import Graph
from kg_api.graph.keys import read_keys
from kg_api.schemas.operations import ApiKey, NewKey
from kg_api.transfer.restore import limit_restored_keys
from tests.support.cypher import rows


def make(graph: Graph, *names: str, days: int | None = None) -> dict[str, ApiKey]:
    for name in names:
        keys.create_key(graph, NewKey(name=name, valid_days=days), "local")
    return {key.name: key for key in read_keys(graph)}


def states(graph: Graph) -> dict[str, str]:
    return {key.name: key.state for key in read_keys(graph)}


def test_keys_stay_revoked_and_expired_as_before(graph: Graph) -> None:
    made = make(graph, "kept", "revoked", "rotated", "newer")
    past = datetime.now(UTC) - timedelta(hours=1)
    current = [
        made["kept"],
        made["revoked"].model_copy(update={"revoked_at": past}),
        made["rotated"].model_copy(update={"expires_at": past}),
    ]
    found = limit_restored_keys(graph, current)
    assert states(graph) == {"kept": "active", "revoked": "revoked", "rotated": "expired", "newer": "active"}
    assert {key.name for key in found.limited} == {"revoked", "rotated"}
    assert [key.name for key in found.unverified] == ["newer"]
    kept, limited = found.describe()
    assert "revoked (" in kept
    assert "newer (" in limited


def test_earlier_end_in_backup_stays(graph: Graph) -> None:
    short = make(graph, "short", days=1)["short"]
    later = [
        short.model_copy(update={"expires_at": each}) for each in (None, datetime(2999, 1, 1, tzinfo=UTC))
    ]
    for current in later:
        limit_restored_keys(graph, [current])
        assert read_keys(graph)[0].expires_at == short.expires_at
    sooner = short.model_copy(update={"expires_at": datetime.now(UTC) + timedelta(hours=1)})
    limit_restored_keys(graph, [sooner])
    [key] = read_keys(graph)
    assert key.expires_at is not None
    assert short.expires_at is not None
    assert key.expires_at < short.expires_at


def test_all_keys_are_listed_if_replaced_ones_are_unknown(graph: Graph) -> None:
    make(graph, "one", "two")
    keys.revoke_key(graph, "two")
    found = limit_restored_keys(graph, None)
    assert [key.name for key in found.unverified] == ["one"]
    assert found.limited == []


def test_sessions_end_with_restore(graph: Graph, driver: neo4j.Driver) -> None:
    token = parse_token(keys.create_key(graph, NewKey(name="ada"), "local").key)
    assert token is not None
    open_session(graph, token.key_id)
    limit_restored_keys(graph, None)
    assert rows(driver, "MATCH (s:PageSession) RETURN count(s) AS sessions") == [{"sessions": 0}]
